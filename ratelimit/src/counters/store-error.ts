// The error of a counter backend, and the reasons of socket errors in plain words.
import { errorCode } from "@weir/common/errors/error-code";
import { describeError, ServiceError } from "@weir/common/errors/service-error";
import type { StoreErrorCode } from "../errors.ts";

/** OpenSSL has several codes for it, depending on what a server sends of its certificate chain. */
const UNTRUSTED = "the authority of its certificate is not trusted";

/** Plain words for frequent socket errors; the original text follows them. */
const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset",
  EPIPE: "broken pipe",
  ENOENT: "no such socket",
  ENOTFOUND: "no such host",
  ETIMEDOUT: "connection timed out",
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
};

/**
 * Why increments have no result. They may or may not have been executed; they are not sent again.
 * The file that uses a library converts its errors into this one.
 */
export class StoreError extends ServiceError<StoreErrorCode> {}

/** The error of a server that does not answer in time. */
export function silenceError(address: string, timeoutMs: number): StoreError {
  return new StoreError("STORE_TIMEOUT", `Cannot count on ${address}: no answer within ${timeoutMs} ms`, {
    transient: true,
  });
}

/** The error of a call that comes while the backend is stopping; `store` names its store. */
export function stoppingError(store: string): StoreError {
  return new StoreError("STORE_UNAVAILABLE", `Cannot count on ${store}: the backend is stopping`, { transient: true });
}

/** Why a connection cannot be made or was lost, on one line. */
export function reasonOf(cause: unknown): string {
  const text = describeError(cause);
  const code = codeOf(cause);
  const words = code === undefined ? undefined : WORDS[code];
  return words === undefined || text.includes(words) ? text : `${words} (${text})`;
}

function codeOf(cause: unknown): string | undefined {
  return cause instanceof AggregateError && cause.errors.length > 0 ? codeOf(cause.errors[0]) : errorCode(cause);
}
