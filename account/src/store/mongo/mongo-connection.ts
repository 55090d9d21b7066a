// The connection of the user store to its server: it is made again until there is one, and calls that
// have no chance fail immediately.
import { CircuitBreaker } from "@weir/common/backoff/circuit-breaker";
import { RetryLoop } from "@weir/common/backoff/retry-loop";
import type { Log } from "@weir/common/log/log";
import { RateLimitedLog } from "@weir/common/log/rate-limited-log";
import type { Secret } from "@weir/common/settings/secret";
import { timerDelayMs } from "@weir/common/timers/timer-delay";
import { StartError } from "../../errors.ts";
import type { StoreReason } from "../store-error.ts";
import { UniqueEmails } from "./unique-emails.ts";
import type { MongoFailure } from "./mongo-failure.ts";
import type { MongoTimeouts, UserCollection } from "./user-collection.ts";

/** Time limits of the driver, in milliseconds. */
export const TIMEOUTS: MongoTimeouts = { connectMs: 2000, socketMs: 2000 };

/** Calls that fail in a row before further ones fail immediately, and for how long, in milliseconds. */
const BREAKER = { failuresMax: 5, openMs: 2000 };

/** Waits between attempts to connect, in milliseconds. */
const CONNECT_BACKOFF = { initialMs: 250, maxMs: 5000, factor: 1, jitter: true };

type State =
  | { readonly kind: "connecting"; readonly reason: string }
  | { readonly kind: "ready"; readonly users: UserCollection; readonly index: UniqueEmails }
  | { readonly kind: "stopped" };

/** Ends an operation; of the error of the driver it has only what that means. */
export class OperationError extends Error {
  override readonly name = "OperationError";
  readonly failure: MongoFailure;

  constructor(failure: MongoFailure) {
    super(failure.text);
    this.failure = failure;
  }
}

export interface MongoDeps {
  readonly log: Log;
  /** Receives after each operation whether the circuit breaker is open, and whether that operation opened it. */
  readonly onBreaker?: ((isOpen: boolean, hasOpened: boolean) => void) | undefined;
}

/** The connection to the server of a URI. */
export class MongoConnection {
  readonly #deps: MongoDeps;
  readonly #uri: Secret;
  /** About the attempts: each reason once. */
  readonly #attemptLog: RateLimitedLog;
  readonly #connecting: RetryLoop;
  readonly #firstAttempt = Promise.withResolvers<void>();
  readonly #breaker = new CircuitBreaker({ monotonicMs: () => performance.now() }, BREAKER);
  #state: State = { kind: "connecting", reason: "it was not started" };

  constructor(deps: MongoDeps, { uri }: { readonly uri: Secret }) {
    this.#deps = deps;
    this.#uri = uri;
    this.#attemptLog = new RateLimitedLog(deps.log, { intervalMs: Infinity });
    this.#connecting = new RetryLoop(() => void this.#connect(), { ...CONNECT_BACKOFF, random: Math.random });
  }

  /**
   * Resolves after the first attempt to connect, whatever its result; further ones follow. Rejects
   * with STORE_UNUSABLE when the URI cannot be read.
   */
  async start(): Promise<void> {
    const { UserCollection } = await loadUserCollection();
    try {
      UserCollection.checkUri(this.#uri.reveal(), TIMEOUTS);
    } catch {
      // The driver quotes what it cannot read, which may be a part of the password.
      const reason = "it is no valid URI of MongoDB; percent-encode special characters of user and password";
      throw new StartError("STORE_UNUSABLE", `Cannot use MONGODB_URI: ${reason}`);
    }
    this.#connecting.start();
    await this.#firstAttempt.promise;
  }

  async stop(): Promise<void> {
    const state = this.#state;
    this.#state = { kind: "stopped" };
    this.#connecting.stop();
    if (state.kind !== "ready") return;
    state.index.stop();
    await state.users.close();
  }

  /** One operation; rejects with an OperationError, of which the breaker takes note. */
  async ask<T>(deadlineMs: number, operation: (users: UserCollection) => Promise<T>): Promise<T> {
    const state = this.#state;
    if (state.kind !== "ready") throw new OperationError(notConnected(state));
    if (!this.#breaker.mayCall()) throw new OperationError(notSent("breaker_open", "it did not answer the last calls"));
    try {
      const result = await before(deadlineMs, operation(state.users));
      this.#answered(true);
      return result;
    } catch (error) {
      const failure = state.users.classify(error);
      this.#answered(failure.reason !== "no_answer");
      throw new OperationError(failure);
    }
  }

  /**
   * Why nothing may be inserted; see UniqueEmails. The breaker takes no note, as logins continue while an
   * index is made that takes long.
   */
  async ensureIndex(deadlineMs: number): Promise<MongoFailure | undefined> {
    const state = this.#state;
    if (state.kind !== "ready") return notConnected(state);
    try {
      return await before(deadlineMs, state.index.ensure());
    } catch (error) {
      return { ...state.users.classify(error), kind: "not_sent" };
    }
  }

  async #connect(): Promise<void> {
    try {
      const { UserCollection } = await loadUserCollection();
      const users = await UserCollection.connect(this.#uri.reveal(), TIMEOUTS);
      if (this.#state.kind === "stopped") {
        await users.close();
      } else {
        const index = new UniqueEmails({ log: this.#deps.log, users });
        this.#state = { kind: "ready", users, index };
        this.#deps.log.info("Connected to the user store");
        index.start();
      }
    } catch (error) {
      const { classifyError } = await import("./mongo-failure.ts");
      this.#connectFailed(classifyError(error).text);
    }
    this.#firstAttempt.resolve();
  }

  #connectFailed(reason: string): void {
    if (this.#state.kind === "stopped") return;
    this.#attemptLog.warn("Cannot connect to the user store, trying again", { reason }, reason);
    this.#state = { kind: "connecting", reason };
    this.#connecting.retry();
  }

  #answered(isAnswered: boolean): void {
    if (isAnswered) this.#breaker.succeeded();
    const hasOpened = !isAnswered && this.#breaker.failed();
    this.#deps.onBreaker?.(this.#breaker.isOpen(), hasOpened);
  }
}

/** Loads the driver, which only services that use it need. */
function loadUserCollection(): Promise<typeof import("./user-collection.ts")> {
  return import("./user-collection.ts");
}

/** Rejects at the deadline; an operation that still runs then is given up. */
async function before<T>(deadlineMs: number, operation: Promise<T>): Promise<T> {
  const timeout = Promise.withResolvers<never>();
  const late = Object.assign(new Error("no answer in time"), { code: "ETIMEDOUT" });
  const timer = setTimeout(() => timeout.reject(late), timerDelayMs(deadlineMs, performance.now()));
  try {
    return await Promise.race([operation, timeout.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function notConnected(state: Exclude<State, { readonly kind: "ready" }>): MongoFailure {
  return notSent("not_connected", state.kind === "stopped" ? "it is not open" : `it is not connected: ${state.reason}`);
}

function notSent(reason: StoreReason, text: string): MongoFailure {
  return { kind: "not_sent", reason, text };
}
