// The bounds of cells in plain counters, over random calls that meet each other in virtual time.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type CellRule, countInCell, emptyCell, TOKEN_BUCKET } from "./cell.ts";
import { CASES_BEGIN_SECONDS } from "./limit-cases.suite.ts";
import { countersAt, decideByCounts } from "./plain-counters.ts";
import {
  expectWithin,
  greedyCalls,
  RANDOM_CALLS,
  RANDOM_RULE,
  randomVisits,
  SMALL_RULE,
  type VisitCall,
} from "./random-cells.suite.ts";

/** Decides calls as a store does that adds, answers, and takes back later; each with its result. */
function decided(rule: CellRule, calls: readonly VisitCall[]) {
  const counters = new Map<string, number>();
  const add = (keyEnd: string, hits: number): void => void counters.set(keyEnd, (counters.get(keyEnd) ?? 0) + hits);
  let takingBack: { readonly at: number; readonly keyEnds: readonly string[]; readonly hits: number }[] = [];
  let nowMs = CASES_BEGIN_SECONDS * 1000;
  return calls.map(({ afterMs, hits, others }, number) => {
    nowMs += afterMs;
    for (const due of takingBack.filter(({ at }) => at <= number))
      for (const keyEnd of due.keyEnds) add(keyEnd, -due.hits);
    takingBack = takingBack.filter(({ at }) => at > number);
    const ends = rule.limits.map((limit, index) => countersAt(limit, index, nowMs));
    const counts = ends.map(({ keyEnd, keyEndBefore = "" }) => ({
      hits: counters.get(keyEnd) ?? 0,
      before: counters.get(keyEndBefore) ?? 0,
    }));
    const keyEnds = ends.map(({ keyEnd }) => keyEnd);
    for (const keyEnd of keyEnds) add(keyEnd, hits);
    const { passes, state } = decideByCounts(rule, counts, { nowMs, hits });
    if (!passes && !rule.countsRejected) takingBack.push({ at: number + 1 + others, keyEnds, hits });
    return { nowMs, hits, passes, state };
  });
}

describe("decideByCounts()", () => {
  it("admits in any span no more than each limit promises, although calls see what is being rejected", () => {
    fc.assert(
      fc.property(fc.oneof(SMALL_RULE, RANDOM_RULE), randomVisits(2), (rule, visits) => {
        const admitted = decided(rule, greedyCalls(rule, visits)).filter(({ passes }) => passes);
        expectWithin(
          rule,
          admitted.map(({ nowMs, hits }) => ({ afterMs: nowMs, hits })),
        );
      }),
      { numRuns: 1000 },
    );
  });

  it("decides and answers as a cell does when calls do not meet, but in buckets", () => {
    const rules = RANDOM_RULE.filter(({ limits }) => limits.every(({ algorithm }) => algorithm !== TOKEN_BUCKET));
    fc.assert(
      fc.property(rules, randomVisits(0), (rule, visits) => {
        const cell = emptyCell(rule);
        for (const { nowMs, hits, passes, state } of decided(rule, greedyCalls(rule, visits))) {
          const expected = countInCell(rule, cell, { nowMs, hits, calls: 1 }) > 0;
          expect({ passes, state }).toEqual({ passes: expected, state: [...cell] });
        }
      }),
      { numRuns: 50 },
    );
  });

  it("lets a bucket pass its burst, and then nearly its rate", () => {
    const rule = RANDOM_CALLS.minuteBucket;
    const steady = decided(
      rule,
      Array.from({ length: 3600 }, (_, index) => ({ afterMs: index === 0 ? 0 : 1000, hits: 1, others: 0 })),
    );
    expect(steady.slice(0, 11).map(({ passes }) => passes)).toEqual([...Array<boolean>(10).fill(true), false]);
    // A cell lets 10 + 599 pass in an hour.
    expect(steady.filter(({ passes }) => passes)).toHaveLength(541);
  });
});
