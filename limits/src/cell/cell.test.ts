// The bounds that limits promise, over random calls in virtual time.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type CellRule, type CellState, countInCell, emptyCell, fits, msUntilFits, roomIn } from "./cell.ts";
import { limit } from "../rules/configuration.suite.ts";
import { cellRuleOf } from "./cell-rule.ts";
import { CASES_BEGIN_SECONDS } from "./limit-cases.suite.ts";
import {
  expectWithin,
  greedyCalls,
  RANDOM_CALLS,
  RANDOM_RULE,
  type RandomCall,
  randomVisits,
  SMALL_RULE,
} from "./random-cells.suite.ts";

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

/** How much earlier the tolerance for sums of fractions may let a call pass, with a limit of 1 per hour. */
const EARLY_MS = 10;

describe("countInCell()", () => {
  it("admits in any span no more than each limit promises", () => {
    fc.assert(
      fc.property(fc.oneof(SMALL_RULE, RANDOM_RULE), randomVisits(0), (rule, visits) =>
        expectWithin(rule, passed(rule, greedyCalls(rule, visits))),
      ),
      { numRuns: 1000 },
    );
  });

  it("lets a rejected call pass when the reset says so, and not before", () => {
    fc.assert(
      fc.property(
        RANDOM_RULE,
        fc.array(RANDOM_CALLS.positive, { minLength: 1, maxLength: 60, size: "max" }),
        (rule, calls) => {
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
            if (waitMs > EARLY_MS)
              expect(passesAt(rule, state, nowMs + Math.floor(waitMs) - EARLY_MS, hits)).toBe(false);
            expect(passesAt(rule, state, nowMs + Math.ceil(waitMs), hits)).toBe(true);
            return;
          }
        },
      ),
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

describe("cellRuleOf()", () => {
  it.each([
    { monthDay: undefined, keyEnd: "_~f1month@UTC" },
    { monthDay: 1, keyEnd: "_~f1month@UTC" },
    { monthDay: 15, keyEnd: "_~f1month15@UTC" },
  ])("ends keys of months from the 1st on alike, named or not: $monthDay", ({ monthDay, keyEnd }) => {
    const model = limit(5, "month", {
      timeZone: "UTC",
      countRejectedHits: false,
      ...(monthDay !== undefined && { monthDay }),
    });
    const windowSeconds = 2_592_000;
    const rule = cellRuleOf([
      { model, limit: { requestsPerUnit: 5, unit: 5, name: "" }, windowSeconds, calendar: undefined },
    ]);
    expect(rule?.keyEnd).toBe(keyEnd);
  });
});

function passesAt(rule: CellRule, state: CellState, nowMs: number, hits: number): boolean {
  return countInCell(rule, [...state], { nowMs, hits, calls: 1 }) > 0;
}
