// Makes errors of this backend from what ioredis and sockets throw, and says which replies mean that the connection itself is of no use.
import { describeError } from "@weir/common/errors/service-error";
import { StoreError } from "../../store-error.ts";

/** Plain words for the socket errors that people meet; the original text follows them. */
const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset",
  EPIPE: "broken pipe",
  ENOENT: "no such socket",
  ENOTFOUND: "no such host",
  ETIMEDOUT: "connection timed out",
};

/** Replies of a server that will refuse everything on this connection: a demoted primary, one that is loading, a lost login. */
const USELESS_CONNECTION = /^(?:READONLY|LOADING|MASTERDOWN|NOAUTH|NOPERM|WRONGPASS)\b/;

/** The error of a connection that cannot be made or was lost. */
export function connectionError(address: string, cause: unknown): StoreError {
  return new StoreError("STORE_UNAVAILABLE", `Cannot reach the counter store ${address}: ${reasonOf(cause)}`, { cause, transient: true });
}

/** The error of a command that the server refused. */
export function replyError(address: string, cause: unknown): StoreError {
  return new StoreError("STORE_UNAVAILABLE", `Cannot count on ${address}: ${reasonOf(cause)}`, { cause, transient: true });
}

/** The error of a server that is silent. */
export function silenceError(address: string, timeoutMs: number): StoreError {
  return new StoreError("STORE_TIMEOUT", `Cannot count on ${address}: no answer within ${timeoutMs} ms`, { transient: true });
}

/** Whether a reply means that the connection should be made anew, perhaps to another server behind the same name. */
export function isUselessConnection(cause: unknown): boolean {
  return cause instanceof Error && USELESS_CONNECTION.test(cause.message);
}

function reasonOf(cause: unknown): string {
  const text = describeError(cause);
  const code = codeOf(cause);
  const words = code === undefined ? undefined : WORDS[code];
  return words === undefined || text.includes(words) ? text : `${words} (${text})`;
}

function codeOf(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return undefined;
  if (cause instanceof AggregateError && cause.errors.length > 0) return codeOf(cause.errors[0]);
  return "code" in cause && typeof cause.code === "string" ? cause.code : undefined;
}
