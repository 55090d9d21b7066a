// Random limits in a cell and random calls, for tests of the arithmetic and of each store.
import fc from "fast-check";
import { expect } from "vitest";
import type { CellRule } from "./cell.ts";
import { cellRuleOf, type CompiledLimit } from "./cell-rule.ts";
import { limit } from "../rules/configuration.suite.ts";

/** A call so many milliseconds after the one before. */
export interface RandomCall {
  readonly afterMs: number;
  readonly hits: number;
}

const RANDOM_LIMIT: fc.Arbitrary<CompiledLimit> = fc
  .record({
    algorithm: fc.constantFrom("fixed_window", "sliding_window", "token_bucket"),
    windowSeconds: fc.constantFrom(1, 30, 60, 300, 3600),
    requests: fc.integer({ min: 1, max: 50 }),
    burst: fc.option(fc.integer({ min: 1, max: 100 }), { nil: undefined }),
  })
  .map(({ algorithm, windowSeconds, requests, burst }) => limitOf(algorithm, windowSeconds, requests, burst));

/** Largest capacity of a small rule. */
const SMALL_MAX = 12;

/** One small limit, whose bounds random calls can reach. */
export const SMALL_RULE: fc.Arbitrary<CellRule> = fc
  .record({
    algorithm: fc.constantFrom("fixed_window", "sliding_window", "token_bucket"),
    windowSeconds: fc.constantFrom(1, 60, 3600),
    requests: fc.integer({ min: 1, max: SMALL_MAX }),
    burst: fc.integer({ min: 1, max: SMALL_MAX }),
    countRejectedHits: fc.boolean(),
  })
  .map(({ algorithm, windowSeconds, requests, burst, countRejectedHits }) =>
    ruleOf([limitOf(algorithm, windowSeconds, requests, burst)], countRejectedHits),
  );

/** One to four limits, all of which count rejected hits or none. */
export const RANDOM_RULE: fc.Arbitrary<CellRule> = fc
  .tuple(fc.array(RANDOM_LIMIT, { minLength: 1, maxLength: 4 }), fc.boolean())
  .map(([limits, countRejectedHits]) => ruleOf(limits, countRejectedHits));

const AFTER_MS = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 2000 }), fc.integer({ min: 1, max: 400_000 }));

/** Kinds of calls. */
export const RANDOM_CALLS = {
  /** That count hits. */
  positive: fc.record({ afterMs: AFTER_MS, hits: fc.integer({ min: 1, max: 20 }) }),
  /** That count, ask or give back. */
  any: fc.record({ afterMs: AFTER_MS, hits: fc.integer({ min: -10, max: 20 }) }),
  minuteBucket: ruleOf(
    [
      {
        model: limit(10, "minute", { algorithm: "token_bucket" }),
        limit: { requestsPerUnit: 10, unit: 2, name: "" },
        windowSeconds: 60,
        calendar: undefined,
      },
    ],
    false,
  ),
};

/** A call of a visit, and how many others come before its hits are taken back where they do not fit. */
export interface VisitCall extends RandomCall {
  readonly others: number;
}

/** Times between visits of a client in parts of a window, and `others` of their calls, at most so many. */
export function randomVisits(othersMax: number): fc.Arbitrary<{ readonly percent: number; readonly others: number }[]> {
  const visit = fc.record({ percent: fc.integer({ min: 0, max: 60 }), others: fc.integer({ min: 0, max: othersMax }) });
  return fc.array(visit, { minLength: 10, maxLength: 20 });
}

/**
 * Calls of one hit by a client that asks at each visit until nothing more fits into a small rule: that finds the most
 * that passes.
 */
export function greedyCalls(
  { limits }: CellRule,
  visits: readonly { readonly percent: number; readonly others: number }[],
): readonly VisitCall[] {
  const [{ windowMs } = { windowMs: 0 }] = limits;
  return visits.flatMap(({ percent, others }) =>
    Array.from({ length: SMALL_MAX + 1 }, (_, index) => ({
      afterMs: index === 0 ? Math.floor((percent * windowMs) / 100) : 0,
      hits: 1,
      others,
    })),
  );
}

/** Hits that fit in by the tolerance for sums of fractions. */
const ROUNDING = 1e-3;

/**
 * Expects that of the admitted calls, whose `afterMs` are times, no more came between any two than each limit promises.
 */
export function expectWithin({ limits }: CellRule, admitted: readonly RandomCall[]): void {
  for (const { algorithm, windowMs, capacity, limit } of limits) {
    let excess = 0;
    admitted.forEach(({ afterMs: fromMs }, first) => {
      let sum = 0;
      for (const { afterMs: atMs, hits } of admitted.slice(first)) {
        const share = (atMs - fromMs) / windowMs;
        if (share >= 1) break;
        sum += hits;
        // Edges of windows: of two fixed windows a span may meet both.
        const most = [2 * capacity, capacity * (1 + share), capacity + limit.requestsPerUnit * share][algorithm] ?? 0;
        excess = Math.max(excess, sum - most);
      }
    });
    expect(excess).toBeLessThan(ROUNDING);
  }
}

function limitOf(algorithm: string, windowSeconds: number, requests: number, burst: number | undefined): CompiledLimit {
  const isBucket = algorithm === "token_bucket";
  return {
    model: limit(requests, "second", { algorithm, ...(isBucket && burst !== undefined && { burst }) }),
    limit: { requestsPerUnit: requests, unit: 1, name: "" },
    windowSeconds,
    calendar: undefined,
  };
}

function ruleOf([first, ...others]: readonly CompiledLimit[], countRejectedHits: boolean): CellRule {
  if (first === undefined) throw new Error("A rule must have a limit");
  const rule = cellRuleOf([{ ...first, model: { ...first.model, countRejectedHits } }, ...others]);
  if (rule !== undefined) return rule;
  // A plain count has no cell: a bucket has.
  return ruleOf([{ ...first, model: { ...first.model, algorithm: "token_bucket" } }, ...others], countRejectedHits);
}
