// The namespace and the fleet that a client certificate is for: a pod with it gets the rules of that
// fleet and of no other, and is reported in that namespace. Pure.
import type { PeerCertificate } from "node:tls";

import { GrpcStatus } from "@weir/http2/grpc/status";
import type { Node } from "@weir/proto/generated/envoy/config/core/v3/base_pb";

import { type CallRefusal, showNames } from "./ads-security.ts";
import { readAlternativeNames } from "./alternative-names.ts";
import { fleetNamedBy, namespaceNamedBy, type PodIdentity } from "./stream/node-identity.ts";

/**
 * The URI, in the characters of a SPIFFE ID (SPIFFE-ID specification, sections 2.1 and 2.2): no
 * percent-encoding, nothing empty, a trust domain in lower case. Namespace and fleet are Kubernetes
 * names and label values, as `spec.fleets` requires.
 */
const FLEET_URI =
  /^spiffe:\/\/[a-z0-9._-]{1,255}\/ns\/([a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)\/fleet\/([A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)$/;

/** The form of the URI, for people. */
const FORM = "spiffe://<trust domain>/ns/<namespace>/fleet/<fleet>";

export interface CertificateFleet extends Pick<PodIdentity, "namespace" | "fleet"> {
  readonly uri: string;
}

/** Why a pod is refused. */
export interface FleetRefusal extends CallRefusal {
  /** The line for the log, and its fields. */
  readonly message: string;
  readonly fields: Readonly<Record<string, string>>;
}

/** The namespace and the fleet of a certificate, which must have exactly one URI, and of that form. */
export function fleetOfCertificate(
  certificate: Pick<PeerCertificate, "subjectaltname"> | undefined,
): CertificateFleet | FleetRefusal {
  const uris = readAlternativeNames(certificate).filter(({ kind }) => kind === "URI");
  const uri = uris.length === 1 ? uris[0]?.name : undefined;
  const [, namespace, fleet] = FLEET_URI.exec(uri ?? "") ?? [];
  if (uri !== undefined && namespace !== undefined && fleet !== undefined) return { namespace, fleet, uri };
  const shown = showNames(uris.map(({ name }) => name ?? "(not readable)"));
  return {
    code: GrpcStatus.PERMISSION_DENIED,
    details: `the client certificate must have exactly one URI, ${FORM}, its URIs are: ${shown}`,
    message: `Refused a pod, its certificate does not have exactly one URI ${FORM}`,
    fields: { uris: shown },
  };
}

/** Refuses a node that names another fleet or namespace than its certificate. */
export function otherNameRefusal(node: Node | undefined, granted: CertificateFleet): FleetRefusal | undefined {
  const named = { fleet: fleetNamedBy(node), namespace: namespaceNamedBy(node) };
  for (const what of ["fleet", "namespace"] as const) {
    const name = named[what];
    if (name === undefined || name === granted[what]) continue;
    const shown = showNames([name]);
    return {
      code: GrpcStatus.PERMISSION_DENIED,
      details: `the node names the ${what} ${shown}, and the client certificate is for the ${what} ${granted[what]} (${granted.uri})`,
      message: `Refused a pod, it names another ${what} than its certificate`,
      fields: { uri: granted.uri, [what]: granted[what], named: shown },
    };
  }
  return undefined;
}
