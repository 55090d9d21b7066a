// The messages between the store and its thread. A request is plain data and so is its result;
// one batch is on its way at a time, and its results have the order of its requests.
import type { StartErrorCode } from "../../errors.ts";
import type { MediaIntent, UpdateResult, UserChange, UserRecord } from "../user-store.ts";

/** A request to the thread. */
export type StoreRequest = ReadRequest | WriteRequest;

/** A request that changes nothing. */
export type ReadRequest =
  | { readonly kind: "findById"; readonly id: string }
  | { readonly kind: "findByEmailKey"; readonly emailKey: string }
  | { readonly kind: "findAvatarKeys"; readonly userIds: readonly string[] }
  | { readonly kind: "ping" };

/** A request that changes records or intents. */
export type WriteRequest =
  | { readonly kind: "insert"; readonly user: UserRecord }
  | { readonly kind: "update"; readonly id: string; readonly revision: number; readonly change: UserChange }
  | { readonly kind: "remove"; readonly id: string }
  | { readonly kind: "addMediaIntent"; readonly intent: MediaIntent }
  | { readonly kind: "takeMediaIntents"; readonly createdMaxMs: number }
  | { readonly kind: "removeMediaIntent"; readonly key: string };

/** The value that each kind of request results in. */
export interface StoreValues {
  readonly findById: UserRecord | undefined;
  readonly findByEmailKey: UserRecord | undefined;
  readonly findAvatarKeys: ReadonlySet<string>;
  readonly ping: undefined;
  readonly insert: "inserted" | "email_taken";
  readonly update: UpdateResult;
  readonly remove: boolean;
  readonly addMediaIntent: undefined;
  readonly takeMediaIntents: readonly string[];
  readonly removeMediaIntent: undefined;
}

/** The value of any request. */
export type StoreValue = StoreValues[keyof StoreValues];

/** The result of a request. A failed write has changed nothing. */
export type StoreResult =
  { readonly ok: true; readonly value: StoreValue } | { readonly ok: false; readonly reason: string };

/** Messages to the thread. */
export type ToThread =
  { readonly kind: "batch"; readonly requests: readonly StoreRequest[] } | { readonly kind: "close" };

/** Messages of the thread. */
export type FromThread =
  | { readonly kind: "opened" }
  /** Nothing was opened; the thread ends. */
  | { readonly kind: "unusable"; readonly code: StartErrorCode; readonly message: string; readonly reason?: string }
  | { readonly kind: "batch"; readonly results: readonly StoreResult[] }
  | { readonly kind: "checkpointFailed"; readonly reason: string };

/**
 * How a process uses the directory: `own` is the service and locks it; commands use it next to the service,
 * `share` reads and writes records, `read` writes nothing.
 */
export type StoreAccess = "own" | "share" | "read";

/** The data that the thread is started with. */
export interface ThreadData {
  readonly directory: string;
  readonly access: StoreAccess;
  readonly checkpointIntervalMs: number;
}
