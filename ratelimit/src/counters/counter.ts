// The interface of counter backends: fixed-window counters that are incremented and read in one
// step. counter.suite.ts tests every backend.
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { CellRule, CellState } from "@weir/limits/cell/cell";
import type { StoreError } from "./store-error.ts";

/** A cell to count in. The decider makes it, the backend calls `settle`. */
export interface CountedCell {
  readonly rule: CellRule;
  /** Time of the call by the clock of this process, in milliseconds since the epoch. */
  readonly nowMs: number;
  /**
   * Takes whether the call passes, and the state of the cell after it at that moment. `isExact`, by default true, is
   * false where the state may include hits of other calls that are being rejected.
   */
  settle(passes: boolean, state: CellState, nowMs: number, isExact?: boolean): void;
}

/** One counter to increment. The decider makes it, the backend sets `after`. */
export interface CountedCheck {
  /** The whole key: prefix, domain, entries, window start. Never empty. */
  readonly key: string;
  /** Start of the window in whole seconds since the epoch: the end of the key as a number. */
  readonly windowStartSeconds: number;
  /**
   * Length of the window in seconds: 1, 60, 3600, … A counter may be deleted once start + length
   * has passed.
   */
  readonly windowSeconds: number;
  /**
   * Whole hits to add in the store; 0 reads. Below 0 it takes hits away: the count does not go below 0,
   * and a counter that does not exist stays away. It may change between a `read` and the `count` that
   * follows.
   */
  readonly addend: number;
  /** True if an addend below 0 takes back what this process has added before: the count may go below 0. */
  readonly isTakenBack?: boolean;
  /**
   * The count after this increment, or the current count for a read; set by the backend before it
   * calls `counted`. Not used by cells.
   */
  after: number;
  /** The cell to count in when it is no plain count; then a read is a count of 0 hits. */
  readonly cell?: CountedCell | undefined;
}

/**
 * The increments of one call. One object per call, with methods on a class, so that counting makes
 * no closure and no promise. For each `count` and each `read`, exactly one of `counted` and
 * `failed` is called, exactly once, possibly before it returns (the memory backend always does).
 */
export interface CountBatch {
  /**
   * At least one check; a key may occur in several, each increments separately and in this order.
   */
  readonly checks: readonly CountedCheck[];
  /**
   * The deadline of the caller, in milliseconds of `performance.now`; undefined when it has none. The
   * backend answers by then.
   */
  readonly deadlineMs: number | undefined;
  /** Checks without a result, for the backend while it counts. 0 when it receives the batch. */
  pending: number;
  /** Every `after` is written. */
  counted(): void;
  /** The call as a whole has no result, even if some checks were counted. */
  failed(error: StoreError): void;
}

/**
 * A counter backend. `start` waits until it can count; `stop` fails waiting calls and closes
 * connections.
 */
export interface Counter extends Part {
  /** The <err_type> of ratelimit.service.call.should_rate_limit that its failures count as. */
  readonly errorType: "redis_error" | "memcache_error" | "memory_error";
  /** False where hits cannot be given back: no addend is below 0 then. Absent where they can. */
  readonly givesBack?: boolean;
  /**
   * Why it counts nothing but plain counts, for people who configure others; undefined when it counts cells, too, or
   * when nothing is known because the store does not answer. Absent where cells always work.
   */
  cellsProblem?(): Promise<string | undefined>;
  /** True where increments are predicted from reads in any case: a read before would gain nothing. */
  readonly predicts?: boolean;
  /** Counts the checks of the batch, and calls it back now or later. */
  count(batch: CountBatch): void;
  /**
   * Reads the counters of the batch and changes none: sets each `after` (0 when the counter does
   * not exist), regardless of its addend, then calls the batch back now or later. The same batch may
   * be given to `count` after that.
   */
  read(batch: CountBatch): void;
}
