// Maps dotted statistic names to metrics with labels, by the first entry that matches. Names,
// templates and labels behave as in statsd_exporter.

import type { Pattern } from "../go-pattern.ts";

/** Tags at the end of a name, as gostats writes them. */
const TAGS = /(?:\.__[^.=]+=[^.]*)+$/;

/** Characters that are invalid in the name of a metric; several dashes become one underscore. */
const UNSAFE = /-+|[^A-Za-z0-9_]/gu;

/** `$$`, `$name` or `${name}` in a template; a number names a group by its place. */
const TEMPLATE = /\$(?:(\$)|(\w+)|\{(\w+)\})/g;

export type StatisticKind = "counter" | "gauge" | "timer";

export interface MappingEntry {
  /** Its groups fill the templates. */
  readonly pattern: Pattern;
  /** Only statistics of this kind; undefined = all. */
  readonly kind: StatisticKind | undefined;
  /** The action for a match. */
  readonly action:
    | { readonly kind: "drop" }
    | {
        readonly kind: "map";
        readonly name: string;
        readonly labels: readonly (readonly [name: string, template: string])[];
        readonly help: string | undefined;
        /** True if a tag wins over a label of the same name. */
        readonly honorsTags: boolean;
        /** Factor of counters and gauges; timers have their own. */
        readonly scale: number;
        readonly timer: TimerOptions;
      };
}

/** The metric of durations, which are recorded in milliseconds and multiplied by `scale`. */
export type TimerOptions =
  | { readonly kind: "histogram"; readonly buckets: readonly number[]; readonly scale: number }
  | { readonly kind: "summary"; readonly scale: number };

/** A list of entries, and the metric of timers that no entry matches. */
export interface Mapping {
  readonly entries: readonly MappingEntry[];
  readonly unmappedTimer: TimerOptions;
}

/** The metric and the labels of a statistic. */
export interface MappedName {
  readonly family: string;
  /** Names are valid and unique; values are unescaped. */
  readonly labels: readonly (readonly [name: string, value: string])[];
  readonly help: string;
  readonly scale: number;
  readonly timer: TimerOptions;
}

/** Label names with their values. */
type Labels = ReadonlyMap<string, string>;

const NO_LABELS: Labels = new Map();

/**
 * Maps a name, with the extra labels of every series; undefined when it is dropped. Entries are
 * tried with the name, then with the name without its tags, which become labels; a name that no
 * entry matches becomes a metric of its own.
 */
export function mapName(
  mapping: Mapping,
  name: string,
  kind: StatisticKind,
  extra: Labels = NO_LABELS,
): MappedName | undefined {
  const whole = findEntry(mapping, name, kind);
  if (whole !== undefined) return show(whole, name, extra);
  const { base, tags } = splitTags(name);
  const labels = new Map([...extra, ...tags]);
  const found = tags.size === 0 ? undefined : findEntry(mapping, base, kind);
  if (found !== undefined) return show(found, base, labels);
  return {
    family: sanitizeName(base),
    labels: [...labels],
    help: `The statistic ${base}`,
    scale: 1,
    timer: mapping.unmappedTimer,
  };
}

/**
 * A valid name of a metric or label: invalid characters become underscores, as does an empty name.
 */
export function sanitizeName(name: string): string {
  const clean = name.replaceAll(UNSAFE, "_");
  return /^[0-9]/.test(clean) || clean === "" ? `_${clean}` : clean;
}

interface FoundEntry {
  readonly entry: MappingEntry;
  readonly match: RegExpMatchArray;
}

function findEntry({ entries }: Mapping, name: string, kind: StatisticKind): FoundEntry | undefined {
  for (const entry of entries) {
    if (entry.kind !== undefined && entry.kind !== kind) continue;
    const match = entry.pattern.exec(name);
    if (match !== null) return { entry, match };
  }
  return undefined;
}

function show({ entry: { action }, match }: FoundEntry, name: string, tags: Labels): MappedName | undefined {
  if (action.kind === "drop") return undefined;
  const filled = fill(action.name, match);
  if (filled === "") return undefined; // No metric has an empty name.
  const own = action.labels.map(([label, template]) => [label, fill(template, match)] as const);
  return {
    family: sanitizeName(filled),
    labels: tags.size === 0 ? own : mergeLabels(own, tags, action.honorsTags),
    help: action.help ?? `The statistic ${name}`,
    scale: action.scale,
    timer: action.timer,
  };
}

function mergeLabels(own: MappedName["labels"], tags: Labels, areTagsStronger: boolean): MappedName["labels"] {
  const merged = new Map(own);
  for (const [name, value] of tags) if (areTagsStronger || !merged.has(name)) merged.set(name, value);
  return [...merged];
}

/** Takes the tags from the end of a name: `ratelimit.memcache.add.__code=success`. */
function splitTags(name: string): { readonly base: string; readonly tags: Labels } {
  const [tagged] = TAGS.exec(name) ?? [""];
  const tags = tagged.split(".__").slice(1);
  return {
    base: name.slice(0, name.length - tagged.length),
    tags: new Map(
      tags.map((tag) => {
        const at = tag.indexOf("=");
        return [sanitizeName(tag.slice(0, at)), tag.slice(at + 1)];
      }),
    ),
  };
}

/**
 * Fills a template as Go's regexp.Expand does: `$1` or `${1}` is the first group, `$$` a dollar,
 * and a group that does not exist is empty. The longest name counts: `$1_total` is the group
 * "1_total".
 */
function fill(template: string, match: RegExpMatchArray): string {
  return template.replaceAll(TEMPLATE, (_whole, dollar?: string, plain?: string, braced?: string) => {
    const group = plain ?? braced ?? "";
    return dollar ?? (/^\d+$/.test(group) ? match[Number(group)] : match.groups?.[group]) ?? "";
  });
}
