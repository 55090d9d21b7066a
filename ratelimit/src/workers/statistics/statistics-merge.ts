// Adds the statistics of workers to those of the service.
import { RULE_STATISTICS } from "../../statistics/rule-statistics.ts";
import type { StatisticsStore } from "../../statistics/statistics-store.ts";
import type { StatisticsReport } from "../messages.ts";

/** Adds a report of the worker with this number to the store. */
export function mergeReport(store: StatisticsStore, worker: number, report: StatisticsReport): void {
  for (const [name, growth] of report.counters) store.counter(name).add(growth);
  for (const [name, growth] of report.dynamicCounters) store.dynamicCounterOfName(name)?.add(growth);
  for (const { growth, ...name } of report.rules) {
    // A rule that is not active any more has no counters, as with one process.
    const counters = store.ruleOfName(name);
    if (counters === undefined) continue;
    for (const [index, { field }] of RULE_STATISTICS.entries()) counters[field] += growth[index] ?? 0;
  }
  for (const [name, value] of report.gauges) store.gauge(name).setOther(worker, value);
  for (const [name, durationMs, times] of report.timers) store.timer(name).record(durationMs, times);
}

/** Removes the gauges of a worker that has ended. */
export function forgetWorker(store: StatisticsStore, worker: number): void {
  for (const gauge of store.gauges()) gauge.setOther(worker, undefined);
}
