// The TLS settings of a connection to a counter store; each kind of store has them under its own
// prefix.
import type { EnvReader, Names } from "@weir/common/settings/read-env";
import type { TlsFilePaths } from "@weir/common/tls/tls-files";

/**
 * TLS to a store: a certificate of our own, a further authority, and how strictly names are taken.
 */
export interface StoreTlsSettings {
  readonly paths: TlsFilePaths;
  readonly skipHostnameVerification: boolean;
}

/**
 * Reads `<PREFIX>_TLS_*`; `names` gives the spellings of a setting by its suffix, the primary one
 * first, and `stores` stands in the effects.
 */
export function readStoreTls(
  read: EnvReader,
  options: { readonly names: (suffix: string) => Names; readonly stores: string },
): StoreTlsSettings {
  const { names, stores } = options;
  const certPath = read.optionalString(names("TLS_CLIENT_CERT"), {
    effect: `File of the client certificate for ${stores}.`,
  });
  const keyPath = read.optionalString(names("TLS_CLIENT_KEY"), { effect: "File of its private key." });
  const caPath = read.optionalString(names("TLS_CACERT"), {
    effect: `File of an authority to trust for ${stores}, beside the public ones and those of the system.`,
  });
  if ((certPath === undefined) !== (keyPath === undefined)) {
    const missing = names(certPath === undefined ? "TLS_CLIENT_CERT" : "TLS_CLIENT_KEY");
    const primary = typeof missing === "string" ? missing : missing[0];
    read.problem(primary, undefined, "the path of a file: certificate and key are given together or not at all");
  }
  return {
    paths: {
      ...(certPath !== undefined && { certPath }),
      ...(keyPath !== undefined && { keyPath }),
      ...(caPath !== undefined && { caPath }),
    },
    skipHostnameVerification: read.boolean(names("TLS_SKIP_HOSTNAME_VERIFICATION"), {
      default: false,
      effect: `Accepts certificates of ${stores} whatever host they name; their authority is verified all the same.`,
    }),
  };
}
