// Makes errors of this backend from what sockets and servers say.
import { reasonOf } from "../connection-errors.ts";
import { StoreError } from "../store-error.ts";
import { excerpt } from "./reply-parser.ts";

/** The error of a connection that cannot be made or was lost. */
export function connectionError(address: string, cause: unknown): StoreError {
  return new StoreError("STORE_UNAVAILABLE", `Cannot reach the alternative store ${address}: ${reasonOf(cause)}`, {
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

/** The error of a backend that is ending. */
export function stoppingError(): StoreError {
  return new StoreError("STORE_UNAVAILABLE", "Cannot count on the alternative store: the backend is stopping", {
    transient: true,
  });
}

/** The error of a call with a key that memcached cannot hold; `problem` stands behind "the key". */
export function keyError(key: string, problem: string): StoreError {
  return new StoreError(
    "STORE_KEY_INVALID",
    `Cannot count on the alternative store: the key ${problem}; it is ${excerpt(key)}`,
  );
}
