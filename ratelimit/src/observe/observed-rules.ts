// The series of the rules that are used most, from the statistics of all rules.
import { pathsOf } from "@weir/limits/rules/limit-paths";
import type { CountedRules } from "../config/counted-rules.ts";
import type { RuleStatistics } from "../statistics/rule-statistics.ts";
import { type ObservedRule, RULE_SERIES } from "./observed.ts";
import type { RuleName } from "./rule-name.ts";
import { Series, STEPS } from "./series.ts";

/** Most rules with series. */
const RULES_MAX = 500;

/** Most rules that one sweep may replace, because each search for the least used looks at all. */
const REPLACED_MAX = 50;

/** The factor of a rule's use after a step: a rule of the past minute wins over one of ten minutes ago. */
const USE_DECAY = 0.8;

/** Worth of a hit over the limit in hits: a rule that rejects is what readers look for. */
const OVER_LIMIT_WORTH = 10;

/** A rule with series. */
interface Entry {
  readonly path: string;
  /** Undefined until its domain is known. */
  name: RuleName | undefined;
  readonly series: Series;
  /** When it last counted. */
  step: number;
  use: number;
}

/** The rules. A sweep is `begin`, `visit` for the statistics of every rule, and `end`. */
export class ObservedRules {
  readonly #rules: () => CountedRules | undefined;
  readonly #entries = new Map<string, Entry>();
  readonly #growth = new Map<Entry, number[]>();
  #step = 0;
  #replaced = 0;
  /** The entry that is used least; undefined until it is searched for. */
  #least: Entry | undefined;

  /** `rules` returns the active ones. */
  constructor(rules: () => CountedRules | undefined) {
    this.#rules = rules;
  }

  begin(step: number): void {
    const decay = USE_DECAY ** Math.max(0, step - this.#step);
    for (const entry of this.#entries.values()) {
      entry.use *= decay;
      if (step - entry.step >= STEPS) this.#entries.delete(entry.path);
    }
    this.#step = step;
    this.#replaced = 0;
    this.#least = undefined;
    this.#growth.clear();
  }

  /** Adds what the statistics have grown by since the last visit. */
  visit(statistics: RuleStatistics): void {
    const seen = statistics.observed;
    const sum = statistics.totalHits + statistics.overLimit + statistics.nearLimit;
    if (sum === (seen?.sum ?? 0)) return; // They only grow.
    const values = RULE_SERIES.map((field) => statistics[field]);
    const growth = values.map((value, index) => value - (seen?.values[index] ?? 0));
    statistics.observed = { sum, values };
    const [hits = 0, overLimit = 0] = growth;
    const use = hits + OVER_LIMIT_WORTH * overLimit;
    const entry = this.#entries.get(statistics.path) ?? this.#admit(statistics.path, use);
    if (entry === undefined) return;
    entry.use += use;
    entry.step = this.#step;
    for (const [index, by] of growth.entries()) if (by > 0) entry.series.add(index, this.#step, by);
    // Statistics with request values are of one rule.
    const known = this.#growth.get(entry);
    this.#growth.set(entry, known === undefined ? growth : growth.map((by, index) => by + (known[index] ?? 0)));
  }

  /** Returns the growth of the rules in this sweep. */
  end(): readonly ObservedRule[] {
    return [...this.#growth].flatMap(([entry, growth]) =>
      this.#observed(
        entry,
        growth.map((by) => [by]),
      ),
    );
  }

  /** Every series up to and including this step, of the rule that is used most first. */
  history(step: number): readonly ObservedRule[] {
    const entries = [...this.#entries.values()].sort((one, other) => other.use - one.use);
    return entries.flatMap((entry) =>
      this.#observed(
        entry,
        RULE_SERIES.map((_, index) => entry.series.read(index, step)),
      ),
    );
  }

  #observed(entry: Entry, series: readonly (readonly number[])[]): readonly ObservedRule[] {
    const name = (entry.name ??= this.#nameOf(entry.path));
    return name === undefined ? [] : [{ name, series }];
  }

  #admit(path: string, use: number): Entry | undefined {
    if (this.#entries.size >= RULES_MAX && !this.#replaceLeast(use)) return undefined;
    const entry = {
      path,
      name: undefined,
      series: new Series(RULE_SERIES.length, this.#step),
      step: this.#step,
      use: 0,
    };
    this.#entries.set(path, entry);
    return entry;
  }

  #replaceLeast(use: number): boolean {
    if (this.#replaced >= REPLACED_MAX) return false;
    this.#least ??= [...this.#entries.values()].reduce((least, entry) => (entry.use < least.use ? entry : least));
    if (this.#least.use >= use) return false;
    this.#entries.delete(this.#least.path);
    this.#growth.delete(this.#least);
    this.#least = undefined;
    this.#replaced += 1;
    return true;
  }

  /** The path begins with the domain, which may have dots, too. */
  #nameOf(path: string): RuleName | undefined {
    const rules = this.#rules();
    const domains: string[] = [];
    for (let at = path.indexOf("."); at !== -1; at = path.indexOf(".", at + 1))
      if (rules?.domain(path.slice(0, at)) !== undefined) domains.push(path.slice(0, at));
    const has = (domain: string): boolean =>
      rules?.domain(domain)?.rules.some((rule) => pathsOf(rule).includes(path)) === true;
    const domain = domains.length > 1 ? (domains.find(has) ?? domains[0]) : domains[0];
    return domain === undefined ? undefined : { domain, path };
  }
}
