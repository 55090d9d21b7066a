// The settings of the listeners: for callers, with or without TLS, and for operators.
import { everyHost, loopbackHosts } from "@weir/common/settings/listen-hosts";
import type { EnvReader } from "@weir/common/settings/read-env";
import type { TlsFilePaths } from "@weir/common/tls/tls-files";
import { checkCertificatePair, readTlsPaths } from "@weir/common/tls/tls-settings";

export interface ListenerSettings {
  readonly http: {
    readonly host: string;
    readonly otherHosts: readonly string[];
    readonly port: number;
    readonly connectionsMax: number;
    /** Undefined: plaintext. */
    readonly tls: TlsFilePaths | undefined;
  };
  readonly metrics: { readonly host: string; readonly otherHosts: readonly string[]; readonly port: number };
}

/** Reads them. */
export function readListeners(read: EnvReader, isProduction: boolean): ListenerSettings {
  const where = "not set, this machine only (127.0.0.1 and ::1), and with NODE_ENV=production every address";
  const hosts = (name: string, effect: string): { readonly host: string; readonly otherHosts: readonly string[] } => {
    const set = read.optionalString(name, { effect: `${effect}; ${where}.` });
    const [host, ...otherHosts] = set === undefined && !isProduction ? loopbackHosts() : [set ?? everyHost()];
    return { host, otherHosts };
  };
  return {
    http: {
      ...hosts("HOST", "Address the service listens on"),
      port: read.port("PORT", { default: 8000, effect: "Port the service listens on; 0 takes a free one." }),
      connectionsMax: read.integer("CONNECTIONS_MAX", {
        default: 10_000,
        min: 1,
        effect: "Most open connections; further ones are closed immediately.",
      }),
      tls: readTls(read),
    },
    metrics: {
      ...hosts("METRICS_HOST", "Address of /metrics and the probes"),
      port: read.port("METRICS_PORT", {
        default: 9464,
        effect: "Port of /metrics, /healthz and /readyz for operators.",
      }),
    },
  };
}

function readTls(read: EnvReader): TlsFilePaths | undefined {
  const paths = readTlsPaths(read, {
    cert: {
      names: "TLS_CERT",
      effect:
        "File with the certificate chain of the listener on PORT, PEM; not set, it has no TLS. The three files are read again when they change.",
    },
    key: { names: "TLS_KEY", effect: "File with the private key of that certificate, PEM." },
    ca: {
      names: "TLS_CLIENT_CACERT",
      effect:
        "File with authorities, PEM: clients, such as a proxy in front, then need a certificate of one of them. Not set: no client needs one.",
    },
  });
  checkCertificatePair(read, paths, { cert: "TLS_CERT", key: "TLS_KEY" });
  if (paths.certPath === undefined && paths.keyPath === undefined) {
    if (paths.caPath !== undefined)
      read.problem("TLS_CLIENT_CACERT", paths.caPath, "set only together with TLS_CERT and TLS_KEY");
    return undefined;
  }
  return paths;
}
