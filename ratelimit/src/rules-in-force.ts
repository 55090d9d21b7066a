// The one reference to the rules in force: what configuration sources replace and decisions read.
// It validates and compiles as a whole; a set that does not hold changes nothing.
import { findSetProblems } from "@weir/limits/validate/validate";
import type { RateLimitConfigModel } from "@weir/limits/model/model";

import type { ConfigListener } from "./config/config-source.ts";
import { ConfigError } from "./config/errors.ts";
import type { Health } from "./health/health.ts";
import { compileRules } from "./rules/compile.ts";
import type { RuleSet } from "./rules/rule-set.ts";
import type { ServiceStatistics } from "./statistics/service-statistics.ts";
import type { StatisticsStore } from "./statistics/statistics-store.ts";

/** What a load touches. */
export interface RulesInForceDeps {
  readonly store: StatisticsStore;
  readonly statistics: ServiceStatistics;
  readonly health: Health;
}

/** The rules in force. */
export interface RulesInForce extends ConfigListener {
  /** The set in force; undefined before the first good load. */
  readonly current: () => RuleSet | undefined;
  /** Resolves at the first good load. */
  readonly first: Promise<void>;
}

/** Makes the reference, with nothing in force yet. */
export function createRulesInForce(deps: RulesInForceDeps, options: { readonly mergeDomains: boolean }): RulesInForce {
  const first = Promise.withResolvers<void>();
  let rules: RuleSet | undefined;
  return {
    current: () => rules,
    first: first.promise,
    apply(configs) {
      const error = findError(configs, options);
      if (error !== undefined) {
        deps.statistics.configLoadError.add(1);
        return error;
      }
      rules = compileRules(configs, { statistics: deps.store });
      deps.statistics.configLoadSuccess.add(1);
      deps.health.set("config", rules.domains > 0);
      first.resolve();
      return undefined;
    },
    reject() {
      deps.statistics.configLoadError.add(1);
    },
  };
}

function findError(
  configs: readonly RateLimitConfigModel[],
  options: { readonly mergeDomains: boolean },
): ConfigError | undefined {
  const [problem] = findSetProblems(configs, options);
  if (problem === undefined) return undefined;
  return new ConfigError("CONFIG_INVALID", `${configs[problem.config]?.name ?? ""}: ${problem.message}`, { problem });
}
