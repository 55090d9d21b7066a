// The bounds that limits promise, over random calls in virtual time.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type CellRule, type CellState, countInCell, emptyCell, fits, msUntilFits, roomIn } from "./cell.ts";
import { CASES_BEGIN_SECONDS } from "./limit-cases.suite.ts";
import { RANDOM_CALLS, RANDOM_RULE, type RandomCall } from "./random-cells.suite.ts";

/** Calls that pass, one after another, each with its time and its hits. */
function passed(rule: CellRule, calls: readonly RandomCall[]): readonly RandomCall[] {
  const state = emptyCell(rule);
  let nowMs = CASES_BEGIN_SECONDS * 1000;
  const found: RandomCall[] = [];
  for (const { afterMs, hits } of calls) {
    nowMs += afterMs;
    if (countInCell(rule, state, { nowMs, hits, calls: 1 }) > 0) found.push({ afterMs: nowMs, hits });
  }
  return found;
}

/** The most hits that were admitted in any span of so many milliseconds, its end not included. */
function mostIn(spanMs: number, calls: readonly RandomCall[]): number {
  let most = 0;
  calls.forEach(({ afterMs: fromMs }, first) => {
    let sum = 0;
    for (const { afterMs: atMs, hits } of calls.slice(first)) if (atMs - fromMs < spanMs) sum += hits;
    most = Math.max(most, sum);
  });
  return most;
}

/** How much earlier the tolerance for sums of fractions may let a call pass, with a limit of 1 per hour. */
const EARLY_MS = 10;

/** Hits that fit in by the tolerance for sums of fractions. */
const ROUNDING = 1e-3;

describe("countInCell()", () => {
  it("admits in any span no more than each limit promises", () => {
    fc.assert(
      fc.property(
        RANDOM_RULE,
        fc.array(RANDOM_CALLS.positive, { maxLength: 60 }),
        fc.double({ min: 0.01, max: 1, noNaN: true }),
        (rule, calls, share) => {
          const admitted = passed(rule, calls);
          for (const { algorithm, windowMs, capacity, limit } of rule.limits) {
            const spanMs = windowMs * share;
            // Edges of windows: of two fixed windows a span may meet both.
            const most =
              [2 * capacity, capacity * (1 + share), capacity + limit.requestsPerUnit * share][algorithm] ?? 0;
            expect(mostIn(spanMs, admitted)).toBeLessThanOrEqual(most + ROUNDING);
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  it("lets a rejected call pass when the reset says so, and not before", () => {
    fc.assert(
      fc.property(RANDOM_RULE, fc.array(RANDOM_CALLS.positive, { minLength: 1, maxLength: 60 }), (rule, calls) => {
        const state = emptyCell(rule);
        let nowMs = CASES_BEGIN_SECONDS * 1000;
        for (const { afterMs, hits } of calls) {
          nowMs += afterMs;
          if (countInCell(rule, state, { nowMs, hits, calls: 1 }) > 0) continue;
          if (rule.limits.some(({ capacity }) => hits > capacity)) continue;
          const waitMs = Math.max(
            ...rule.limits.map((limit, index) =>
              fits(roomIn(limit, state, index, nowMs), hits) ? 0 : msUntilFits(limit, state, index, nowMs, hits),
            ),
          );
          if (waitMs > EARLY_MS) expect(passesAt(rule, state, nowMs + Math.floor(waitMs) - EARLY_MS, hits)).toBe(false);
          expect(passesAt(rule, state, nowMs + Math.ceil(waitMs), hits)).toBe(true);
          return;
        }
      }),
      { numRuns: 500 },
    );
  });

  it("forgets a state of a clock that was far ahead", () => {
    const rule = RANDOM_CALLS.minuteBucket;
    const nowMs = CASES_BEGIN_SECONDS * 1000;
    const state = emptyCell(rule);
    countInCell(rule, state, { nowMs: nowMs + 3_600_000, hits: 10, calls: 1 });
    expect(countInCell(rule, [...state], { nowMs, hits: 10, calls: 1 })).toBe(1);
    expect(countInCell(rule, [...state], { nowMs: nowMs + 3_540_000, hits: 1, calls: 1 })).toBe(0);
  });
});

function passesAt(rule: CellRule, state: CellState, nowMs: number, hits: number): boolean {
  return countInCell(rule, [...state], { nowMs, hits, calls: 1 }) > 0;
}
