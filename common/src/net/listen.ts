// Opens a listener, or says in words which address could not be had and which setting moves it.
import { once } from "node:events";
import type { Server } from "node:net";

import { errorCode } from "../errors/error-code.ts";
import { describeError, ServiceError } from "../errors/service-error.ts";

/** Where to listen, and how to speak of it when that fails. */
export interface ListenOptions {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** The setting that moves this listener, such as "GRPC_PORT". */
  readonly setting: string;
  /** What listens, such as "gRPC". */
  readonly what: string;
}

/** The address that a listener really has. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** Opens the server on a TCP address; fails with LISTEN_FAILED. */
export async function listen(server: Server, options: ListenOptions): Promise<ListenAddress> {
  try {
    const listening = once(server, "listening"); // Rejects when the server emits "error" first.
    server.listen({ host: options.host, port: options.port });
    await listening;
  } catch (cause) {
    throw listenError(cause, options);
  }
  const address = server.address();
  if (address === null || typeof address === "string")
    throw new TypeError("Cannot tell the port: the server is not a TCP server");
  return { host: address.address, port: address.port };
}

/**
 * The error for a listener that is not a node:net server; its own error is the cause, read by code
 * or, without one, by its text.
 */
export function listenError(cause: unknown, options: ListenOptions): ServiceError<"LISTEN_FAILED"> {
  const action = `Cannot listen for ${options.what} on ${formatAddress(options)}`;
  const reason = reasonOf(cause, options.setting);
  // A reason in words says all that the error underneath does; that one stays attached only when
  // there is no such reason.
  if (reason !== undefined) return new ServiceError("LISTEN_FAILED", `${action}: ${reason}`);
  return new ServiceError("LISTEN_FAILED", `${action}: ${describeError(cause)}; ${options.setting} moves it`, {
    cause,
  });
}

/** The address as people write it: "127.0.0.1:8081", "[::1]:8081". */
export function formatAddress({ host, port }: ListenAddress): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

function reasonOf(cause: unknown, setting: string): string | undefined {
  switch (errorCodeOf(cause)) {
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

function errorCodeOf(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return undefined;
  return errorCode(cause) ?? /\b(EADDRINUSE|EACCES|EADDRNOTAVAIL|ENOTFOUND|EAI_AGAIN)\b/.exec(cause.message)?.[1];
}
