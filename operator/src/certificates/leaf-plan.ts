// The certificates that processes need, and why a stored one must be made again. Pure.
import {
  type CertificateDetails,
  type CertificateNames,
  hasNames,
  isIssuedBy,
  isKeyOf,
  readCertificates,
} from "@weir/certificates/inspect";
import { fleetConflictOf, type FleetMember, fleetOwners } from "@weir/crds/rate-limit-service/fleet-owner";

import { isDue, type KnownTimes, reasonNotValid } from "./authority-plan.ts";
import {
  CONTROL_PLANE_SECRET,
  OPERATOR_SECRET,
  RATELIMIT_SECRET,
  type SecretData,
  type SecretOwner,
} from "./certificate-secret.ts";

/** A RateLimitService that may need a certificate. */
export interface CertifiedService extends FleetMember {
  readonly uid: string;
  readonly apiVersion: string;
  readonly kind: string;
}

/** A certificate with its key. */
export interface WantedLeaf {
  /** Start of its two keys in the Secret: `<pair>.crt` and `<pair>.key`. */
  readonly pair: string;
  readonly names: CertificateNames;
  readonly service?: CertifiedService;
}

/** A Secret and what should be in it, besides the bundle. */
export interface WantedLeaves {
  readonly namespace: string;
  readonly name: string;
  readonly leaves: readonly WantedLeaf[];
  readonly owners?: readonly SecretOwner[];
}

/** The names that processes are reached by. */
export interface CertificateNaming {
  /** The operator's namespace. */
  readonly namespace: string;
  /** Such as cluster.local. */
  readonly clusterDomain: string;
  /** The Services of the control plane, headless ones included. */
  readonly controlPlaneServices: readonly string[];
  readonly webhookService: string;
  /** True if the operator serves the webhook: the configuration of one that it does not serve is not read. */
  readonly hasWebhook?: boolean;
  /** Further addresses of the webhook. */
  readonly webhookAddresses?: readonly string[];
}

/** The URI of the operator, for ADS_REPORT_SANS. */
function operatorUri({ clusterDomain, namespace }: CertificateNaming): string {
  return `spiffe://${clusterDomain}/ns/${namespace}/sa/weir-operator`;
}

/** Everything that is wanted, by Secret. */
export function wantedLeaves(
  naming: CertificateNaming,
  services: readonly CertifiedService[],
): readonly WantedLeaves[] {
  const { namespace, controlPlaneServices, webhookService, webhookAddresses = [] } = naming;
  const controlPlane: CertificateNames = {
    commonName: "weir-control-plane",
    // The names of single pods too, which only a headless Service has.
    dnsNames: controlPlaneServices.flatMap((service) => {
      const names = serviceNames(service, naming);
      return [...names, ...names.slice(1).map((name) => `*.${name}`)];
    }),
    usage: "both",
  };
  const operator: CertificateNames = {
    commonName: "weir-operator",
    dnsNames: serviceNames(webhookService, naming),
    ipAddresses: webhookAddresses,
    uris: [operatorUri(naming)],
    usage: "both",
  };
  return [
    { namespace, name: CONTROL_PLANE_SECRET, leaves: [{ pair: "tls", names: controlPlane }] },
    { namespace, name: OPERATOR_SECRET, leaves: [{ pair: "tls", names: operator }] },
    ...serviceLeaves(naming, services),
  ];
}

/** Why the pair must be made again; undefined: it is good. */
export function leafFault(
  data: SecretData,
  { pair, names }: WantedLeaf,
  authority: CertificateDetails,
  times: KnownTimes,
): { readonly kind: "missing" | "due" | "changed" | "broken"; readonly reason: string } | undefined {
  const [certPem, keyPem] = [data[`${pair}.crt`], data[`${pair}.key`]];
  if (certPem === undefined && keyPem === undefined) return { kind: "missing", reason: "there is none" };
  const [details, ...more] = readCertificates(certPem ?? "");
  if (details === undefined || more.length > 0)
    return { kind: "broken", reason: `${pair}.crt is not one certificate in PEM` };
  if (!isKeyOf(details, keyPem ?? "")) return { kind: "broken", reason: `${pair}.key does not belong to ${pair}.crt` };
  const invalid = reasonNotValid(details, times);
  if (invalid !== undefined) return { kind: "broken", reason: invalid };
  if (!isIssuedBy(details, authority)) return { kind: "changed", reason: "another authority signs now" };
  if (!hasNames(details, names)) return { kind: "changed", reason: "its names have changed" };
  return isDue(details, times.nowMs) ? { kind: "due", reason: "two thirds of its life are over" } : undefined;
}

function serviceLeaves(naming: CertificateNaming, services: readonly CertifiedService[]): readonly WantedLeaves[] {
  const owners = fleetOwners(services);
  return [...Map.groupBy(services, ({ namespace }) => namespace)].map(([namespace, own]) => {
    const certified = own.filter((service) => fleetConflictOf(service, owners) === undefined);
    return {
      namespace,
      name: RATELIMIT_SECRET,
      leaves: certified.map((service) => ({ pair: service.name, names: fleetNames(naming, service), service })),
      // Also those without a certificate: a Secret that no object owns would outlive them all.
      owners: own.map(({ apiVersion, kind, name, uid }) => ({ apiVersion, kind, name, uid })),
    };
  });
}

/** As ADS_FLEET_FROM_CERTIFICATE reads it. */
function fleetNames({ clusterDomain }: CertificateNaming, { namespace, name, fleet }: FleetMember): CertificateNames {
  return {
    commonName: name,
    uris: [`spiffe://${clusterDomain}/ns/${namespace}/fleet/${fleet}`],
    usage: "client",
  };
}

/** From the shortest to the longest. */
function serviceNames(service: string, { namespace, clusterDomain }: CertificateNaming): readonly string[] {
  return [
    service,
    `${service}.${namespace}`,
    `${service}.${namespace}.svc`,
    `${service}.${namespace}.svc.${clusterDomain}`,
  ];
}
