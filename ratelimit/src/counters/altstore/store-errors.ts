// Makes errors of this backend from what sockets and servers say.
import { describeError } from "@weir/common/errors/service-error";
import { StoreError } from "../store-error.ts";
import { excerpt } from "./reply-parser.ts";

/** Plain words for the socket errors that people meet; the original text follows them. */
const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset",
  EPIPE: "broken pipe",
  ENOENT: "no such socket",
  ENOTFOUND: "no such host",
  ETIMEDOUT: "connection timed out",
};

/** The error of a connection that cannot be made or was lost. */
export function connectionError(address: string, cause: unknown): StoreError {
  return new StoreError("STORE_UNAVAILABLE", `Cannot reach the alternative store ${address}: ${reasonOf(cause)}`, {
    cause,
    transient: true,
  });
}

/** The error of a command that the server refused; `line` is its answer. */
export function replyError(address: string, line: string): StoreError {
  return new StoreError("STORE_UNAVAILABLE", `Cannot count on ${address}: the server answered ${excerpt(line)}`, { transient: true });
}

/** The error of a server that is silent. */
export function silenceError(address: string, timeoutMs: number): StoreError {
  return new StoreError("STORE_TIMEOUT", `Cannot count on ${address}: no answer within ${timeoutMs} ms`, { transient: true });
}

/** The error of a backend that is ending. */
export function stoppingError(): StoreError {
  return new StoreError("STORE_UNAVAILABLE", "Cannot count on the alternative store: the backend is stopping", { transient: true });
}

/** The error of a call with a key that memcached cannot hold; `problem` stands behind "the key". */
export function keyError(key: string, problem: string): StoreError {
  return new StoreError("STORE_KEY_INVALID", `Cannot count on the alternative store: the key ${problem}; it is ${excerpt(key)}`);
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
