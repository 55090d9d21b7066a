// The keys that count most, of each rule: what the decider adds hits to. Hits over a limit are counted all; of the calls a
// share is sampled, so that this costs next to nothing. It bounds rules and keys, and keeps no request.
import type { Check, LimitedCheck } from "@weir/limits/classify/check";
import { pathsOf } from "@weir/limits/rules/limit-paths";
import type { Entry, Rule } from "@weir/limits/rules/rule";
import type { CountedRules } from "../config/counted-rules.ts";
import { areSameLevels, keyLevelsOf, type RuleKeyCounts, RuleKeys } from "./rule-keys.ts";
import type { RuleName } from "./rule-name.ts";

/** Most rules with keys, those that are used most. */
const RULES_MAX = 500;

/** Samples of a second above which calls are sampled half as often, and below a quarter of which twice as often. */
const SAMPLES_PER_SECOND = 500;

/** Largest number of calls of which one is sampled. */
const INTERVAL_MAX = 4096;

/** The part of a request that is read. */
export interface ObservedRequest {
  readonly domain: string;
  readonly descriptors: readonly { readonly entries: readonly Entry[]; readonly limit?: unknown }[];
}

export interface TopKeysOptions {
  /** TOP_KEYS: keys of a rule by each order; at least 1. */
  readonly capacity: number;
  /** The active rules. */
  readonly rules: () => CountedRules | undefined;
  /** A number from 0 up to but not including 1, such as Math.random. */
  readonly random: () => number;
}

/** The keys of all rules. */
export class TopKeys {
  /** Calls until the next one that is sampled: the decider counts it down. */
  untilSample = 1;
  readonly capacity: number;
  readonly #rules: TopKeysOptions["rules"];
  readonly #random: () => number;
  readonly #tables = new Map<string, RuleKeys>();
  /** The one that was used last, which the next call often needs, too. */
  #last: RuleKeys | undefined;
  /** Rules that name every value: they have one key only. */
  readonly #constant = new WeakSet<Rule>();
  /** One call of so many is sampled. */
  #interval = 1;
  #samples = 0;
  #sampledSeconds = 0;
  #replacedSeconds = 0;

  constructor({ capacity, rules, random }: TopKeysOptions) {
    this.capacity = capacity;
    this.#rules = rules;
    this.#random = random;
  }

  /** Adds a check that is over its limit, also in shadow mode. `statuses` are all of the call. */
  over(check: LimitedCheck, statuses: readonly Check[], request: ObservedRequest, nowSeconds: number): void {
    const hits = overHits(check);
    if (hits > 0) this.#add("overLimit", check, statuses.indexOf(check), request, hits, nowSeconds);
  }

  /** Adds the hits of a sampled call, for all that are not. */
  sample(statuses: readonly Check[], request: ObservedRequest, nowSeconds: number): void {
    const weight = this.#interval;
    this.#adjust(nowSeconds);
    // Uneven steps: calls that come in a pattern must not be sampled in step with it.
    this.untilSample = 1 + Math.floor(this.#random() * (2 * this.#interval - 1));
    for (const [index, check] of statuses.entries())
      if (check.kind !== "none" && check.hits > 0)
        this.#add("hits", check, index, request, check.hits * weight, nowSeconds);
  }

  /** The keys of those of the rules that have any. */
  read(names: readonly RuleName[], nowSeconds: number): readonly RuleKeyCounts[] {
    return names.flatMap((name) => {
      const table = this.#tableAt(name);
      return table === undefined ? [] : [{ ...table.read(nowSeconds), path: name.path }];
    });
  }

  /** The table of the rule that has the path, or a limit with it: those of one rule have the same keys. */
  #tableAt({ domain, path }: RuleName): RuleKeys | undefined {
    for (let end = path.length; end > 0; end = path.lastIndexOf(".", end - 1)) {
      const table = this.#tables.get(path.slice(0, end));
      const rule = table?.domain === domain ? this.#activeRule(table) : undefined;
      if (rule !== undefined && pathsOf(rule).includes(path)) return table;
    }
    return undefined;
  }

  /** The active rule with these keys, if its levels are the same: others could show values that these do not. */
  #activeRule({ domain, configured }: RuleKeys): Rule | undefined {
    const nodes =
      this.#rules()
        ?.domain(domain)
        ?.nodes(configured.map(({ composite }) => composite)) ?? [];
    return areSameLevels(configured, nodes) ? nodes.at(-1)?.rule : undefined;
  }

  /** Without an object for its parameters: it is called for every rejection. */
  #add(
    list: "overLimit" | "hits",
    check: Exclude<Check, { kind: "none" }>,
    index: number,
    request: ObservedRequest,
    hits: number,
    nowSeconds: number,
  ): void {
    const descriptor = request.descriptors[index];
    // The limit that a request carries is of no rule.
    if (descriptor === undefined || descriptor.limit !== undefined) return;
    const { rule } = check.match;
    let table = this.#last;
    if (table?.rule !== rule) {
      const known = this.#tables.get(rule.path);
      const isKnown = known?.rule === rule;
      table = isKnown ? known : this.#tableOf(rule, known, request.domain, descriptor.entries, nowSeconds);
      if (table === undefined) return;
      this.#last = table;
    }
    table.add(list, descriptor.entries, hits, nowSeconds);
  }

  #tableOf(
    rule: Rule,
    known: RuleKeys | undefined,
    domain: string,
    entries: readonly Entry[],
    nowSeconds: number,
  ): RuleKeys | undefined {
    if (this.#constant.has(rule)) return undefined;
    if (known !== undefined && known.domain !== domain) return undefined; // Two domains can have one path: the first has it.
    const steps = this.#rules()?.domain(domain)?.steps(entries) ?? [];
    if (steps.at(-1)?.node.rule !== rule) return undefined; // It was active when the call came.
    const configured = steps.map(({ node }) => node);
    // The keys of other levels would be shown under the names and by the rights of these.
    if (known !== undefined && areSameLevels(known.configured, configured)) {
      known.rule = rule;
      return known;
    }
    const levels = keyLevelsOf(steps);
    if (levels.length === 0) {
      this.#constant.add(rule);
      return undefined;
    }
    if (this.#tables.size >= RULES_MAX && !this.#dropLeastUsed(nowSeconds)) return undefined;
    const table = new RuleKeys({ domain, rule, configured, levels }, { capacity: this.capacity, nowSeconds });
    this.#tables.set(rule.path, table);
    return table;
  }

  /** At most once a second, because it looks at every rule: one that is used soon has more than the least used one. */
  #dropLeastUsed(nowSeconds: number): boolean {
    if (nowSeconds === this.#replacedSeconds) return false;
    this.#replacedSeconds = nowSeconds;
    let [least, leastUse] = ["", Infinity];
    for (const [path, table] of this.#tables) {
      const use = table.use(nowSeconds);
      if (use < leastUse) [least, leastUse] = [path, use];
    }
    this.#last = undefined;
    return this.#tables.delete(least);
  }

  #adjust(nowSeconds: number): void {
    if (nowSeconds !== this.#sampledSeconds) {
      if (this.#samples < SAMPLES_PER_SECOND / 4) this.#interval = Math.max(1, this.#interval / 2);
      this.#samples = 0;
      this.#sampledSeconds = nowSeconds;
    }
    this.#samples += 1;
    if (this.#samples <= SAMPLES_PER_SECOND) return;
    this.#interval = Math.min(INTERVAL_MAX, this.#interval * 2);
    this.#samples = 0;
  }
}

/** The part of the hits that is over the limit, as `over_limit` counts it. */
function overHits({ cell, decidedBy, hits, after, match: { rule } }: LimitedCheck): number {
  return cell !== undefined || decidedBy !== "count" || after < hits
    ? hits
    : Math.min(hits, after - rule.limit.requestsPerUnit);
}
