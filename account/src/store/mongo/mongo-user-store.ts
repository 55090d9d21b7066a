// Keeps user records in MongoDB. The service starts without the server and recovers when it comes;
// a write whose answer was lost is read back before anything is concluded.
import { isDeepStrictEqual } from "node:util";
import type { Secret } from "@weir/common/settings/secret";
import { StoreError, type WriteOutcome } from "../store-error.ts";
import type { MediaIntent, UpdateResult, UserChange, UserRecord, UserStore } from "../user-store.ts";
import { MongoConnection, type MongoDeps, OperationError } from "./mongo-connection.ts";
import type { MongoFailure } from "./mongo-failure.ts";
import type { UserCollection } from "./user-collection.ts";

/**
 * Longest time of a call with all its attempts and reads, in milliseconds: callers are promised an
 * answer within three seconds. The driver has no such limit.
 */
const CALL_TIMEOUT_MS = 2800;

/** A user store on a server of the MongoDB wire protocol. */
export class MongoUserStore implements UserStore {
  readonly #connection: MongoConnection;

  constructor(deps: MongoDeps, options: { readonly uri: Secret }) {
    this.#connection = new MongoConnection(deps, options);
  }

  /**
   * Resolves after the first attempt to connect, whatever its result; further ones follow. Rejects
   * with STORE_UNUSABLE when the URI cannot be read.
   */
  start(): Promise<void> {
    return this.#connection.start();
  }

  stop(): Promise<void> {
    return this.#connection.stop();
  }

  async insert(user: UserRecord): Promise<"inserted" | "email_taken"> {
    const result = await this.#within(async (deadlineMs) => {
      const fault = await this.#connection.ensureIndex(deadlineMs);
      if (fault !== undefined) throw storeError("not_applied", fault);
      const inserted = await this.#insert(deadlineMs, user);
      if (inserted === "inserted") await this.#confirm(deadlineMs, user.id);
      return inserted;
    });
    // The caller does not wait for it: an intent that stays does no harm, because a record names its key.
    if (result === "inserted" && user.avatarKey !== null) this.removeMediaIntent(user.avatarKey).catch(() => undefined);
    return result;
  }

  findById(id: string): Promise<UserRecord | undefined> {
    return this.#read((users) => users.findById(id));
  }

  findByEmailKey(emailKey: string): Promise<UserRecord | undefined> {
    return this.#read((users) => users.findByEmailKey(emailKey));
  }

  update(id: string, revision: number, change: UserChange): Promise<UpdateResult> {
    return this.#within(async (deadlineMs) => {
      // Without the index two records could get one address.
      const fault = change.emailKey === undefined ? undefined : await this.#connection.ensureIndex(deadlineMs);
      if (fault !== undefined) throw storeError("not_applied", fault);
      let lost: MongoFailure | undefined;
      try {
        if (await this.#connection.ask(deadlineMs, (users) => users.update(id, revision, change))) return "updated";
      } catch (error) {
        const failure = failureOf(error);
        if (failure.kind === "duplicate" && change.emailKey !== undefined) return "email_taken";
        if (failure.kind !== "lost") throw storeError("not_applied", failure);
        lost = failure;
      }
      // Also without a failure: the driver may have repeated the update after it was applied.
      const stored = await this.#readBack(deadlineMs, id);
      if (stored !== undefined && isResultOf(stored, revision, change)) return "updated";
      if (lost === undefined) return "conflict";
      throw storeError("unknown", lost);
    });
  }

  remove(id: string): Promise<boolean> {
    return this.#within((deadlineMs) => this.#ask(deadlineMs, (users) => users.remove(id)));
  }

  findAvatarKeys(userIds: readonly string[]): Promise<ReadonlySet<string>> {
    return this.#within(async (deadlineMs) => {
      // In this order, because an intent is removed after its record was stored.
      const intents = await this.#ask(deadlineMs, (users) => users.findIntents({ userIds }));
      const named = await this.#ask(deadlineMs, (users) => users.findAvatarKeys(userIds));
      return new Set([...named, ...intents.map(({ key }) => key)]);
    });
  }

  addMediaIntent(intent: MediaIntent): Promise<void> {
    return this.#read((users) => users.addIntent(intent));
  }

  takeMediaIntents(createdMaxMs: number): Promise<readonly string[]> {
    return this.#within(async (deadlineMs) => {
      for (;;) {
        const intents = await this.#ask(deadlineMs, (users) => users.findIntents({ createdMaxMs }));
        const userIds = intents.map(({ userId }) => userId);
        const named = await this.#ask(deadlineMs, (users) => users.findAvatarKeys(userIds));
        const keys = intents.map(({ key }) => key);
        const unneeded = keys.filter((key) => named.has(key));
        if (unneeded.length > 0) await this.#ask(deadlineMs, (users) => users.removeIntents(unneeded));
        if (unneeded.length === 0 || unneeded.length < keys.length) return keys.filter((key) => !named.has(key));
      }
    });
  }

  removeMediaIntent(key: string): Promise<void> {
    return this.#read((users) => users.removeIntents([key]));
  }

  /** Resolves also while the unique index is missing, as only registrations fail then. */
  async ping(): Promise<void> {
    await this.findById("");
  }

  async #insert(deadlineMs: number, user: UserRecord): Promise<"inserted" | "email_taken"> {
    try {
      await this.#connection.ask(deadlineMs, (users) => users.insert(user));
      return "inserted";
    } catch (error) {
      const failure = failureOf(error);
      if (failure.kind === "not_sent") throw storeError("not_applied", failure);
      // The driver repeats an insert whose answer was lost; the repetition finds the first one's
      // record.
      const stored = await this.#readBack(deadlineMs, user.id);
      if (stored?.emailKey === user.emailKey && stored.createdAtMs === user.createdAtMs) return "inserted";
      if (failure.kind === "lost") throw storeError("unknown", failure);
      // Each server words it differently which key is taken; the records say it.
      const holder = await this.#ask(deadlineMs, (users) => users.findByEmailKey(user.emailKey));
      if (holder === undefined) throw storeError("not_applied", failure);
      if (holder.id === user.id) throw storeError("unknown", failure); // Not yet on a majority of the servers.
      return "email_taken";
    }
  }

  /**
   * Resolves when no other user can have the address: an index that exists after the insert covers its
   * record, also when it was gone in between. Otherwise the record goes.
   */
  async #confirm(deadlineMs: number, id: string): Promise<void> {
    const fault = await this.#connection.ensureIndex(deadlineMs);
    if (fault === undefined) return;
    if (fault.reason !== "index_missing") throw storeError("unknown", fault);
    try {
      await this.#connection.ask(deadlineMs, (users) => users.remove(id));
    } catch (error) {
      throw storeError("unknown", failureOf(error));
    }
    throw storeError("not_applied", fault);
  }

  #read<T>(operation: (users: UserCollection) => Promise<T>): Promise<T> {
    return this.#within((deadlineMs) => this.#ask(deadlineMs, operation));
  }

  /**
   * The user as a majority of servers has it, after a write that was sent; without an answer, its
   * effect stays unknown.
   */
  async #readBack(deadlineMs: number, id: string): Promise<UserRecord | undefined> {
    try {
      return await this.#connection.ask(deadlineMs, (users) => users.findById(id, { isDurable: true }));
    } catch (error) {
      throw storeError("unknown", failureOf(error));
    }
  }

  /** One operation; rejects with a StoreError. */
  async #ask<T>(deadlineMs: number, operation: (users: UserCollection) => Promise<T>): Promise<T> {
    try {
      return await this.#connection.ask(deadlineMs, operation);
    } catch (error) {
      const failure = failureOf(error);
      throw storeError(failure.kind === "lost" ? "unknown" : "not_applied", failure);
    }
  }

  #within<T>(call: (deadlineMs: number) => Promise<T>): Promise<T> {
    return call(performance.now() + CALL_TIMEOUT_MS);
  }
}

/** Returns true if `stored` is the result of the change to that revision: of the change itself, or its repetition. */
function isResultOf(stored: UserRecord, revision: number, change: UserChange): boolean {
  return stored.revision === revision + 1 && isDeepStrictEqual({ ...stored, ...change }, stored);
}

function failureOf(error: unknown): MongoFailure {
  if (error instanceof OperationError) return error.failure;
  throw error;
}

function storeError(outcome: WriteOutcome, { reason, text }: MongoFailure): StoreError {
  return new StoreError(outcome, new Error(text), reason);
}
