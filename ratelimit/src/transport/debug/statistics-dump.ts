// Every statistic of the process as a sorted list of names and numbers, for people.
import type { StatisticsStore } from "../../statistics/statistics-store.ts";

/** All statistics by name; a timer is three: how often, how long together, and the longest, in milliseconds. */
export function readStatistics(store: StatisticsStore): readonly (readonly [name: string, value: number])[] {
  const found: [string, number][] = [];
  store.visit({
    counter: (name, value) => void found.push([name, value]),
    gauge: (name, value) => void found.push([name, value]),
    timer: ({ name, count, sumMs, maxMs }) =>
      void found.push([`${name}.count`, count], [`${name}.sum_ms`, round(sumMs)], [`${name}.max_ms`, round(maxMs)]),
  });
  return found.sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Three decimals, so that sums of fractions print as people expect. */
function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
