// Counts in steps of time.
import type { RuleName } from "./rule-name.ts";

/** Series of a rule, by the statistics that they are of. */
export const RULE_SERIES = ["totalHits", "overLimit", "nearLimit", "shadowMode"] as const;

/** The same of some rule in some steps. */
export interface ObservedRule {
  readonly name: RuleName;
  /** In the order of RULE_SERIES, each with a number for each step. */
  readonly series: readonly (readonly number[])[];
}

/** The counts in some steps of time. */
export interface Observed {
  /** Beginning of the first step. */
  readonly startSeconds: number;
  readonly stepSeconds: number;
  /** Each with a number for each step. */
  readonly decisions: readonly number[];
  readonly rejections: readonly number[];
  readonly errors: readonly number[];
  /** For each bucket of response times. */
  readonly latencies: readonly (readonly number[])[];
  readonly rules: readonly ObservedRule[];
}

/** The same time, with nothing counted. */
export function withoutCounts(observed: Observed): Observed {
  const none = observed.decisions.map(() => 0);
  return { ...observed, decisions: none, rejections: none, errors: none, latencies: [], rules: [] };
}
