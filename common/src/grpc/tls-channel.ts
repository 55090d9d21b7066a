// TLS of a gRPC client: its files, and the name or IP address that the server's certificate must be
// valid for. grpc-js alone cannot reach IP addresses over TLS under Node 26.
import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { checkServerIdentity } from "node:tls";

import { type ChannelCredentials, type ChannelOptions, credentials } from "@grpc/grpc-js";

import { parseHostPort } from "../net/host-port.ts";
import { clientContext } from "../tls/client-context.ts";
import { checkTlsMaterial, readTlsMaterial, type TlsFilePaths } from "../tls/tls-material.ts";

/**
 * Name in the handshake for IP addresses: TLS has no field for an address, and grpc-js requires a
 * name.
 */
const NAME_OF_ADDRESSES = "localhost";

/** Credentials and options of a channel. */
export interface TlsChannel {
  readonly credentials: ChannelCredentials;
  readonly options: ChannelOptions;
  /** The certificate that servers are shown; undefined: none. */
  readonly certificate: X509Certificate | undefined;
}

/**
 * Reads the files and returns the credentials of a channel to `target`; `serverName`, if given,
 * replaces the host of the target. The given authority is trusted in addition to the public ones
 * and the system's. Fails with TLS_FILE_INVALID, naming the file.
 */
export function openTlsChannel(target: string, paths: TlsFilePaths, serverName?: string): TlsChannel {
  const material = readTlsMaterial(paths);
  checkTlsMaterial(material, paths);
  const name = serverName ?? parseHostPort(target)?.host ?? target;
  const isAddress = isIP(name) !== 0;
  // With an override the library passes that to the check, but the certificate must be valid for
  // the address.
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
    certificate: material.cert === undefined ? undefined : new X509Certificate(material.cert),
  };
}
