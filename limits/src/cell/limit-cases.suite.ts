// Cases of limits beyond plain counts, for tests over the pure arithmetic and over each store.
import type { RateLimitModel } from "../model/model.ts";
import { limit } from "../rules/configuration.suite.ts";

/** The moment 0 of the cases: 2026-11-23 15:00:00 UTC, in seconds. */
export const CASES_BEGIN_SECONDS = 1_795_446_000;

/** One call: when, its hits, the answer (O or X, remaining, reset in seconds). */
export type CaseStep = readonly [atSeconds: number, hits: number, code: "O" | "X", remaining: number, reset: number];

/** Calls to one new key. */
export interface LimitCase {
  readonly name: string;
  readonly limits: readonly RateLimitModel[];
  readonly steps: readonly CaseStep[];
}

const sliding = { algorithm: "sliding_window" } as const;
const bucket = { algorithm: "token_bucket" } as const;
const counting = { countRejectedHits: true } as const;
const SHARED = [
  limit(5, "second", { name: "burst" }),
  limit(60, "second", { name: "half", unitMultiplier: 30 }),
  limit(100, "minute", { name: "five", unitMultiplier: 5 }),
];

function each(times: readonly number[], step: (at: number) => CaseStep): readonly CaseStep[] {
  return times.map(step);
}

/** Whole numbers from the first to the last. */
function range(first: number, last: number): readonly number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

/** Every case whose answers are numbers of a table. */
export const LIMIT_CASES: readonly LimitCase[] = [
  {
    name: "a fixed window of five minutes",
    limits: [limit(5, "minute", { unitMultiplier: 5 })],
    steps: [
      [0, 1, "O", 4, 300],
      [299, 4, "O", 0, 1],
      [299.9, 1, "X", 0, 1],
      [300, 1, "O", 4, 300],
      [300, 7, "X", 0, 300],
      [302, 0, "X", 0, 298],
    ],
  },
  {
    name: "a fixed window of 30 seconds",
    limits: [limit(60, "second", { unitMultiplier: 30 })],
    steps: [
      [44, 1, "O", 59, 16],
      [60, 61, "X", 0, 30],
    ],
  },
  { name: "two weeks", limits: [limit(5, "week", { unitMultiplier: 2 })], steps: [[0, 1, "O", 4, 810_000]] },
  {
    name: "a sliding window",
    limits: [limit(10, "minute", sliding)],
    steps: [
      [0, 10, "O", 0, 120],
      [30, 1, "X", 0, 36],
      [60, 1, "X", 0, 6],
      [66, 1, "O", 0, 114],
      // 1 + 10 × 42/60 = 8 hits are used 3 s later.
      [75, 2, "X", 1, 3],
      [75, 1, "O", 0, 105],
      [90, 0, "O", 3, 90],
      [120, 1, "O", 7, 120],
      [240, 1, "O", 9, 120],
    ],
  },
  {
    name: "a sliding window, from its end",
    limits: [limit(10, "minute", sliding)],
    steps: [
      [0, 11, "X", 10, 1],
      [59, 10, "O", 0, 61],
      [59, 0, "X", 0, 7],
      [65.999, 1, "X", 0, 1],
      [66, 1, "O", 0, 114],
      [119.999, 9, "X", 8, 1],
      [119.999, 8, "O", 0, 61],
    ],
  },
  {
    name: "a bucket",
    limits: [limit(10, "minute", bucket)],
    steps: [
      [0, 10, "O", 0, 60],
      [0, 1, "X", 0, 6],
      [5.999, 1, "X", 0, 1],
      [6, 1, "O", 0, 60],
      [9, 0, "X", 0, 3],
      [12, 0, "O", 1, 54],
      [72, 11, "X", 10, 1],
      [72, 10, "O", 0, 60],
    ],
  },
  {
    name: "a bucket with a burst",
    limits: [limit(10, "minute", { ...bucket, burst: 3 })],
    steps: [
      [0, 1, "O", 2, 6],
      [0, 2, "O", 0, 18],
      [0, 1, "X", 0, 6],
      [6, 1, "O", 0, 18],
      [6, 2, "X", 0, 12],
      [600, 3, "O", 0, 18],
      [600, 4, "X", 0, 18],
    ],
  },
  {
    name: "a bucket of one an hour",
    limits: [limit(1, "hour", bucket)],
    steps: [
      [0, 1, "O", 0, 3600],
      [3599.5, 1, "X", 0, 1],
      [3600, 1, "O", 0, 3600],
    ],
  },
  {
    name: "a fast bucket with a small burst",
    limits: [limit(2000, "second", { ...bucket, burst: 100 })],
    steps: [
      [0, 100, "O", 0, 1],
      [0.001, 2, "O", 0, 1],
      [0.001, 1, "X", 0, 1],
    ],
  },
  {
    name: "tokens that are counted in any case",
    limits: [limit(1000, "minute", { ...bucket, ...counting })],
    steps: [
      [0, 0, "O", 1000, 1],
      [0, 700, "O", 300, 42],
      [1, 0, "O", 316, 41],
      [1, 800, "X", 0, 77],
      [2, 0, "X", 0, 29],
      [30, 0, "X", 0, 1],
      [31.5, 0, "O", 25, 59],
    ],
  },
  {
    name: "tokens that are not counted when they do not fit",
    limits: [limit(1000, "minute", bucket)],
    steps: [
      [0, 0, "O", 1000, 1],
      [0, 700, "O", 300, 42],
      [1, 0, "O", 316, 41],
      [1, 800, "X", 316, 29],
      [1, 0, "O", 316, 41],
    ],
  },
  {
    name: "hits given back to a fixed window",
    limits: [limit(50, "second")],
    steps: [
      [0, 5, "O", 45, 1],
      [0, -3, "O", 48, 1],
      [0, 1, "O", 47, 1],
      [0, -100, "O", 50, 1],
    ],
  },
  {
    name: "hits given back to a key without any",
    limits: [limit(50, "second", { ...sliding, ...counting })],
    steps: [[0, -1, "O", 50, 1]],
  },
  {
    name: "hits given back to a bucket",
    limits: [limit(10, "minute", { ...bucket, ...counting })],
    steps: [
      [0, 10, "O", 0, 60],
      [0, -4, "O", 4, 36],
      [0, 4, "O", 0, 60],
    ],
  },
  {
    name: "hits given back to a sliding window",
    limits: [limit(10, "minute", { ...sliding, ...counting })],
    steps: [
      [50, 8, "O", 2, 70],
      [70, -3, "O", 5, 50],
      [70, -6, "O", 10, 1],
    ],
  },
  {
    name: "hits given back to a bucket that does not count what it rejects",
    limits: [limit(10, "minute", bucket)],
    steps: [
      [0, 10, "O", 0, 60],
      [0, -1, "O", 0, 60],
      [0, 1, "X", 0, 6],
    ],
  },
  {
    name: "three limits: the short one rejects",
    limits: SHARED,
    steps: [
      [0, 5, "O", 0, 1],
      [0.5, 1, "X", 0, 1],
      [1, 1, "O", 4, 1],
    ],
  },
  {
    name: "three limits: the second rejects",
    limits: SHARED,
    steps: [
      [0, 5, "O", 0, 1],
      [1, 1, "O", 4, 1],
      ...each(range(2, 11), (at) => [at, 5, "O", 0, 1]),
      [13, 4, "O", 0, 17],
      [13, 1, "X", 0, 17],
    ],
  },
  {
    name: "three limits: the third rejects, until windows begin together",
    limits: SHARED,
    steps: [
      [0, 5, "O", 0, 1],
      [1, 1, "O", 4, 1],
      ...each(range(2, 11), (at) => [at, 5, "O", 0, 1]),
      [13, 4, "O", 0, 17],
      ...each(range(30, 36), (at) => [at, 5, "O", 0, 1]),
      [37, 5, "O", 0, 1],
      [38, 1, "X", 0, 262],
      [300, 5, "O", 0, 1],
    ],
  },
];
