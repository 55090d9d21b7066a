// The six counters of a rule, in typed arrays that many rules share: every decision adds to two of
// them, and as fields of an object they would become objects of their own once they are large.

/** Rules whose counters share an array, which is freed with the last of them. */
const RULES_PER_ARRAY = 64;

/** The counters of a rule: the last part of each one's name, and its field. */
export const RULE_STATISTICS = [
  { name: "total_hits", field: "totalHits" },
  { name: "over_limit", field: "overLimit" },
  { name: "near_limit", field: "nearLimit" },
  { name: "over_limit_with_local_cache", field: "overLimitWithLocalCache" },
  { name: "within_limit", field: "withinLimit" },
  { name: "shadow_mode", field: "shadowMode" },
] as const;

/** The six counters of a rule. Add with `+=` only. */
export class RuleStatistics {
  /**
   * `ratelimit.service.rate_limit.<key>`, cleaned; RULE_STATISTICS has the last part of each name.
   */
  readonly prefix: string;
  /** Whether the prefix contains request values. */
  readonly isDynamic: boolean;
  readonly #values: Float64Array;
  readonly #at: number;

  /** The counters are `values` from `at` on, in the order of RULE_STATISTICS. */
  constructor(name: { readonly prefix: string; readonly isDynamic: boolean }, values: Float64Array, at: number) {
    this.prefix = name.prefix;
    this.isDynamic = name.isDynamic;
    this.#values = values;
    this.#at = at;
  }

  get totalHits(): number {
    return this.#values[this.#at] ?? 0;
  }

  set totalHits(value: number) {
    this.#values[this.#at] = value;
  }

  get overLimit(): number {
    return this.#values[this.#at + 1] ?? 0;
  }

  set overLimit(value: number) {
    this.#values[this.#at + 1] = value;
  }

  get nearLimit(): number {
    return this.#values[this.#at + 2] ?? 0;
  }

  set nearLimit(value: number) {
    this.#values[this.#at + 2] = value;
  }

  get overLimitWithLocalCache(): number {
    return this.#values[this.#at + 3] ?? 0;
  }

  set overLimitWithLocalCache(value: number) {
    this.#values[this.#at + 3] = value;
  }

  get withinLimit(): number {
    return this.#values[this.#at + 4] ?? 0;
  }

  set withinLimit(value: number) {
    this.#values[this.#at + 4] = value;
  }

  get shadowMode(): number {
    return this.#values[this.#at + 5] ?? 0;
  }

  set shadowMode(value: number) {
    this.#values[this.#at + 5] = value;
  }
}

/** Creates the counters of rules, at zero. */
export class RuleStatisticsFactory {
  #values = new Float64Array(0);
  #used = 0;

  create(prefix: string, isDynamic: boolean): RuleStatistics {
    if (this.#used === this.#values.length) {
      this.#values = new Float64Array(RULES_PER_ARRAY * RULE_STATISTICS.length);
      this.#used = 0;
    }
    const at = this.#used;
    this.#used += RULE_STATISTICS.length;
    return new RuleStatistics({ prefix, isDynamic }, this.#values, at);
  }
}
