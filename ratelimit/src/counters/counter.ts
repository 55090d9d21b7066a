// The interface of counter backends: fixed-window counters that are incremented and read in one
// step. It knows nothing of rules or decisions. Each backend has a folder of its own;
// counter.suite.ts says in tests what they all must do.
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { StoreError } from "./store-error.ts";

/** One counter to increment. The decider makes it, the backend writes `after`. */
export interface CountedCheck {
  /** The whole key: prefix, domain, entries, window start. Never empty. */
  readonly key: string;
  /** Start of the window in whole seconds since the epoch: the end of the key as a number. */
  readonly windowStartSeconds: number;
  /**
   * Length of the window: 1, 60, 3600, … A counter may be forgotten once start + length has passed.
   */
  readonly windowSeconds: number;
  /**
   * Whole hits to add in the store, 0 or more; 0 reads. It may change between a `read` and the
   * `count` that follows.
   */
  readonly addend: number;
  /**
   * The count after this increment, or the count as it stands when only read; written by the
   * backend before `counted` is called.
   */
  after: number;
}

/**
 * The increments of one call. One object per call with its methods on a class, so that counting
 * makes no closure and no promise. For each `count` and each `read`, exactly one of `counted` and
 * `failed` is called, exactly once, perhaps before it returns (the memory backend always does).
 */
export interface CountBatch {
  /**
   * At least one check; the same key may stand in several, each increments on its own and in this
   * order.
   */
  readonly checks: readonly CountedCheck[];
  /**
   * When the caller stops waiting, in milliseconds since the epoch; undefined when it did not say.
   * The backend answers by then.
   */
  readonly deadlineMs: number | undefined;
  /** Scratch room of the backend while it counts: checks without a result. 0 when handed over. */
  pending: number;
  /** Every `after` is written. */
  counted(): void;
  /** There is no result for the call as a whole, whatever was counted. */
  failed(error: StoreError): void;
}

/**
 * A counter backend. `start` waits until it can count; `stop` fails what is still waiting and
 * closes connections.
 */
export interface Counter extends Part {
  /** The <err_type> of ratelimit.service.call.should_rate_limit that its failures count as. */
  readonly errorType: "redis_error" | "memcache_error" | "memory_error";
  /** Counts the checks of the batch and calls it back, now or later. */
  count(batch: CountBatch): void;
  /**
   * Reads the counters of the batch and changes none: writes each `after` (0 when there is none),
   * whatever its addend, then calls the batch back, now or later. Absent where increments are
   * predicted anyway. The same batch may be given to `count` once it was called back.
   */
  read?(batch: CountBatch): void;
}
