// The counters of a rule.

/** The counters of a rule: the last part of each one's name, and its field. */
export const RULE_STATISTICS = [
  { name: "total_hits", field: "totalHits" },
  { name: "over_limit", field: "overLimit" },
  { name: "near_limit", field: "nearLimit" },
  { name: "over_limit_with_local_cache", field: "overLimitWithLocalCache" },
  { name: "within_limit", field: "withinLimit" },
  { name: "shadow_mode", field: "shadowMode" },
  { name: "total_negative_hits", field: "totalNegativeHits" },
] as const;

/** The counters of a rule as the observer has seen them. */
export interface SeenRule {
  readonly sum: number;
  readonly values: readonly number[];
}

/** The properties that distinguish the counters of a rule from others. */
export type RuleStatisticsName = Pick<RuleStatistics, "prefix" | "path" | "isDynamic" | "limit">;

/** The counters of a rule, or of one of its limits if it has several. Add with `+=` only. */
export class RuleStatistics {
  /**
   * `ratelimit.service.rate_limit.<key>`, cleaned; RULE_STATISTICS has the last part of each name.
   */
  readonly prefix: string;
  /** True if the prefix contains request values. */
  readonly isDynamic: boolean;
  /** The name of the limit, in which the prefix ends; undefined when the rule has one limit. */
  readonly limit: string | undefined;
  /** How many statistics keys have it: cleaning can give several one name. */
  keys = 0;
  totalHits = 0;
  overLimit = 0;
  nearLimit = 0;
  overLimitWithLocalCache = 0;
  withinLimit = 0;
  shadowMode = 0;
  totalNegativeHits = 0;
  /** The path of the rule, as configured; of several rules with one prefix the path of the first. */
  readonly path: string;
  /** The counters as the observer has seen them; undefined before anything was counted. */
  observed: SeenRule | undefined = undefined;

  constructor({ prefix, path, isDynamic, limit }: RuleStatisticsName) {
    this.prefix = prefix;
    this.path = path;
    this.isDynamic = isDynamic;
    this.limit = limit;
  }
}
