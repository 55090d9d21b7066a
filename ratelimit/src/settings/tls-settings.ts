// Reads the TLS settings of connections to a counter store.
import type { EnvReader, Names } from "@weir/common/settings/read-env";
import type { TlsFilePaths } from "@weir/common/tls/tls-files";
import { checkCertificatePair, readTlsPaths } from "@weir/common/tls/tls-settings";

export interface StoreTlsSettings {
  readonly paths: TlsFilePaths;
  /**
   * True if any host name in the store's certificate is accepted; its authority is always verified.
   */
  readonly skipHostnameVerification: boolean;
}

/**
 * Reads `<PREFIX>_TLS_*`. `names` gives the names of a setting by its suffix, `stores` is used in
 * the effects.
 */
export function readStoreTls(
  read: EnvReader,
  { names, stores }: { readonly names: (suffix: string) => Names; readonly stores: string },
): StoreTlsSettings {
  const pair = { cert: names("TLS_CLIENT_CERT"), key: names("TLS_CLIENT_KEY") };
  const paths = readTlsPaths(read, {
    cert: { names: pair.cert, effect: `File of the client certificate for ${stores}.` },
    key: { names: pair.key, effect: "File of its private key." },
    ca: {
      names: names("TLS_CACERT"),
      effect: `File of an authority to trust for ${stores}, in addition to the public ones and those of the system.`,
    },
  });
  checkCertificatePair(read, paths, pair);
  return {
    paths,
    skipHostnameVerification: read.boolean(names("TLS_SKIP_HOSTNAME_VERIFICATION"), {
      default: false,
      effect: `Accepts certificates of ${stores} for any host name; their authority is still verified.`,
    }),
  };
}
