// Keeps user records in MongoDB. The service starts without the server and recovers when it comes;
// a write whose answer was lost is read back before anything is concluded.
import { isDeepStrictEqual } from "node:util";
import { RetryLoop } from "@weir/common/backoff/retry-loop";
import { describeError } from "@weir/common/errors/service-error";
import type { Log } from "@weir/common/log/log";
import { maskCredentials, type Secret } from "@weir/common/settings/secret";
import { StartError } from "../../errors.ts";
import { CircuitBreaker } from "@weir/common/backoff/circuit-breaker";
import { StoreError } from "../store-error.ts";
import type { UpdateResult, UserChange, UserRecord, UserStore } from "../user-store.ts";
import type { MongoFailure, MongoTimeouts, UserCollection } from "./user-collection.ts";

/** Time limits of the driver, in milliseconds. */
const TIMEOUTS: MongoTimeouts = { connectMs: 2000, socketMs: 2000 };

/**
 * Longest time of a call with all its attempts and reads, in milliseconds: callers are promised an
 * answer within three seconds. The driver has no such limit.
 */
const CALL_TIMEOUT_MS = 2800;

/** Calls that fail in a row before further ones fail immediately, and for how long, in milliseconds. */
const BREAKER = { failuresMax: 5, openMs: 2000 };

/** Waits between attempts to connect, in milliseconds. */
const CONNECT_BACKOFF = { initialMs: 250, maxMs: 5000, factor: 1, jitter: true };

/** The connection to the server. */
type State =
  | { readonly kind: "connecting"; readonly reason: string }
  | { readonly kind: "ready"; readonly users: UserCollection }
  | { readonly kind: "stopped" };

/** What a failed operation says; "not_sent" when the store did not even try. */
type Failure = MongoFailure | { readonly kind: "not_sent" };

/** The error of an operation, with what it says. */
class OperationError extends Error {
  override readonly name = "OperationError";
  readonly failure: Failure;

  constructor(failure: Failure, cause: unknown) {
    super(describeError(cause), { cause });
    this.failure = failure;
  }
}

/** A user store on a server of the MongoDB wire protocol. */
export class MongoUserStore implements UserStore {
  readonly #log: Log;
  readonly #uri: Secret;
  readonly #connecting: RetryLoop;
  readonly #firstAttempt = Promise.withResolvers<void>();
  readonly #breaker = new CircuitBreaker({ nowMs: () => performance.now() }, BREAKER);
  #state: State = { kind: "connecting", reason: "it was not started" };

  constructor({ log }: { readonly log: Log }, { uri }: { readonly uri: Secret }) {
    this.#log = log;
    this.#uri = uri;
    this.#connecting = new RetryLoop(() => void this.#connect(), { ...CONNECT_BACKOFF, random: Math.random });
  }

  /**
   * Resolves after the first attempt to connect, whatever its result; further ones follow. Rejects
   * with STORE_UNUSABLE when the URI cannot be read.
   */
  async start(): Promise<void> {
    await this.#checkUri();
    this.#connecting.start();
    await this.#firstAttempt.promise;
  }

  async stop(): Promise<void> {
    const state = this.#state;
    this.#state = { kind: "stopped" };
    this.#connecting.stop();
    if (state.kind === "ready") await state.users.close();
  }

  insert(user: UserRecord): Promise<"inserted" | "email_taken"> {
    return this.#within(async (deadlineMs) => {
      try {
        await this.#ask(deadlineMs, (users) => users.insert(user));
        return "inserted";
      } catch (error) {
        const { failure } = asOperationError(error);
        if (failure.kind === "not_sent") throw unavailable(error);
        // The driver repeats an insert whose answer was lost; the repetition finds the first one's
        // record.
        const stored = await this.#readBack(deadlineMs, user.id);
        if (stored?.emailKey === user.emailKey && stored.createdAtMs === user.createdAtMs) return "inserted";
        if (failure.kind === "lost") throw unavailable(error);
        if (failure.isEmail) return "email_taken";
        throw new StoreError("not_applied", error);
      }
    });
  }

  findById(id: string): Promise<UserRecord | undefined> {
    return this.#read((users) => users.findById(id));
  }

  findByEmailKey(emailKey: string): Promise<UserRecord | undefined> {
    return this.#read((users) => users.findByEmailKey(emailKey));
  }

  update(id: string, revision: number, change: UserChange): Promise<UpdateResult> {
    return this.#within(async (deadlineMs) => {
      let lost: unknown;
      try {
        if (await this.#ask(deadlineMs, (users) => users.update(id, revision, change))) return "updated";
      } catch (error) {
        const { failure } = asOperationError(error);
        if (failure.kind === "duplicate") return "email_taken";
        if (failure.kind === "not_sent") throw unavailable(error);
        lost = error;
      }
      // Also without a failure: the driver may have repeated the update after it was applied.
      const stored = await this.#readBack(deadlineMs, id);
      if (stored !== undefined && isResultOf(stored, revision, change)) return "updated";
      if (lost === undefined) return "conflict";
      throw unavailable(lost);
    });
  }

  remove(id: string): Promise<boolean> {
    return this.#within((deadlineMs) => this.#askOnce(deadlineMs, (users) => users.remove(id)));
  }

  findAvatarKeys(userIds: readonly string[]): Promise<ReadonlySet<string>> {
    return this.#read((users) => users.findAvatarKeys(userIds));
  }

  /** Rejects also when the unique index is missing. */
  ping(): Promise<void> {
    return this.#read((users) => users.checkIndex());
  }

  async #checkUri(): Promise<void> {
    const { UserCollection } = await loadUserCollection();
    try {
      UserCollection.checkUri(this.#uri.reveal(), TIMEOUTS);
    } catch (error) {
      const cause = new Error(reasonOf(error));
      throw new StartError("STORE_UNUSABLE", "Cannot use MONGODB_URI", { cause });
    }
  }

  async #connect(): Promise<void> {
    let users: UserCollection | undefined;
    try {
      const { UserCollection } = await loadUserCollection();
      users = await UserCollection.connect(this.#uri.reveal(), TIMEOUTS);
      await users.createIndex();
      await users.checkIndex();
      if (this.#state.kind === "stopped") {
        await users.close();
      } else {
        this.#state = { kind: "ready", users };
        this.#log.info("Connected to the user store");
      }
    } catch (error) {
      await users?.close().catch(() => undefined); // What failed before says why.
      this.#connectFailed(error);
    }
    this.#firstAttempt.resolve();
  }

  #connectFailed(error: unknown): void {
    const reason = reasonOf(error);
    if (this.#state.kind === "stopped") return;
    if (this.#state.kind !== "connecting" || this.#state.reason !== reason)
      this.#log.warn("Cannot connect to the user store, trying again", { reason });
    this.#state = { kind: "connecting", reason };
    this.#connecting.retry();
  }

  #read<T>(operation: (users: UserCollection) => Promise<T>): Promise<T> {
    return this.#within((deadlineMs) => this.#askOnce(deadlineMs, operation));
  }

  /**
   * The user as a majority of servers has it, after a write that was sent; without an answer, its
   * effect stays unknown.
   */
  async #readBack(deadlineMs: number, id: string): Promise<UserRecord | undefined> {
    try {
      return await this.#ask(deadlineMs, (users) => users.findById(id, { isDurable: true }));
    } catch (error) {
      throw new StoreError("unknown", error);
    }
  }

  /** One operation; rejects with a StoreError. */
  async #askOnce<T>(deadlineMs: number, operation: (users: UserCollection) => Promise<T>): Promise<T> {
    try {
      return await this.#ask(deadlineMs, operation);
    } catch (error) {
      throw unavailable(error);
    }
  }

  /** One operation; rejects with an OperationError, of which the breaker takes note. */
  async #ask<T>(deadlineMs: number, operation: (users: UserCollection) => Promise<T>): Promise<T> {
    const users = this.#open();
    try {
      const result = await before(deadlineMs, operation(users));
      this.#breaker.succeeded();
      return result;
    } catch (error) {
      const failure = users.classify(error);
      if (failure.kind === "duplicate") this.#breaker.succeeded();
      else this.#breaker.failed();
      throw new OperationError(failure, error);
    }
  }

  /** The collection, if a call has a chance. */
  #open(): UserCollection {
    const state = this.#state;
    if (state.kind !== "ready")
      throw notSent(state.kind === "stopped" ? "it is not open" : `it is not connected: ${state.reason}`);
    if (!this.#breaker.mayCall()) throw notSent("it did not answer the last calls");
    return state.users;
  }

  #within<T>(call: (deadlineMs: number) => Promise<T>): Promise<T> {
    return call(performance.now() + CALL_TIMEOUT_MS);
  }
}

/** Loads the driver, which only services that use it need. */
function loadUserCollection(): Promise<typeof import("./user-collection.ts")> {
  return import("./user-collection.ts");
}

/** The driver quotes a URI that it cannot read, with its password. */
function reasonOf(error: unknown): string {
  return maskCredentials(describeError(error));
}

/** Whether `stored` is what the change makes of that revision: the change itself, or its repetition. */
function isResultOf(stored: UserRecord, revision: number, change: UserChange): boolean {
  return stored.revision === revision + 1 && isDeepStrictEqual({ ...stored, ...change }, stored);
}

/** Rejects at the deadline; an operation that still runs then is given up. */
async function before<T>(deadlineMs: number, operation: Promise<T>): Promise<T> {
  const timeout = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => timeout.reject(new Error(`no answer within ${CALL_TIMEOUT_MS} ms`)),
    Math.max(0, deadlineMs - performance.now()),
  );
  try {
    return await Promise.race([operation, timeout.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function notSent(reason: string): OperationError {
  return new OperationError({ kind: "not_sent" }, new Error(reason));
}

function asOperationError(error: unknown): OperationError {
  if (error instanceof OperationError) return error;
  throw error;
}

function unavailable(error: unknown): StoreError {
  const { failure, cause } = asOperationError(error);
  return new StoreError(failure.kind === "lost" ? "unknown" : "not_applied", cause);
}
