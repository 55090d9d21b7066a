// What the backends that speak to a server over a socket say of it: the reason in words, and the
// error of a server that is silent.
import { errorCode } from "@weir/common/errors/error-code";
import { describeError } from "@weir/common/errors/service-error";
import { StoreError } from "./store-error.ts";

/** What OpenSSL tells in several ways, depending on what a server sends of its chain. */
const UNTRUSTED = "the authority of its certificate is not trusted";

/** Plain words for the socket errors that people meet; the original text follows them. */
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

/** The error of a server that is silent. */
export function silenceError(address: string, timeoutMs: number): StoreError {
  return new StoreError("STORE_TIMEOUT", `Cannot count on ${address}: no answer within ${timeoutMs} ms`, {
    transient: true,
  });
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
