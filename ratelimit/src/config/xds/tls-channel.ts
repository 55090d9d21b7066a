// TLS of a gRPC client: files, and the name that the server's certificate must be valid for. Also
// for addresses that are numbers, which the library alone cannot reach over TLS under Node 26.
import { isIP } from "node:net";
import { checkServerIdentity } from "node:tls";

import { type ChannelCredentials, type ChannelOptions, credentials } from "@grpc/grpc-js";
import { clientContext } from "@weir/common/tls/client-context";
import { checkTlsMaterial, readTlsMaterial, type TlsFilePaths } from "@weir/common/tls/tls-material";

/**
 * Name in the handshake when the server is known by its address only: TLS has no place for an
 * address there, and the library insists on a name.
 */
const NAME_OF_ADDRESSES = "localhost";

/** What a channel is opened with. */
export interface TlsChannel {
  readonly credentials: ChannelCredentials;
  readonly options: ChannelOptions;
}

/**
 * Reads the files now and makes what a channel to `target` needs; `serverName` stands for the host
 * of the target where it is given. The given authority is trusted beside the public ones and the
 * system's. Fails with TLS_FILE_INVALID, naming the file.
 */
export function openTlsChannel(target: string, paths: TlsFilePaths, serverName?: string): TlsChannel {
  const material = readTlsMaterial(paths);
  checkTlsMaterial(material, paths);
  const name = serverName ?? hostOf(target);
  const isAddress = isIP(name) !== 0;
  // With an override the library passes that to the check; the address is what the certificate has
  // to be valid for.
  const verify = isAddress
    ? {
        checkServerIdentity: (_host: string, cert: Parameters<typeof checkServerIdentity>[1]) =>
          checkServerIdentity(name, cert),
      }
    : {};
  const override = isAddress ? NAME_OF_ADDRESSES : serverName;
  return {
    credentials: credentials.createFromSecureContext(clientContext(material), verify),
    options: override === undefined ? {} : { "grpc.ssl_target_name_override": override },
  };
}

/** `host:port`, `[::1]:port`; what is neither is taken as it is. */
function hostOf(target: string): string {
  const match = /^(?:\[([^\]]+)\]|([^:]+))(?::\d+)?$/.exec(target);
  return match?.[1] ?? match?.[2] ?? target;
}
