// The key of a counter. Pods of envoyproxy/ratelimit may share the store, so the text is the same
// as there: nothing is escaped, the unit and the limit are not in it. Keys that repeat are kept: a hot key takes 1.4 µs
// with them and 1.7 without; only those that were missed before, which is 1.1 times as fast with 100,000 keys
// (docs/benchmark-trials.md).
import type { Entry, RuleMatch } from "./rule.ts";

/** Number of keys that are kept for calls that repeat them; a power of two. */
const RECENT_KEYS = 1024;

/** UTF-16 units of the last value that decide where its key is kept. */
const HASHED_LENGTH = 8;

/** Longest key that is kept, in UTF-16 units. */
const RECENT_KEY_MAX_LENGTH = 256;

/** A key that was built, and what it was built from. */
interface RecentKey {
  match: RuleMatch<unknown>;
  entries: readonly Entry[];
  startSeconds: number;
  key: string;
}

/** The end of the keys of one unit: an underscore and the start of the window. */
interface KeyEnd {
  readonly startSeconds: number;
  readonly text: string;
}

/**
 * Builds keys `<prefix><domain>_<key>_<value>_…_<window start>`, or with the end of the cells of the rule. It keeps the parts that are the
 * same for many calls.
 */
export class CounterKeys {
  readonly #prefix: string;
  #rules: { readonly domain: string } | undefined;
  #scope = "";
  /** By unit number. */
  readonly #ends: (KeyEnd | undefined)[] = [];
  /** By the last value: a text in one piece is read in a fraction of the time of one in parts. */
  readonly #recent = new Array<RecentKey | undefined>(RECENT_KEYS).fill(undefined);

  /**
   * The hash that was looked for in vain last, by slot: a key is kept when it is asked for again. With
   * many keys, keeping each would make the garbage collector copy them all.
   */
  readonly #missed = new Int32Array(RECENT_KEYS);

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
    const hash = hashOf(entries);
    const slot = hash & (RECENT_KEYS - 1);
    const recent = this.#recent[slot];
    if (recent?.match === match && recent.startSeconds === startSeconds && areEqual(recent.entries, entries))
      return recent.key;
    const key = this.#build(rules, match, entries, startSeconds);
    // A shared value may be long without being part of the key.
    if (key.length > RECENT_KEY_MAX_LENGTH || match.sharedValues !== undefined) return key;
    if (this.#missed[slot] !== hash) {
      this.#missed[slot] = hash;
      return key;
    }
    if (recent === undefined) {
      this.#recent[slot] = { match, entries, startSeconds, key };
    } else {
      recent.match = match;
      recent.entries = entries;
      recent.startSeconds = startSeconds;
      recent.key = key;
    }
    return key;
  }

  #build(
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
    return key + (match.rule.cell?.keyEnd ?? this.#endOf(match.rule.limit.unit, startSeconds));
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

/** A hash of the end of the last value, which is where most keys differ. */
function hashOf(entries: readonly Entry[]): number {
  const value = entries[entries.length - 1]?.value ?? "";
  const { length } = value;
  let hash = length;
  for (let at = Math.max(0, length - HASHED_LENGTH); at < length; at++)
    hash = (Math.imul(hash, 31) + value.charCodeAt(at)) | 0;
  return hash;
}

function areEqual(some: readonly Entry[], others: readonly Entry[]): boolean {
  if (some.length !== others.length) return false;
  for (let index = 0; index < some.length; index++) {
    const [one, other] = [some[index], others[index]];
    if (one?.value !== other?.value || one?.key !== other?.key) return false;
  }
  return true;
}
