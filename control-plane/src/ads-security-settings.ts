// The settings that protect the listener for pods.
import type { EnvReader } from "@weir/common/settings/read-env";

/** How the ADS listener is protected. */
export type AdsSecuritySettings =
  | {
      readonly kind: "mutual-tls";
      readonly certPath: string;
      readonly keyPath: string;
      /** Authorities of client certificates. */
      readonly caPath: string;
      /** Empty: every certificate of the authorities. */
      readonly allowedNames: readonly string[];
      /** True if the namespace and the fleet of a pod are those of its certificate. */
      readonly isFleetFromCertificate: boolean;
      /** For reports; empty: no client. Undefined: the same as for pods. */
      readonly reportNames: readonly string[] | undefined;
    }
  | { readonly kind: "plaintext" };

/** Reads them. */
export function readAdsSecurity(read: EnvReader): AdsSecuritySettings {
  const paths = {
    certPath: read.optionalString("ADS_TLS_CERT", {
      effect: "File with the certificate of the ADS listener, PEM; required with mutual TLS.",
    }),
    keyPath: read.optionalString("ADS_TLS_KEY", {
      effect: "File with the key of that certificate, PEM; required with mutual TLS.",
    }),
    caPath: read.optionalString("ADS_TLS_CLIENT_CACERT", {
      effect: "File with the authorities whose client certificates are accepted, PEM; required with mutual TLS.",
    }),
  };
  const allowedNames = read.list("ADS_ALLOWED_SANS", {
    effect:
      "Names of which a client certificate must have one (DNS name, URI or IP address, exact). Not set: every certificate of the authorities.",
  });
  const isFleetFromCertificate = read.boolean("ADS_FLEET_FROM_CERTIFICATE", {
    default: false,
    effect:
      "A pod belongs to the namespace and the fleet in its client certificate, which must have exactly one URI, spiffe://<trust domain>/ns/<namespace>/fleet/<fleet>; a pod that names others is refused. Reports on ADS_PORT then need ADS_REPORT_SANS. false: a pod names both itself.",
  });
  const reportNames = read.list("ADS_REPORT_SANS", {
    effect:
      "Names of which a client certificate must have one for reports on ADS_PORT (rollout API), instead of ADS_ALLOWED_SANS. Not set: the same clients as for pods, with ADS_FLEET_FROM_CERTIFICATE=true no client.",
  });
  const isPlaintext = read.boolean("ADS_PLAINTEXT", {
    default: false,
    effect:
      "Serves pods without TLS: every client that reaches the port may read all rules. Excludes the other ADS_ settings on TLS.",
  });
  const named = { ADS_TLS_CERT: paths.certPath, ADS_TLS_KEY: paths.keyPath, ADS_TLS_CLIENT_CACERT: paths.caPath };
  if (isPlaintext) {
    const given = {
      ...named,
      ADS_ALLOWED_SANS: allowedNames.join(",") || undefined,
      ADS_REPORT_SANS: reportNames.join(",") || undefined,
    };
    if (isFleetFromCertificate)
      read.problem(
        "ADS_FLEET_FROM_CERTIFICATE",
        "true",
        "false, because ADS_PLAINTEXT=true serves without certificates",
      );
    for (const [name, value] of Object.entries(given)) {
      if (value !== undefined) read.problem(name, value, "nothing, because ADS_PLAINTEXT=true serves without TLS");
    }
    return { kind: "plaintext" };
  }
  for (const [name, value] of Object.entries(named)) {
    if (value === undefined)
      read.problem(name, value, "the path of a PEM file; only ADS_PLAINTEXT=true serves without TLS");
  }
  const { certPath = "", keyPath = "", caPath = "" } = paths;
  return {
    kind: "mutual-tls",
    certPath,
    keyPath,
    caPath,
    allowedNames,
    isFleetFromCertificate,
    reportNames: reportNames.length > 0 || isFleetFromCertificate ? reportNames : undefined,
  };
}
