// Compiles configurations to rules that carry their counters in the statistics store.
import { endsStep, inOneGo } from "@weir/limits/model/in-one-go";
import type { RateLimitConfigModel } from "@weir/limits/model/model";
import { compileSteps, type RuleSet } from "@weir/limits/rules/compile";
import { pathsOf } from "@weir/limits/rules/limit-paths";
import type { RuleStatistics } from "../statistics/rule-statistics.ts";
import type { StatisticsStore } from "../statistics/statistics-store.ts";

/** Rules with their counters. */
export type CountedRules = RuleSet<RuleStatistics>;

/** Compiles a first set in one go. */
export function compileCountedRules(
  configs: readonly RateLimitConfigModel[],
  statistics: StatisticsStore,
): CountedRules {
  return inOneGo(countedRulesSteps(configs, statistics));
}

/**
 * Compiles configurations that `findSetProblems` found nothing in, in steps. The statistics of all rules exist
 * afterwards, at zero if they are new; domains that have not changed are those of the set before. Call it only for a
 * set that becomes active, and `dropStatisticsSteps` then.
 */
export function countedRulesSteps(
  configs: readonly RateLimitConfigModel[],
  statistics: StatisticsStore,
  before?: CountedRules,
): Generator<undefined, CountedRules> {
  const attach = {
    rule: (path: string, limit?: string) => statistics.addRule(path, limit),
    dynamic: (key: string, path: string, limit?: string) =>
      statistics.dynamicRule(key, path, limit) ?? statistics.rule(path, limit),
  };
  return compileSteps(configs, attach, before);
}

/**
 * Drops the statistics of rules that are in the set before and not in the one after it, in steps. Call it once for each
 * set: the store counts the rules of a path, because that of `c` in the domain `a.b` is that of `b.c` in the domain `a`.
 */
export function* dropStatisticsSteps(
  statistics: StatisticsStore,
  before: CountedRules | undefined,
  after: CountedRules,
): Generator<undefined, void> {
  let domains = 0;
  for (const rules of before?.all() ?? []) {
    if (endsStep((domains += 1))) yield;
    if (after.domain(rules.domain) === rules) continue;
    for (const rule of rules.rules) {
      for (const path of pathsOf(rule)) statistics.dropRule(path);
      yield;
    }
  }
}
