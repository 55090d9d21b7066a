// Makes the errors of this backend from errors of sockets and answers of servers.
import { reasonOf, StoreError } from "../store-error.ts";
import { excerpt } from "./reply-parser.ts";

/** The store, for messages. */
export const STORE = "the alternative store";

/** The error of a connection that cannot be made or was lost. */
export function connectionError(address: string, cause: unknown): StoreError {
  return new StoreError("STORE_UNAVAILABLE", `Cannot reach ${STORE} ${address}: ${reasonOf(cause)}`, {
    cause,
    transient: true,
  });
}

/** The error of a command that the server refused; `line` is its answer. */
export function replyError(address: string, line: string): StoreError {
  return new StoreError("STORE_UNAVAILABLE", `Cannot count on ${address}: the server answered ${excerpt(line)}`, {
    transient: true,
  });
}

/** The error of a call with a key that memcached cannot store; `problem` follows "the key". */
export function keyError(key: string, problem: string): StoreError {
  return new StoreError("STORE_KEY_INVALID", `Cannot count on ${STORE}: the key ${problem}; it is ${excerpt(key)}`);
}
