// The compiled form of the configuration in force: what a decision reads, never edited, replaced as
// a whole. Compiling is in compile.ts, walking in domain-rules.ts.
import type { JsonObject } from "@bufbuild/protobuf";
import type { RuleStatistics } from "../statistics/statistics-store.ts";

/** One pair of a request descriptor. */
export interface Entry {
  readonly key: string;
  readonly value: string;
}

/**
 * A limit as it is answered. `unit` is the wire number (SECOND 1 … WEEK 7), 0 for unlimited rules.
 */
export interface RuleLimit {
  readonly requestsPerUnit: number;
  readonly unit: number;
  readonly name: string;
}

/** A configured rule that has a `rate_limit`, or the limit that a request brought along. */
export interface Rule {
  /**
   * Domain and composite keys joined by dots, as configured: `domain.key_value.key2`;
   * `domain.override` for a request's own limit. Holds no request values.
   */
  readonly path: string;
  readonly limit: RuleLimit;
  /** Length of the window in seconds; 0 for unlimited rules. */
  readonly windowSeconds: number;
  readonly unlimited: boolean;
  readonly shadowMode: boolean;
  readonly quotaMode: boolean;
  /** Names of rules that this one switches off within a call. */
  readonly replaces: readonly string[];
}

/**
 * A rule found for a descriptor. Rules that need nothing of the request have one match for all
 * requests.
 */
export interface RuleMatch {
  readonly rule: Rule;
  /**
   * The statistics key: the rule's path, or with request values where value_to_metric or
   * detailed_metric ask for them.
   */
  readonly statisticsKey: string;
  /**
   * The counters under that key (or under the rule's path, once the number of dynamic keys has
   * reached its limit).
   */
  readonly statistics: RuleStatistics;
  /**
   * Per entry, the text that stands for its value in the counter key because of share_threshold, or
   * ""; undefined when all are "".
   */
  readonly sharedValues: readonly string[] | undefined;
  /** Metadata of the rule for the answer. */
  readonly metadata: JsonObject | undefined;
}

/** The rules of one domain. */
export interface DomainRules {
  readonly domain: string;
  /** The rule for a descriptor's entries; undefined when there is none. */
  match(entries: readonly Entry[]): RuleMatch | undefined;
  /**
   * The match of a limit that the request brought along; undefined when its unit is not one of 1 to
   * 7.
   */
  override(
    entries: readonly Entry[],
    limit: { readonly requestsPerUnit: number; readonly unit: number },
  ): RuleMatch | undefined;
}

/** All rules in force. Immutable, so a call that began with one set ends with it. */
export interface RuleSet {
  /** Number of domains: 0 is a valid, empty configuration. */
  readonly domains: number;
  /** The rules of a domain; undefined when no configuration names it. */
  domain(name: string): DomainRules | undefined;
  /**
   * One line per rule with a limit, in configured order: the text of /rlconfig. "" when there are
   * none.
   */
  dump(): string;
}
