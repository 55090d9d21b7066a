// Compiles configurations to rules that carry their counters in the statistics store.
import type { RateLimitConfigModel } from "@weir/limits/model/model";
import { compileRules, type RuleSet } from "@weir/limits/rules/compile";
import type { RuleStatistics } from "../statistics/rule-statistics.ts";
import type { StatisticsStore } from "../statistics/statistics-store.ts";

/** Rules with their counters. */
export type CountedRules = RuleSet<RuleStatistics>;

/**
 * Compiles configurations that `findSetProblems` found nothing in. The statistics of all rules exist
 * at zero afterwards; those of unchanged keys continue, those of keys that are gone are dropped.
 * Call it only for a set that becomes active.
 */
export function compileCountedRules(
  configs: readonly RateLimitConfigModel[],
  statistics: StatisticsStore,
): CountedRules {
  const paths: string[] = [];
  const rules = compileRules(configs, {
    rule(path) {
      paths.push(path);
      return statistics.rule(path);
    },
    dynamic: (key, path) => statistics.dynamicRule(key) ?? statistics.rule(path),
  });
  statistics.replaceRules(paths);
  return rules;
}
