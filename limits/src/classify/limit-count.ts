// The count of a limit at a moment for one set of values, for people who look at it.
import {
  type CellLimit,
  type CellState,
  FIXED_WINDOW,
  fits,
  msUntilFits,
  msUntilWhole,
  roomIn,
  wholeHits,
} from "../cell/cell.ts";
import type { RuleLimit } from "../model/rule-limit.ts";
import { WINDOW_MAX_SECONDS } from "../model/unit.ts";

/** Of sums of fractions, in hits and in seconds: what is due at a whole second is not due one later. */
export const ROUNDING = 1e-6;

/** A limit and its present count. */
export interface LimitCount {
  readonly limit: RuleLimit;
  readonly algorithm: CellLimit["algorithm"];
  /** Hits that fit in: the limit, or the burst of a bucket. */
  readonly capacity: number;
  /** Whole hits that count now, also those over the limit. */
  readonly hits: number;
  /** Whole hits that would pass now. */
  readonly remaining: number;
  /** Whole seconds until all hits are forgotten; 0 when there are none, except in fixed windows. */
  readonly resetSeconds: number;
  /** Whole seconds until one hit would pass; 0 when it would now. */
  readonly retrySeconds: number;
}

/** The count of a window that a plain count is of. */
export function windowCount(limit: RuleLimit, hits: number, resetSeconds: number): LimitCount {
  const { requestsPerUnit: capacity } = limit;
  const remaining = Math.max(0, capacity - hits);
  const retrySeconds = remaining > 0 ? 0 : resetSeconds;
  return { limit, algorithm: FIXED_WINDOW, capacity, hits, remaining, resetSeconds, retrySeconds };
}

/** The count of the limit with this index in a cell, whose state is that of the moment. */
export function cellCount(limit: CellLimit, state: CellState, index: number, nowMs: number): LimitCount {
  const { algorithm, capacity } = limit;
  const room = roomIn(limit, state, index, nowMs);
  return {
    ...{ limit: limit.limit, algorithm, capacity },
    hits: Math.max(0, Math.ceil(capacity - room - ROUNDING)),
    remaining: wholeHits(room),
    resetSeconds: wholeSeconds(msUntilWhole(limit, state, index, nowMs)),
    retrySeconds: fits(room, 1) ? 0 : Math.max(1, wholeSeconds(msUntilFits(limit, state, index, nowMs, 1))),
  };
}

/** No longer than the longest window, also for a bucket that never leaks. */
export function wholeSeconds(ms: number): number {
  return Math.max(0, Math.ceil(Math.min(ms / 1000, WINDOW_MAX_SECONDS) - ROUNDING));
}
