// Opens a listener on a TCP address or a unix socket. Its errors name the reason and the setting
// that moves the listener.
import { once } from "node:events";
import { lstatSync, unlinkSync } from "node:fs";
import { connect, type Server, type Socket } from "node:net";

import { errorCode } from "../errors/error-code.ts";
import { describeError, ServiceError } from "../errors/service-error.ts";
import { unmapAddress } from "./host-port.ts";

/**
 * How long a connection is silent before the system asks the peer for a sign of life, in
 * milliseconds: after a loss of power, or behind a firewall that forgets, a peer is gone without a
 * word. The system asks ten times, a second apart.
 */
const SILENT_MS = 60_000;

/** The options of every server of node:net for that. */
export const KEEP_ALIVE_PROBES = { keepAlive: true, keepAliveInitialDelay: SILENT_MS } as const;

/** Longest path of a unix socket, in bytes: what Linux can hold, without the zero at its end. */
const PATH_MAX_BYTES = 107;

/** The name of a listener in messages. */
export interface ListenerName {
  /** The setting that moves this listener, such as "GRPC_PORT". */
  readonly setting: string;
  /** The protocol or purpose, such as "gRPC". */
  readonly what: string;
}

/** A TCP address to listen on. */
export interface ListenOptions extends ListenerName {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
}

/** A path to listen on. */
export interface ListenUnixOptions extends ListenerName {
  readonly path: string;
}

/** The address of an open listener. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** Opens the server on a TCP address; fails with LISTEN_FAILED. */
export async function listen(server: Server, options: ListenOptions): Promise<ListenAddress> {
  try {
    await listenOn(server, { host: options.host, port: options.port });
  } catch (cause) {
    throw listenError(cause, options);
  }
  const address = server.address();
  if (address === null || typeof address === "string")
    throw new TypeError("Cannot find the port: the server is not a TCP server");
  return { host: address.address, port: address.port };
}

/** Opens the server on a unix socket; fails with LISTEN_FAILED. */
export async function listenUnix(server: Server, options: ListenUnixOptions): Promise<void> {
  const { path } = options;
  try {
    await listenOn(server, { path });
  } catch (error) {
    // A socket file without a listener is left over from a process that was killed. Any other file
    // is not ours to remove.
    if (!isInUse(error) || !lstatSync(path).isSocket() || (await isAnswered(path))) throw unixError(error, options);
    unlinkSync(path);
    await listenOn(server, { path }).catch((cause: unknown) => {
      throw unixError(cause, options);
    });
  }
}

/** The error for a listener that does not open; a cause without a known code is quoted. */
export function listenError(cause: unknown, options: ListenOptions): ServiceError<"LISTEN_FAILED"> {
  const action = `Cannot listen for ${options.what} on ${formatAddress(options)}`;
  const reason = reasonOf(cause, options.setting);
  // A reason in words says all that the cause says, so the cause is attached only without one.
  if (reason !== undefined) return new ServiceError("LISTEN_FAILED", `${action}: ${reason}`);
  return new ServiceError("LISTEN_FAILED", `${action}: ${describeError(cause)}; ${options.setting} moves it`, {
    cause,
  });
}

/** The address in the usual notation: "127.0.0.1:8081", "[::1]:8081". */
export function formatAddress({ host, port }: ListenAddress): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** The address of a client, `192.0.2.1:4711` or `[2001:db8::1]:4711`; `unknown` when it is gone. */
export function peerAddress({
  remoteAddress: host,
  remotePort: port,
}: Pick<Socket, "remoteAddress" | "remotePort">): string {
  return host === undefined || port === undefined ? "unknown" : formatAddress({ host: unmapAddress(host), port });
}

function reasonOf(cause: unknown, setting: string): string | undefined {
  switch (errorCode(cause)) {
    case "EADDRINUSE":
      return `the port is in use; set ${setting} to another one`;
    case "EACCES":
      return `this user may not take that port; set ${setting} to one above 1023`;
    case "EADDRNOTAVAIL":
      return "no network interface of this machine has that address";
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return "that host name has no address";
    default:
      return undefined;
  }
}

async function listenOn(
  server: Server,
  where: { readonly host: string; port: number } | { path: string },
): Promise<void> {
  const listening = once(server, "listening"); // Rejects when the server emits "error" first.
  server.listen(where);
  await listening;
}

function isInUse(error: unknown): boolean {
  return errorCode(error) === "EADDRINUSE";
}

/**
 * Resolves to true if a process listens on the socket file; every error but ECONNREFUSED counts as yes,
 * so that no foreign file is removed.
 */
function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(path, () => {
      probe.destroy();
      resolve(true);
    });
    probe.on("error", (error) => resolve(errorCode(error) !== "ECONNREFUSED"));
  });
}

function unixError(cause: unknown, { what, path, setting }: ListenUnixOptions): ServiceError<"LISTEN_FAILED"> {
  const action = `Cannot listen for ${what} on ${path}`;
  if (isInUse(cause)) {
    const reason = `something listens there, or it is no socket; set ${setting} to another path`;
    return new ServiceError("LISTEN_FAILED", `${action}: ${reason}`);
  }
  // The system gives the same error for a missing folder as for one that may not be written.
  const rule = `${setting} must be a path of at most ${PATH_MAX_BYTES} bytes in a folder that exists and may be written`;
  return new ServiceError("LISTEN_FAILED", `${action}: ${describeError(cause)}; ${rule}`, { cause });
}
