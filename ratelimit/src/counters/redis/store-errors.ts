// Makes the errors of this backend from replies and from errors of sockets.
import { reasonOf, StoreError } from "../store-error.ts";

/**
 * Replies of a server that will refuse every command on this connection: a demoted primary, one
 * that is loading, a lost login.
 */
const USELESS_CONNECTION = /^(?:READONLY|LOADING|MASTERDOWN|NOAUTH|NOPERM|WRONGPASS)\b/;

/** The error of a connection that cannot be made or was lost. */
export function connectionError(address: string, cause: unknown): StoreError {
  return new StoreError("STORE_UNAVAILABLE", `Cannot reach the counter store ${address}: ${reasonOf(cause)}`, {
    cause,
    transient: true,
  });
}

/** The error of a call that finds `waiting` increments without an answer. */
export function overloadError(address: string, waiting: number): StoreError {
  return connectionError(address, new Error(`${waiting} increments wait for it`));
}

/** The error of a command that the server refused. */
export function replyError(address: string, cause: unknown): StoreError {
  return new StoreError("STORE_UNAVAILABLE", `Cannot count on ${address}: ${reasonOf(cause)}`, {
    cause,
    transient: true,
  });
}

/**
 * Returns true if a reply means that the connection must be replaced, perhaps by one to another server
 * with the same name.
 */
export function isUselessConnection(cause: unknown): boolean {
  return cause instanceof Error && USELESS_CONNECTION.test(cause.message);
}
