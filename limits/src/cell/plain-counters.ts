// Cells of a store that runs no scripts: each limit is counted in plain counters, one for each of its windows, and
// hits that do not fit are taken back. Where calls meet, each sees the hits of those that are being rejected: too few
// may pass, and never too many.
import {
  CELL_NUMBERS,
  type CellLimit,
  type CellRule,
  type CellState,
  cellWindowStartMs,
  fits,
  FIXED_WINDOW,
  roomIn,
  TOKEN_BUCKET,
} from "./cell.ts";
import { WINDOW_MAX_SECONDS } from "../model/unit.ts";

/** The counters of a limit at a moment. */
export interface LimitCounters {
  /** The end of the key of its window: the number of the limit, and that of the window. */
  readonly keyEnd: string;
  /** The same of the window before; undefined for a fixed window, which forgets it. */
  readonly keyEndBefore: string | undefined;
  /** How long a counter is needed after its first hit, in whole seconds. */
  readonly lifetimeSeconds: number;
}

/** The hits in the counters of a limit, without those of the call. */
export interface LimitCounts {
  readonly hits: number;
  /** Of the window before. */
  readonly before: number;
}

/** The counters of the limit with this index in its rule. */
export function countersAt(limit: CellLimit, index: number, nowMs: number): LimitCounters {
  if (limit.algorithm === FIXED_WINDOW) {
    const keyEnd = `_${index}_${cellWindowStartMs(limit, nowMs)}`;
    return { keyEnd, keyEndBefore: undefined, lifetimeSeconds: Math.ceil(limit.windowMs / 1000) };
  }
  const lengthMs = slidingMs(limit);
  const number = Math.floor(nowMs / lengthMs);
  return {
    keyEnd: `_${index}_${number}`,
    keyEndBefore: `_${index}_${number - 1}`,
    lifetimeSeconds: Math.min(Math.ceil((2 * lengthMs) / 1000), WINDOW_MAX_SECONDS),
  };
}

/**
 * Decides a call of so many hits, 0 to ask, and returns whether it passes, with the cell after it. `counts` has those
 * of each limit.
 */
export function decideByCounts(
  { limits, countsRejected }: CellRule,
  counts: readonly LimitCounts[],
  { nowMs, hits }: { readonly nowMs: number; readonly hits: number },
): { readonly passes: boolean; readonly state: CellState } {
  const state = limits.flatMap((limit, index) => stateOf(limit, counts[index] ?? { hits: 0, before: 0 }, nowMs));
  const passes = limits.every((limit, index) => fits(roomIn(limit, state, index, nowMs), hits));
  for (const [index, { capacity }] of limits.entries()) {
    const at = index * CELL_NUMBERS + 1;
    const counted = state[at] ?? 0;
    // More than fit in are hits of other calls that are being taken back.
    state[at] = passes || countsRejected ? counted + hits : Math.min(counted, capacity);
  }
  return { passes, state };
}

function stateOf(limit: CellLimit, counts: LimitCounts, nowMs: number): CellState {
  // Below 0 is what was taken back from a counter that the store has lost.
  const [hits, before] = [Math.max(0, counts.hits), Math.max(0, counts.before)];
  if (limit.algorithm === FIXED_WINDOW) return [cellWindowStartMs(limit, nowMs), hits, 0];
  const lengthMs = slidingMs(limit);
  // From the number of the window, as in its key: a remainder may be rounded otherwise at an edge.
  const elapsedMs = Math.max(0, nowMs - Math.floor(nowMs / lengthMs) * lengthMs);
  if (limit.algorithm === TOKEN_BUCKET) return [nowMs, hits + before * ((lengthMs - elapsedMs) / lengthMs), 0];
  return [nowMs - elapsedMs, hits, before];
}

/**
 * Length of the sliding windows of a limit. Those of a bucket are as long as a full one leaks, so that in any time no
 * more hits pass than the bucket lets pass: its capacity, and the rate for that time.
 */
function slidingMs({ algorithm, windowMs, capacity, limit }: CellLimit): number {
  if (algorithm !== TOKEN_BUCKET || capacity === 0) return windowMs;
  return (windowMs * capacity) / limit.requestsPerUnit;
}
