// What /stats prints: every counter, gauge and timer as it is now. Serving it is the debug transport's matter.
import { createTagger } from "./extra-tags.ts";
import { RULE_STATISTICS, type StatisticsStore } from "./statistics-store.ts";

/** EXTRA_TAGS, which stand in every name. */
type ExtraTags = ReadonlyMap<string, string>;

/** A statistic as it is printed: a number, or what is known of a timer. */
type StatisticValue = number | { readonly count: number; readonly sumMs: number; readonly maxMs: number };

/** One `name: value` per line. A timer's value is `count=<n> sum_ms=<n> max_ms=<n>`. */
export function renderStatisticsText(store: StatisticsStore, extraTags: ExtraTags): string {
  let text = "";
  for (const [name, value] of collectStatistics(store, extraTags)) {
    text +=
      typeof value === "number" ? `${name}: ${value}\n` : `${name}: count=${value.count} sum_ms=${value.sumMs} max_ms=${value.maxMs}\n`;
  }
  return text;
}

/** The same as one JSON object; a timer is `{"count": …, "sumMs": …, "maxMs": …}`. */
export function renderStatisticsJson(store: StatisticsStore, extraTags: ExtraTags): string {
  return JSON.stringify(Object.fromEntries(collectStatistics(store, extraTags)));
}

/** Every statistic by name, sorted by name. */
function collectStatistics(store: StatisticsStore, extraTags: ExtraTags): ReadonlyMap<string, StatisticValue> {
  const tagged = createTagger(extraTags);
  const found: [string, StatisticValue][] = [];
  store.visit({
    counter: (name, value) => found.push([tagged(name), value]),
    rule: (counters) => {
      for (const { name, field } of RULE_STATISTICS) found.push([tagged(`${counters.prefix}.${name}`), counters[field]]);
    },
    gauge: (name, value) => found.push([tagged(name), value]),
    timer: ({ name, count, sumMs, maxMs }) => found.push([tagged(name), { count, sumMs, maxMs }]),
  });
  return new Map(found.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}
