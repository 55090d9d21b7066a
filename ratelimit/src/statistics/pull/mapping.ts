// From dotted statistic names to metrics with labels. A mapping is a list of entries of which the first that matches counts; the built-in one is in
// default-mapping.ts, one from a file in mapping-file.ts.

/** Tags at the end of a name, as gostats writes them. */
const TAGS = /(?:\.__[^.=]+=[^.]*)+$/;

/** What a statistic is. */
export type StatisticKind = "counter" | "gauge" | "timer";

/** One entry. */
export interface MappingEntry {
  /** Matches the whole name; its groups fill the templates. */
  readonly pattern: RegExp;
  /** Only statistics of this kind; undefined = all. */
  readonly kind: StatisticKind | undefined;
  /** What to do with a match. */
  readonly action:
    | { readonly kind: "drop" }
    | {
        readonly kind: "map";
        /** Templates: `$1` or `${1}` stands for the first group. */
        readonly name: string;
        readonly labels: readonly (readonly [name: string, template: string])[];
        readonly help: string | undefined;
        /** Factor of counters and gauges; timers have their own. */
        readonly scale: number;
        readonly timer: TimerOptions;
      };
}

/** How durations are shown. Recorded in milliseconds; `scale` makes the unit of the metric of them. */
export type TimerOptions =
  | { readonly kind: "histogram"; readonly buckets: readonly number[]; readonly scale: number }
  | { readonly kind: "summary"; readonly scale: number };

/** A list of entries, and how timers that no entry matches are shown. */
export interface Mapping {
  readonly entries: readonly MappingEntry[];
  readonly unmappedTimer: TimerOptions;
}

/** Where a statistic is shown. */
export interface MappedName {
  readonly family: string;
  /** Names are valid and unique; values are unescaped. */
  readonly labels: readonly (readonly [name: string, value: string])[];
  readonly help: string;
  readonly scale: number;
  readonly timer: TimerOptions;
}

/** Where a name is shown; undefined when it is dropped. A name that nothing matches becomes a metric with its tags as labels. */
export function mapName(mapping: Mapping, name: string, kind: StatisticKind): MappedName | undefined {
  for (const { pattern, kind: only, action } of mapping.entries) {
    if (only !== undefined && only !== kind) continue;
    const match = pattern.exec(name);
    if (match === null) continue;
    if (action.kind === "drop") return undefined;
    return {
      family: sanitizeName(fill(action.name, match)),
      labels: action.labels.map(([label, template]) => [sanitizeName(label), fill(template, match)]),
      help: action.help ?? `The statistics ${pattern.source}`,
      scale: action.scale,
      timer: action.timer,
    };
  }
  const { base, tags } = splitTags(name);
  return { family: sanitizeName(base), labels: tags, help: `The statistic ${base}`, scale: 1, timer: mapping.unmappedTimer };
}

/** Takes the tags from the end of a name: `ratelimit.memcache.add.__code=success`. */
function splitTags(name: string): { readonly base: string; readonly tags: readonly (readonly [name: string, value: string])[] } {
  const [tagged] = TAGS.exec(name) ?? [""];
  const tags = tagged.split(".__").slice(1);
  return {
    base: name.slice(0, name.length - tagged.length),
    tags: tags.map((tag) => {
      const at = tag.indexOf("=");
      return [sanitizeName(tag.slice(0, at)), tag.slice(at + 1)];
    }),
  };
}

/** A valid name of a metric or label: every other character is an underscore, and a leading digit gets one in front. */
export function sanitizeName(name: string): string {
  const clean = name.replaceAll(/[^A-Za-z0-9_]/g, "_");
  return /^[0-9]/.test(clean) || clean === "" ? `_${clean}` : clean;
}

function fill(template: string, match: RegExpExecArray): string {
  return template.replaceAll(/\$(?:(\d+)|\{(\d+)\})/g, (whole, plain: string | undefined, braced: string | undefined) => {
    const index = Number(plain ?? braced);
    return index < match.length ? (match[index] ?? "") : whole;
  });
}
