// The key of a counter. Pods of envoyproxy/ratelimit may share the store, so the text is the same
// as there: nothing is escaped, the unit and the limit are not in it.
import type { Entry, RuleMatch } from "../rules/rule.ts";

/** The end of the keys of one unit: an underscore and the start of the window. */
interface KeyEnd {
  readonly startSeconds: number;
  readonly text: string;
}

/**
 * Builds keys `<prefix><domain>_<key>_<value>_…_<window start>`. It keeps the parts that are the
 * same for many calls.
 */
export class CounterKeys {
  readonly #prefix: string;
  #rules: { readonly domain: string } | undefined;
  #scope = "";
  /** By unit number. */
  readonly #ends: (KeyEnd | undefined)[] = [];

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /**
   * The key. A value is the request's, except where the match shares its counter with other values.
   * `rules` are those of the domain.
   */
  key(
    rules: { readonly domain: string },
    match: RuleMatch<unknown>,
    entries: readonly Entry[],
    startSeconds: number,
  ): string {
    let key = this.#scopeOf(rules);
    const { sharedValues } = match;
    if (sharedValues === undefined) {
      for (const entry of entries) key += `_${entry.key}_${entry.value}`;
    } else {
      entries.forEach((entry, index) => {
        const shared = sharedValues[index] ?? "";
        key += `_${entry.key}_${shared === "" ? entry.value : shared}`;
      });
    }
    return key + this.#endOf(match.rule.limit.unit, startSeconds);
  }

  #scopeOf(rules: { readonly domain: string }): string {
    if (rules !== this.#rules) {
      this.#rules = rules;
      this.#scope = this.#prefix + rules.domain;
    }
    return this.#scope;
  }

  #endOf(unit: number, startSeconds: number): string {
    let end = this.#ends[unit];
    if (end?.startSeconds !== startSeconds) this.#ends[unit] = end = { startSeconds, text: `_${startSeconds}` };
    return end.text;
  }
}
