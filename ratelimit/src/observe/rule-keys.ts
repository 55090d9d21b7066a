// The keys of one rule that count most: those with most hits over the limit and those with most hits, in the last five to
// ten minutes.
import type { Entry, Rule } from "@weir/limits/rules/rule";
import type { Step } from "@weir/limits/rules/dynamic-match";
import { reachOf, type RuleNode } from "@weir/limits/rules/level";
import { type KeyCounts, type KeySource, mergeCounts, SpaceSaving } from "./space-saving.ts";

/** Length of a pane in seconds: what is read is of this pane and the one before. */
const PANE_SECONDS = 300;

/** Longest text of a key, over all its values, in bytes of UTF-8. */
const TEXT_MAX_BYTES = 64;

/** Most values of a key; those of further levels are left out. */
const VALUES_MAX = 8;

/** Most characters of a value that its hash is of, from all of its length. Keys with equal hashes are compared. */
const HASHED_LENGTH = 16;

/** A level of a rule whose value the rule does not name. */
export interface KeyLevel {
  /** Index of its entry in a descriptor. */
  readonly index: number;
  readonly key: string;
  /** True if the rule shows its values. */
  readonly isShown: boolean;
}

/** A level of a rule as configured, as far as it decides which values are keys, and by which rights they are shown. */
type ConfiguredLevel = Pick<RuleNode<unknown>, "composite" | "shareThreshold" | "showValues">;

/** Returns true if keys of the one levels are keys of the other ones, and shown by the same rights. */
export function areSameLevels(left: readonly ConfiguredLevel[], right: readonly ConfiguredLevel[]): boolean {
  const isSame = ({ composite, shareThreshold, showValues }: ConfiguredLevel, other?: ConfiguredLevel): boolean =>
    other?.composite === composite && other.shareThreshold === shareThreshold && other.showValues === showValues;
  return left.length === right.length && left.every((level, at) => isSame(level, right[at]));
}

/** The values of those levels. */
export interface RuleKey {
  readonly values: readonly string[];
  /** Index of the first value that was cut; undefined when none was. */
  readonly cutFrom: number | undefined;
}

/** The counts that are read of a rule. */
export interface RuleKeyCounts {
  readonly domain: string;
  readonly path: string;
  readonly levels: readonly KeyLevel[];
  /** Since when it counts. */
  readonly sinceSeconds: number;
  readonly overLimit: KeyCounts<RuleKey>;
  readonly hits: KeyCounts<RuleKey>;
}

/** The levels of a rule at the end of these steps whose values the rule does not name. */
export function keyLevelsOf(steps: readonly Step<unknown>[]): readonly KeyLevel[] {
  return steps
    .flatMap(({ node, entry }, index) => {
      const reach = reachOf(node, entry);
      return reach === "exact" || (reach === "wildcard" && node.shareThreshold)
        ? []
        : [{ index, key: entry.key, isShown: node.showValues }];
    })
    .slice(0, VALUES_MAX);
}

/** The kept part of a key: its value or, of several levels, its values, longer ones so far that they can be cut. */
export type KeptKey = string | readonly string[];

interface Pane {
  readonly overLimit: SpaceSaving<KeptKey, readonly Entry[]>;
  readonly hits: SpaceSaving<KeptKey, readonly Entry[]>;
}

/** The keys of a rule. */
export class RuleKeys implements KeySource<KeptKey, readonly Entry[]> {
  readonly domain: string;
  /** That of the last call. */
  rule: Rule;
  /** Copies: a node keeps the rules below it in memory, also when they are no longer active. */
  readonly configured: readonly ConfiguredLevel[];
  readonly levels: readonly KeyLevel[];
  readonly #capacity: number;
  readonly #createdSeconds: number;
  /** Number of the current pane, and its end. */
  #number: number;
  #endSeconds: number;
  #current: Pane;
  #previous: Pane | undefined;

  constructor(
    of: {
      readonly domain: string;
      readonly rule: Rule;
      readonly configured: readonly ConfiguredLevel[];
      readonly levels: readonly KeyLevel[];
    },
    options: { readonly capacity: number; readonly nowSeconds: number },
  ) {
    const { capacity, nowSeconds } = options;
    this.domain = of.domain;
    this.rule = of.rule;
    this.configured = of.configured.map(({ composite, shareThreshold, showValues }) => ({
      composite,
      shareThreshold,
      showValues,
    }));
    this.levels = of.levels;
    this.#capacity = capacity;
    this.#createdSeconds = nowSeconds;
    this.#number = Math.floor(nowSeconds / PANE_SECONDS);
    this.#endSeconds = (this.#number + 1) * PANE_SECONDS;
    this.#current = this.#newPane();
  }

  /**
   * Adds hits of the key of these entries. It is called for every rejection, most of which are of keys that a table does
   * not have when there are many: for a rule with one value that allocates nothing.
   */
  add(list: keyof Pane, entries: readonly Entry[], hits: number, nowSeconds: number): void {
    this.#turn(nowSeconds);
    this.#current[list].add(hashOf(this.levels, entries), entries, hits);
  }

  /** Returns true if a key that is kept is that of these entries. */
  isOf(kept: KeptKey, entries: readonly Entry[]): boolean {
    const { levels } = this;
    if (typeof kept === "string") return kept === keptText(valueAt(levels, 0, entries), TEXT_MAX_BYTES);
    let left = TEXT_MAX_BYTES;
    for (let at = 0; at < levels.length; at++) {
      const text = keptText(valueAt(levels, at, entries), left);
      if (kept[at] !== text) return false;
      left = Math.max(0, left - text.length);
    }
    return true;
  }

  /** Returns the kept part of the key of these entries. */
  keyOf(entries: readonly Entry[]): KeptKey {
    const { levels } = this;
    if (levels.length === 1) return keptText(valueAt(levels, 0, entries), TEXT_MAX_BYTES);
    let left = TEXT_MAX_BYTES;
    return levels.map((_, at) => {
      const text = keptText(valueAt(levels, at, entries), left);
      left = Math.max(0, left - text.length);
      return text;
    });
  }

  /** Hits over the limit and hits of this pane and the one before: how much the rule is used. */
  use(nowSeconds: number): number {
    this.#turn(nowSeconds);
    let use = 0;
    for (const pane of [this.#current, this.#previous]) use += (pane?.overLimit.total ?? 0) + (pane?.hits.total ?? 0);
    return use;
  }

  read(nowSeconds: number): RuleKeyCounts {
    this.#turn(nowSeconds);
    const { domain, levels, rule } = this;
    const sinceSeconds = Math.max(this.#createdSeconds, (this.#number - 1) * PANE_SECONDS);
    const options = { capacity: this.#capacity, identify: identityOf };
    const read = (list: keyof Pane): KeyCounts<RuleKey> => {
      const current = withCutKeys(this.#current[list].read());
      const previous = this.#previous && withCutKeys(this.#previous[list].read());
      return previous === undefined ? current : mergeCounts(current, previous, options);
    };
    return { domain, path: rule.path, levels, sinceSeconds, overLimit: read("overLimit"), hits: read("hits") };
  }

  /** Begins the pane of this time. */
  #turn(nowSeconds: number): void {
    // A clock that went back does not end a pane.
    if (nowSeconds < this.#endSeconds) return;
    const number = Math.floor(nowSeconds / PANE_SECONDS);
    this.#endSeconds = (number + 1) * PANE_SECONDS;
    const isNext = number === this.#number + 1;
    const free = this.#previous;
    this.#previous = isNext ? this.#current : undefined;
    for (const table of free === undefined ? [] : [free.overLimit, free.hits]) table.clear();
    this.#current = free ?? this.#newPane();
    this.#number = number;
  }

  #newPane(): Pane {
    return { overLimit: new SpaceSaving(this.#capacity, this), hits: new SpaceSaving(this.#capacity, this) };
  }
}

/** Merges the counts that several processes read: one for each rule. */
export function mergeRuleKeys(read: readonly RuleKeyCounts[], capacity: number): readonly RuleKeyCounts[] {
  const rules = Map.groupBy(read, ({ path }) => path).values();
  return Array.from(rules, (counts) => counts.reduce((merged, next) => mergeTwo(merged, next, capacity)));
}

function mergeTwo(one: RuleKeyCounts, other: RuleKeyCounts, capacity: number): RuleKeyCounts {
  const options = { capacity, identify: identityOf };
  return {
    ...one,
    sinceSeconds: Math.min(one.sinceSeconds, other.sinceSeconds),
    overLimit: mergeCounts(one.overLimit, other.overLimit, options),
    hits: mergeCounts(one.hits, other.hits, options),
  };
}

function identityOf({ values }: RuleKey): string {
  return JSON.stringify(values);
}

/** 32 bits of the values. */
function hashOf(levels: readonly KeyLevel[], entries: readonly Entry[]): number {
  let hash = 0;
  for (let at = 0; at < levels.length; at++) {
    const value = valueAt(levels, at, entries);
    const end = Math.min(value.length, TEXT_MAX_BYTES);
    hash = (Math.imul(hash, 31) + end) | 0;
    const step = 1 + Math.floor(end / HASHED_LENGTH);
    for (let index = 0; index < end; index += step) hash = (Math.imul(hash, 31) + value.charCodeAt(index)) | 0;
  }
  return hash;
}

function valueAt(levels: readonly KeyLevel[], at: number, entries: readonly Entry[]): string {
  return entries[levels[at]?.index ?? 0]?.value ?? "";
}

/** A text, or one character more of it than fits. That is a copy: a part of a string keeps all of it in memory. */
function keptText(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : Buffer.from(text.slice(0, maxLength + 1)).toString();
}

function withCutKeys(counts: KeyCounts<KeptKey>): KeyCounts<RuleKey> {
  const keys = counts.keys.map(({ key, ...count }) => ({
    ...count,
    key: cutKey(typeof key === "string" ? [key] : key),
  }));
  return { ...counts, keys };
}

const scratch = Buffer.allocUnsafe(TEXT_MAX_BYTES);

/** The values, cut to whole characters. */
function cutKey(kept: readonly string[]): RuleKey {
  let left = TEXT_MAX_BYTES;
  let cutFrom: number | undefined;
  const values = kept.map((value, at) => {
    const bytes = scratch.write(value, 0, left);
    if (bytes < Buffer.byteLength(value)) cutFrom ??= at;
    left = cutFrom === undefined ? left - bytes : 0;
    return scratch.toString("utf8", 0, bytes);
  });
  return { values, cutFrom };
}
