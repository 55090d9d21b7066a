// The events of a server, for a deployment of several.
import type { RefusedChecks } from "../batch/command-batch.ts";
import type { KeyExpiry } from "../expiry/expiry-cache.ts";

/**
 * Receives the events of a server. Methods are called from the event loop, never within a call to
 * the server, except `serverLost` and `expiryMissing`, which `moveTo` also calls.
 */
export interface ServerEvents<Server> {
  /**
   * Returns true if a reply says that its command was not executed and may be sent again, later or to
   * another server: MOVED, ASK, TRYAGAIN, CLUSTERDOWN, LOADING, READONLY, as far as the deployment
   * can use it. Such replies lead to `refused` or `expiryMissing`; others fail their calls.
   */
  isRefusal(error: Error): boolean;
  /**
   * Passes on checks without an answer, which the deployment owns now. It either adds each of them,
   * by `CommandBatch.adopt`, to a batch with the same `createdMs`, since when their calls have
   * waited, and gives that batch to `resend` of a server; or it fails them.
   */
  refused(server: Server, checks: readonly RefusedChecks[], createdMs: number): void;
  /**
   * Reports a key that may have no expiry: the server had lost the key, refused EXPIRE alone, or
   * was lost before it answered. `sendExpiry` sends it again.
   */
  expiryMissing(server: Server, expiry: KeyExpiry): void;
  /** A connection works. */
  serverReady(server: Server): void;
  /** A working connection was lost; `server.isReady` says if others are left. */
  serverLost(server: Server, cause: unknown): void;
  /** A connection could not be made; the next attempt follows. */
  serverFailed(server: Server, cause: unknown): void;
}
