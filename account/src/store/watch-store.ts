// Watches the calls of a user store: their time and failures for metrics, and each failure once in the log.
import { describeError } from "@weir/common/errors/service-error";
import type { Log } from "@weir/common/log/log";
import { RateLimitedLog } from "@weir/common/log/rate-limited-log";
import { StoreError, type StoreReason } from "./store-error.ts";
import type { UserStore } from "./user-store.ts";

/** The calls of a store. */
export type StoreOperation = Exclude<keyof UserStore, "start" | "stop">;

/** The calls of a store, and what their failures and successes say something about. */
export const STORE_OPERATIONS: Readonly<Record<StoreOperation, "reads" | "writes">> = {
  insert: "writes",
  findById: "reads",
  findByEmailKey: "reads",
  update: "writes",
  remove: "writes",
  findAvatarKeys: "reads",
  addMediaIntent: "writes",
  takeMediaIntents: "writes",
  removeMediaIntent: "writes",
  ping: "reads",
};

/** How long no call may fail until the store counts as working again, in milliseconds: some calls succeed meanwhile. */
const QUIET_MS = 10_000;

/** Reasons that the store itself logs, or that follow from one that is logged. */
const LOGGED_ELSEWHERE: ReadonlySet<StoreReason> = new Set(["not_connected", "breaker_open", "index_missing"]);

/** Listens to the calls; its methods must not throw. */
export interface StoreEvents {
  /** A call ended, in so many seconds. */
  called(operation: StoreOperation, seconds: number): void;
  /** A call could not be answered. */
  failed(reason: StoreReason): void;
  /** Receives the state of the circuit breaker after an operation: open or not, and opened by that operation or not. */
  readonly breaker: (isOpen: boolean, hasOpened: boolean) => void;
}

/** The store, watched. */
export function watchStore(
  store: UserStore,
  deps: {
    readonly log: Log;
    readonly events: Pick<StoreEvents, "called" | "failed">;
    /** Milliseconds of a clock that only goes forward. */
    readonly nowMs?: () => number;
  },
): UserStore {
  const { log, events, nowMs = () => performance.now() } = deps;
  const openLog = () => ({
    log: new RateLimitedLog(log, { intervalMs: Infinity, monotonicMs: nowMs }),
    failedMs: -Infinity,
  });
  const logs = { reads: openLog(), writes: openLog() };
  const watch = async (operation: StoreOperation, call: () => Promise<unknown>): Promise<unknown> => {
    const calls = STORE_OPERATIONS[operation];
    const last = logs[calls];
    const startedMs = nowMs();
    try {
      const result = await call();
      if (nowMs() - last.failedMs >= QUIET_MS) last.log.recovered("The user store works again", { calls });
      return result;
    } catch (error) {
      const known = error instanceof StoreError ? error : new StoreError("unknown", error, "rejected");
      events.failed(known.reason);
      const reason = describeError(known.cause);
      last.failedMs = nowMs();
      if (!LOGGED_ELSEWHERE.has(known.reason)) last.log.warn("The user store does not work", { calls, reason }, reason);
      throw error;
    } finally {
      events.called(operation, (nowMs() - startedMs) / 1000);
    }
  };
  const watched = (Object.keys(STORE_OPERATIONS) as StoreOperation[]).map((operation) => {
    const call = store[operation].bind(store) as (...values: readonly unknown[]) => Promise<unknown>;
    return [operation, (...values: readonly unknown[]) => watch(operation, () => call(...values))] as const;
  });
  return {
    ...(Object.fromEntries(watched) as unknown as Pick<UserStore, StoreOperation>),
    start: () => store.start(),
    stop: () => store.stop(),
  };
}
