// Adds EXTRA_TAGS to statistic names as `name.__k1=v1.__k2=v2`, which receivers with and without
// tags accept.
import type { StatisticsStore } from "./statistics-store.ts";

/** Start of a tag in a name. */
export const TAG_START = ".__";

/** Keys that receivers use themselves; an extra tag with one works, and is counted. */
const RESERVED_KEYS: ReadonlySet<string> = new Set([
  "asg",
  "az",
  "backend",
  "canary",
  "host",
  "period",
  "region",
  "shard",
  "window",
  "source",
  "project",
  "facet",
  "envoyservice",
]);

/**
 * A name that ends with tags; a dot in such a value means that a rule's value only looks like a
 * tag.
 */
const OWN_TAGS = /^(.*?)((?:\.__[^.=]+=[^.]*)+)$/s;

/** Characters that would end a value, a tag or a line in one of the formats. */
// eslint-disable-next-line no-control-regex -- control characters are what it looks for
const UNSAFE_IN_VALUE = /[.:|,#\u0000-\u001f\u007f]/g;
// eslint-disable-next-line no-control-regex -- control characters are what it looks for
const UNSAFE_IN_KEY = /[=:|,#\u0000-\u001f\u007f]/g;

/**
 * Appends the extra tags to names, sorted by key with the tags of the name, which win over extra
 * tags.
 */
export function createTagger(extraTags: ReadonlyMap<string, string>): (name: string) => string {
  const extra = new Map<string, string>();
  for (const [key, value] of extraTags) {
    if (key !== "" && value !== "")
      extra.set(key.replaceAll(UNSAFE_IN_KEY, "_"), value.replaceAll(UNSAFE_IN_VALUE, "_"));
  }
  const suffix = writeTags(extra);
  return (name) => {
    if (suffix === "" || !name.includes(TAG_START)) return name + suffix;
    const [, plain, own] = OWN_TAGS.exec(name) ?? [];
    if (plain === undefined || own === undefined) return name + suffix;
    const tags = new Map(extra);
    for (const tag of own.split(TAG_START).slice(1))
      tags.set(tag.slice(0, tag.indexOf("=")), tag.slice(tag.indexOf("=") + 1));
    return plain + writeTags(tags);
  };
}

/** Creates the counter reserved_tag and counts the extra tags with reserved keys. */
export function countReservedTags(store: StatisticsStore, extraTags: ReadonlyMap<string, string>): void {
  const counter = store.counter("reserved_tag");
  for (const key of extraTags.keys()) if (RESERVED_KEYS.has(key)) counter.add(1);
}

function writeTags(tags: ReadonlyMap<string, string>): string {
  return Array.from(tags)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${TAG_START}${key}=${value}`)
    .join("");
}
