// Opens the sockets of connections to servers: unix, TCP or TLS.
import { connect as connectTcp, isIP, type OnReadOpts, type Socket } from "node:net";
import { connect as connectTls, type ConnectionOptions } from "node:tls";
import { clientContext } from "@weir/common/tls/client-context";
import type { TlsMaterial } from "@weir/common/tls/tls-material";
import type { RedisAddress } from "../address.ts";
import type { RedisTlsOptions } from "../options.ts";

/** No certificate files: only the address asks for TLS. */
const NO_FILES: TlsMaterial = {};

/** The address that a socket connects to, and its TLS options. */
export interface SocketOptions {
  readonly path?: string;
  readonly host?: string;
  readonly port?: number;
  readonly tls?: ConnectionOptions;
}

/** The options of a socket to a server; certificates are read when the socket is opened. */
export function socketOptions(address: RedisAddress, tls: RedisTlsOptions | undefined): SocketOptions {
  const { target } = address;
  return {
    ...(target.kind === "unix" ? { path: target.path } : { host: target.host, port: target.port }),
    ...tlsOptions(address, tls),
  };
}

/**
 * Opens a socket. Throws when certificates cannot be read: there is no socket then. `onread` takes
 * what arrives instead of the event "data".
 */
export function openSocket({ path, host, port, tls }: SocketOptions, onread?: OnReadOpts): Socket {
  const place = path !== undefined ? { path } : { host: host ?? "localhost", port: port ?? 0 };
  const reading = onread === undefined ? {} : { onread };
  return tls === undefined ? connectTcp({ ...place, ...reading }) : connectTls({ ...place, ...reading, ...tls });
}

function tlsOptions({ target, isTls }: RedisAddress, tls: RedisTlsOptions | undefined): { tls?: ConnectionOptions } {
  if (tls === undefined && !isTls) return {};
  return {
    tls: {
      get secureContext() {
        return clientContext(tls?.material() ?? NO_FILES);
      },
      ...(target.kind === "tcp" && isIP(target.host) === 0 ? { servername: target.host } : {}),
      ...(tls?.skipHostnameVerification === true ? { checkServerIdentity: () => undefined } : {}),
    },
  };
}
