// Reports the statistics of a worker: what has grown since the last report, in messages of bounded
// size, in steps between which decisions run.
import { setImmediate as nextTurn } from "node:timers/promises";

import { RULE_STATISTICS, type RuleStatistics } from "../../statistics/rule-statistics.ts";
import type { StatisticsTimer } from "../../statistics/statistic.ts";
import type { StatisticsStore } from "../../statistics/statistics-store.ts";
import { DurationGroups } from "./duration-groups.ts";
import { REPORT_ENTRIES_MAX, type StatisticsReport } from "../messages.ts";

/** A report that is being filled. */
type OpenReport = { readonly [List in keyof StatisticsReport]: StatisticsReport[List][number][] };

/** The counters of a rule as they were reported, in the order of RULE_STATISTICS. */
interface ReportedRule {
  values: readonly number[];
  /** All of them together. Counters only grow, so an equal sum means that none did. */
  sum: number;
  /** The report in which the rule was last in the store. */
  epoch: number;
}

/** The reports of one store. */
export class StatisticsReporter {
  readonly #store: StatisticsStore;
  readonly #send: (report: StatisticsReport) => void;
  /** The values that were reported; as bounded as the store. */
  readonly #counters = new Map<string, number>();
  readonly #rules = new Map<RuleStatistics, ReportedRule>();
  readonly #gauges = new Map<string, number>();
  readonly #durations = new Map<StatisticsTimer, DurationGroups>();
  #epoch = 0;
  #open = emptyReport();
  #entries = 0;
  /** Ends with the report that is being made. */
  #running: Promise<void> = Promise.resolve();

  constructor(store: StatisticsStore, send: (report: StatisticsReport) => void) {
    this.#store = store;
    this.#send = send;
    store.onTimer((timer, durationMs, times) => {
      this.#durations.getOrInsertComputed(timer, () => new DurationGroups()).record(durationMs, times);
    });
  }

  /** Sends what has grown; resolves then. */
  report(): Promise<void> {
    this.#running = this.#running.then(() => this.#collect());
    return this.#running;
  }

  async #collect(): Promise<void> {
    this.#epoch += 1;
    const steps = this.#store.walk({
      counter: (name, value, isDynamic) => this.#addCounter(name, value, isDynamic),
      rule: (statistics) => this.#addRule(statistics, this.#epoch),
      gauge: (name, value) => this.#addGauge(name, value),
      timer: (timer) => this.#addTimer(timer),
    });
    while (steps.next().done !== true) await nextTurn();
    // Rules that have left the store may have grown since the last report.
    for (const [statistics, { epoch }] of this.#rules) {
      if (epoch === this.#epoch) continue;
      this.#addRule(statistics, epoch);
      this.#rules.delete(statistics);
    }
    if (this.#entries > 0) this.#sendOpen();
  }

  #addCounter(name: string, value: number, isDynamic: boolean): void {
    const reported = this.#counters.get(name);
    // Zero is reported once: a counter is visible from its creation.
    if (value === reported) return;
    this.#counters.set(name, value);
    this.#open[isDynamic ? "dynamicCounters" : "counters"].push([name, value - (reported ?? 0)]);
    this.#added();
  }

  #addRule(statistics: RuleStatistics, epoch: number): void {
    const reported = this.#rules.get(statistics);
    if (reported !== undefined) reported.epoch = epoch;
    const sum = sumOf(statistics);
    if (sum === (reported?.sum ?? 0)) return;
    const values = RULE_STATISTICS.map(({ field }) => statistics[field]);
    const growth = values.map((value, index) => value - (reported?.values[index] ?? 0));
    this.#rules.set(statistics, { values, sum, epoch });
    const { prefix, path, isDynamic, limit } = statistics;
    this.#open.rules.push({ prefix, path, isDynamic, limit, growth });
    this.#added();
  }

  #addGauge(name: string, value: number): void {
    if (this.#gauges.get(name) === value) return;
    this.#gauges.set(name, value);
    this.#open.gauges.push([name, value]);
    this.#added();
  }

  #addTimer(timer: StatisticsTimer): void {
    this.#durations.get(timer)?.drain((durationMs, times) => {
      this.#open.timers.push([timer.name, durationMs, times]);
      this.#added();
    });
  }

  #added(): void {
    this.#entries += 1;
    if (this.#entries >= REPORT_ENTRIES_MAX) this.#sendOpen();
  }

  #sendOpen(): void {
    this.#send(this.#open);
    this.#open = emptyReport();
    this.#entries = 0;
  }
}

function emptyReport(): OpenReport {
  return { counters: [], dynamicCounters: [], rules: [], gauges: [], timers: [] };
}

function sumOf(statistics: RuleStatistics): number {
  return RULE_STATISTICS.reduce((sum, { field }) => sum + statistics[field], 0);
}
