// Holds the active rules: configuration sources replace them, decisions read them. A set becomes active as a whole, by
// one reference; an invalid one changes nothing. Its changes are validated and compiled in slices, between which
// calls are decided by the rules before.
import type { RateLimitConfigModel } from "@weir/limits/model/model";
import { changedDomainSteps } from "@weir/limits/rules/compile";
import { firstCellSteps } from "@weir/limits/validate/plain-counts";
import { type ConfigSetProblem, type SetOptions, setProblemSteps } from "@weir/limits/validate/validate";

import type { ConfigListener } from "../config/config-source.ts";
import { ConfigError } from "../config/errors.ts";
import { timeSlicedLoad } from "../config/time-sliced-load.ts";
import type { Health } from "../health/health.ts";
import type { ServiceStatistics } from "../statistics/service-statistics.ts";
import type { StatisticsStore } from "../statistics/statistics-store.ts";
import { type CountedRules, countedRulesSteps, dropStatisticsSteps } from "../config/counted-rules.ts";

export interface ActiveRulesDeps {
  readonly store: StatisticsStore;
  readonly statistics: ServiceStatistics;
  readonly health: Health;
  /** Why the store counts nothing but plain counts, if it does. Never rejects. */
  readonly cellsProblem?: (() => Promise<string | undefined> | undefined) | undefined;
  /** Makes each set active in the workers too; resolves when all have loaded it. Never rejects. */
  readonly distribute?: ((configs: readonly RateLimitConfigModel[]) => Promise<void>) | undefined;
}

/** The active rules; none before the first valid configuration. */
export class ActiveRules implements ConfigListener {
  readonly #deps: ActiveRulesDeps;
  readonly #options: { readonly mergeDomains: boolean };
  readonly #first = Promise.withResolvers<void>();
  #rules: CountedRules | undefined;
  /** The set that is being made active, if any. */
  #applied: Promise<unknown> = Promise.resolve();

  constructor(deps: ActiveRulesDeps, options: { readonly mergeDomains: boolean }) {
    this.#deps = deps;
    this.#options = options;
  }

  /** The active set; undefined before the first valid configuration. */
  readonly current = (): CountedRules | undefined => this.#rules;

  /** Resolves at the first valid configuration. */
  get first(): Promise<void> {
    return this.#first.promise;
  }

  apply(
    configs: readonly RateLimitConfigModel[],
    { isPartial } = { isPartial: false },
  ): Promise<ConfigError | undefined> {
    const applied = this.#applied.then(() => this.#apply(configs, isPartial));
    this.#applied = applied;
    return applied;
  }

  async #apply(configs: readonly RateLimitConfigModel[], isPartial: boolean): Promise<ConfigError | undefined> {
    const { store, statistics, health, distribute } = this.#deps;
    const before = this.#rules;
    const options = { ...this.#options, changed: await timeSlicedLoad(changedDomainSteps(configs, before)) };
    const [problem = await this.#unsupported(configs, options)] = await timeSlicedLoad(
      setProblemSteps(configs, options),
    );
    if (problem !== undefined) {
      this.#countRejected();
      const name = configs[problem.config]?.name ?? "";
      return new ConfigError("CONFIG_INVALID", `${name}: ${problem.message}`, { problem });
    }
    const rules = await timeSlicedLoad(countedRulesSteps(configs, store, before));
    this.#rules = rules;
    statistics.configLoadSuccess.add(1);
    statistics.configRejected.set(0);
    if (!isPartial) {
      health.set("config", rules.domains > 0);
      this.#first.resolve();
    }
    await distribute?.(configs);
    await timeSlicedLoad(dropStatisticsSteps(store, before, rules));
    return undefined;
  }

  /** The first rule that the store cannot count. */
  async #unsupported(
    configs: readonly RateLimitConfigModel[],
    options: SetOptions,
  ): Promise<ConfigSetProblem | undefined> {
    const { cellsProblem } = this.#deps;
    if (cellsProblem === undefined) return undefined;
    const found = await timeSlicedLoad(firstCellSteps(configs, options));
    const problem = found && (await cellsProblem());
    return problem === undefined ? undefined : found && { ...found, message: `${found.message}: ${problem}` };
  }

  reject(_error: ConfigError): void {
    this.#countRejected();
  }

  #countRejected(): void {
    this.#deps.statistics.configLoadError.add(1);
    this.#deps.statistics.configRejected.set(1);
  }
}
