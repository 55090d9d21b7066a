// Holds the active rules: configuration sources replace them, decisions read them. A set is
// validated and compiled as a whole; an invalid one changes nothing.
import type { RateLimitConfigModel } from "@weir/limits/model/model";
import { findSetProblems } from "@weir/limits/validate/validate";

import type { ConfigListener } from "../config/config-source.ts";
import { ConfigError } from "../config/errors.ts";
import type { Health } from "../health/health.ts";
import type { ServiceStatistics } from "../statistics/service-statistics.ts";
import type { StatisticsStore } from "../statistics/statistics-store.ts";
import { compileCountedRules, type CountedRules } from "../config/counted-rules.ts";

export interface ActiveRulesDeps {
  readonly store: StatisticsStore;
  readonly statistics: ServiceStatistics;
  readonly health: Health;
  /** Makes each set active in the workers too; resolves when all have loaded it. Never rejects. */
  readonly distribute?: ((configs: readonly RateLimitConfigModel[]) => Promise<void>) | undefined;
}

/** The active rules; none before the first valid configuration. */
export class ActiveRules implements ConfigListener {
  readonly #deps: ActiveRulesDeps;
  readonly #options: { readonly mergeDomains: boolean };
  readonly #first = Promise.withResolvers<void>();
  /** See ConfigListener. */
  readonly settled: (() => Promise<void>) | undefined;
  #rules: CountedRules | undefined;
  #distributed: Promise<void> = Promise.resolve();

  constructor(deps: ActiveRulesDeps, options: { readonly mergeDomains: boolean }) {
    this.#deps = deps;
    this.#options = options;
    this.settled = deps.distribute && (() => this.#distributed);
  }

  /** The active set; undefined before the first valid configuration. */
  readonly current = (): CountedRules | undefined => this.#rules;

  /** Resolves at the first valid configuration. */
  get first(): Promise<void> {
    return this.#first.promise;
  }

  apply(configs: readonly RateLimitConfigModel[]): ConfigError | undefined {
    const { store, statistics, health, distribute } = this.#deps;
    const [problem] = findSetProblems(configs, this.#options);
    if (problem !== undefined) {
      this.#countRejected();
      const name = configs[problem.config]?.name ?? "";
      return new ConfigError("CONFIG_INVALID", `${name}: ${problem.message}`, { problem });
    }
    this.#rules = compileCountedRules(configs, store);
    if (distribute !== undefined) this.#distributed = distribute(configs);
    statistics.configLoadSuccess.add(1);
    statistics.configRejected.set(0);
    health.set("config", this.#rules.domains > 0);
    this.#first.resolve();
    return undefined;
  }

  reject(_error: ConfigError): void {
    this.#countRejected();
  }

  #countRejected(): void {
    this.#deps.statistics.configLoadError.add(1);
    this.#deps.statistics.configRejected.set(1);
  }
}
