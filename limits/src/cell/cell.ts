// Limits that a plain count cannot express: sliding windows, token buckets, several limits of a rule, and
// windows that do not count what they reject. All limits of a rule are in one cell for each set of values,
// so that they are decided together. This is the arithmetic of the memory counters; the script of the Redis
// counters is the same, in the same order of operations.
import type { RuleLimit } from "../model/rule-limit.ts";
import type { CalendarWindows } from "../window/calendar.ts";

/** Windows that begin together for all, and forget their hits when they end. */
export const FIXED_WINDOW = 0;

/**
 * Windows that forget the hits of the one before little by little: used are the hits of this one, and those
 * of the one before by the share of it that is less than a window ago.
 */
export const SLIDING_WINDOW = 1;

/** A bucket of hits that leaks at the rate of the limit; a call passes when its hits fit in. */
export const TOKEN_BUCKET = 2;

/** One limit of a cell. */
export interface CellLimit {
  /** As the answer has it. */
  readonly limit: RuleLimit;
  readonly algorithm: typeof FIXED_WINDOW | typeof SLIDING_WINDOW | typeof TOKEN_BUCKET;
  /** Length of the window; that of the longest one if they have their own edges. */
  readonly windowMs: number;
  /** Hits that fit in: the limit, or the burst of a bucket. */
  readonly capacity: number;
  /** The windows of a fixed window with a time zone. */
  readonly calendar: CalendarWindows | undefined;
}

/** Properties that the cells of a rule have in common. */
export interface CellRule {
  /** 1 to 8. A call passes when its hits fit in all of them; else they are added to none, or to all. */
  readonly limits: readonly CellLimit[];
  /** True if the hits of calls that do not pass are added, too; only then can hits be given back. */
  readonly countsRejected: boolean;
  /** How long a cell takes to become whole when all its limits are used up, without debts. */
  readonly wholeMs: number;
  /** The end of its keys: kinds and lengths, such as `_~b60`, so that others begin anew. */
  readonly keyEnd: string;
}

/**
 * The numbers of a cell, three for each limit: a time in milliseconds since the epoch, the hits, and the
 * hits of the window before. The time is the start of the window, or when the hits of a bucket were right.
 * Zeros for a cell that does not exist.
 */
export type CellState = number[];

/** Numbers of a limit in a state. */
export const CELL_NUMBERS = 3;

/** The state of a cell that does not exist. */
export function emptyCell({ limits }: CellRule): CellState {
  return new Array<number>(limits.length * CELL_NUMBERS).fill(0);
}

/** Hits that do not fit by so little do: sums of fractions are not exact. */
export const TOLERANCE = 1e-6;

/** How far clocks of several pods may differ, in milliseconds: a state that is further ahead was wrong. */
export const SKEW_MAX_MS = 60_000;

/**
 * Counts so many equal calls one after another, and returns how many of them pass. Hits of 0 ask whether one
 * more would pass; hits below 0 are given back, and pass.
 */
export function countInCell({ limits, countsRejected }: CellRule, state: CellState, at: CellCall): number {
  const { nowMs, hits, calls } = at;
  let passing = calls;
  for (const [index, limit] of limits.entries()) {
    advance(limit, state, index * CELL_NUMBERS, nowMs);
    if (hits >= 0) passing = Math.min(passing, callsThatFit(roomIn(limit, state, index, nowMs), hits, calls));
  }
  const added = hits * (hits < 0 || countsRejected ? calls : passing);
  for (let index = 0; index < state.length; index += CELL_NUMBERS) addTo(state, index, added);
  return passing;
}

/** Calls to a cell at one moment. */
export interface CellCall {
  readonly nowMs: number;
  /** Of each call. */
  readonly hits: number;
  readonly calls: number;
}

/** Hits for which a limit has room, in a state of that moment; a fraction, below 0 when more were counted. */
export function roomIn(
  { algorithm, capacity, windowMs }: CellLimit,
  state: CellState,
  index: number,
  nowMs: number,
): number {
  const at = index * CELL_NUMBERS;
  const [start = 0, hits = 0, before = 0] = [state[at], state[at + 1], state[at + 2]];
  if (algorithm !== SLIDING_WINDOW) return capacity - hits;
  const elapsed = Math.max(0, nowMs - start);
  return capacity - before * ((windowMs - elapsed) / windowMs) - hits;
}

/** Returns true if so many hits fit into the room, or one when they only ask. */
export function fits(room: number, hits: number): boolean {
  return hits > 0 ? room + TOLERANCE >= hits : room >= 1 - TOLERANCE;
}

/** The whole hits in a room, from 0. */
export function wholeHits(room: number): number {
  return Math.max(0, Math.floor(room + TOLERANCE));
}

/**
 * Milliseconds from the moment of the state until so many hits fit into the limit, and until it is whole if
 * they never do.
 */
export function msUntilFits(limit: CellLimit, state: CellState, index: number, nowMs: number, hits: number): number {
  const { algorithm, capacity, windowMs } = limit;
  const at = index * CELL_NUMBERS;
  const [start = 0, counted = 0, before = 0] = [state[at], state[at + 1], state[at + 2]];
  const room = capacity - Math.max(1, hits);
  if (algorithm === FIXED_WINDOW || room < 0) return msUntilWhole(limit, state, index, nowMs);
  if (algorithm === TOKEN_BUCKET) return ((counted - room) * windowMs) / limit.limit.requestsPerUnit;
  const end = start + windowMs;
  // In this window hits of the one before are forgotten until they fit, else in the next window those of this one.
  if (counted <= room) return start + windowMs * (1 - (room - counted) / before) - nowMs;
  return end + Math.max(0, windowMs * (1 - room / counted)) - nowMs;
}

/** Milliseconds from the moment of the state until all hits are forgotten; of a fixed window, until it ends. */
export function msUntilWhole(limit: CellLimit, state: CellState, index: number, nowMs: number): number {
  const { algorithm, windowMs, calendar } = limit;
  const at = index * CELL_NUMBERS;
  const [start = 0, hits = 0, before = 0] = [state[at], state[at + 1], state[at + 2]];
  switch (algorithm) {
    case FIXED_WINDOW:
      return (calendar === undefined ? start + windowMs : calendar.at(start / 1000).endSeconds * 1000) - nowMs;
    case SLIDING_WINDOW:
      return hits > 0 ? start + 2 * windowMs - nowMs : before > 0 ? start + windowMs - nowMs : 0;
    case TOKEN_BUCKET:
      return hits > 0 ? (hits * windowMs) / limit.limit.requestsPerUnit : 0;
  }
}

/** Start of the fixed or sliding window that contains the moment, in milliseconds since the epoch. */
export function cellWindowStartMs({ calendar, windowMs }: CellLimit, nowMs: number): number {
  return calendar === undefined
    ? nowMs - (nowMs % windowMs)
    : calendar.at(Math.floor(nowMs / 1000)).startSeconds * 1000;
}

/** Moves the numbers of a limit to the moment. They never go back, but when they are too far ahead. */
function advance(limit: CellLimit, state: CellState, at: number, nowMs: number): void {
  const { algorithm, windowMs } = limit;
  let [time = 0, hits = 0, before = 0] = [state[at], state[at + 1], state[at + 2]];
  const startMs = cellWindowStartMs(limit, nowMs);
  if (time > nowMs + SKEW_MAX_MS + 2 * windowMs) [time, hits, before] = [startMs, 0, 0];
  if (algorithm === TOKEN_BUCKET) {
    if (time < nowMs) {
      hits = Math.max(0, hits - ((nowMs - time) * limit.limit.requestsPerUnit) / windowMs);
      time = nowMs;
    }
  } else if (time < startMs) {
    before = algorithm === SLIDING_WINDOW && time === startMs - windowMs ? hits : 0;
    hits = 0;
    time = startMs;
  }
  state[at] = time;
  state[at + 1] = hits;
  state[at + 2] = before;
}

function callsThatFit(room: number, hits: number, calls: number): number {
  if (hits === 0) return fits(room, 0) ? calls : 0;
  return Math.max(0, Math.floor((room + TOLERANCE) / hits));
}

/** Adds hits; those that are given back are taken from this window first, then from the one before. */
function addTo(state: CellState, at: number, hits: number): void {
  const sum = (state[at + 1] ?? 0) + hits;
  state[at + 1] = Math.max(0, sum);
  if (sum < 0) state[at + 2] = Math.max(0, (state[at + 2] ?? 0) + sum);
}
