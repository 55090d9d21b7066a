// Random limits in a cell and random calls, for tests of the arithmetic and of each store.
import fc from "fast-check";
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
  .map(({ algorithm, windowSeconds, requests, burst }) => ({
    model: limit(requests, "second", {
      algorithm,
      ...(algorithm === "token_bucket" && burst !== undefined && { burst }),
    }),
    limit: { requestsPerUnit: requests, unit: 1, name: "" },
    windowSeconds,
    calendar: undefined,
  }));

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

function ruleOf([first, ...others]: readonly CompiledLimit[], countRejectedHits: boolean): CellRule {
  if (first === undefined) throw new Error("A rule must have a limit");
  const rule = cellRuleOf([{ ...first, model: { ...first.model, countRejectedHits } }, ...others]);
  if (rule !== undefined) return rule;
  // A plain count has no cell: a bucket has.
  return ruleOf([{ ...first, model: { ...first.model, algorithm: "token_bucket" } }, ...others], countRejectedHits);
}
