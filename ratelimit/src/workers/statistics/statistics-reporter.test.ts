// Statistics of workers in the store of the service: the sum of all, whatever happened in between.
import { Random } from "@weir/harness/processes/random";
import { describe, expect, it } from "vitest";
import { RULE_STATISTICS } from "../../statistics/rule-statistics.ts";
import { StatisticsStore } from "../../statistics/statistics-store.ts";
import { REPORT_ENTRIES_MAX, type StatisticsReport } from "../messages.ts";
import { forgetWorker, mergeReport } from "./statistics-merge.ts";
import { StatisticsReporter } from "./statistics-reporter.ts";

const RULES = ["d.a", "d.b", "d.c"];

/** Two workers and the service, with the messages between them as JSON. */
class Fixture {
  readonly service = new StatisticsStore({ maxDynamicKeys: 100 });
  readonly workers = [0, 1].map((index) => {
    const store = new StatisticsStore({ maxDynamicKeys: 30 });
    const merge = (report: StatisticsReport): void => {
      this.largest = Math.max(this.largest, sizeOf(report));
      mergeReport(this.service, index, JSON.parse(JSON.stringify(report)) as StatisticsReport);
    };
    return { store, reporter: new StatisticsReporter(store, merge) };
  });
  largest = 0;

  constructor() {
    for (const store of this.#stores()) for (const rule of RULES) store.rule(rule);
  }

  dropRule(rule: string): void {
    for (const store of this.#stores()) store.dropRule(rule);
  }

  #stores(): readonly StatisticsStore[] {
    return [this.service, ...this.workers.map((worker) => worker.store)];
  }

  async report(): Promise<void> {
    for (const { reporter } of this.workers) await reporter.report();
  }
}

/** The length of the longest list of a report. */
function sizeOf({ counters, dynamicCounters, rules, gauges, timers }: StatisticsReport): number {
  return Math.max(...[counters, dynamicCounters, rules, gauges, timers].map((list) => list.length));
}

/** Every number of a store by its name. */
function numbersOf(store: StatisticsStore): Record<string, number> {
  const numbers: Record<string, number> = {};
  const steps = store.walk({
    counter: (name, value) => (numbers[name] = value),
    rule: (statistics) => {
      for (const { name, field } of RULE_STATISTICS) numbers[`${statistics.prefix}.${name}`] = statistics[field];
    },
    gauge: (name, value) => (numbers[name] = value),
    timer: ({ name, count, sumMs }) => {
      numbers[`${name}.count`] = count;
      numbers[`${name}.sum`] = Math.round(sumMs);
    },
  });
  while (steps.next().done !== true);
  return numbers;
}

describe("StatisticsReporter and mergeReport()", () => {
  it.each([1, 2, 3])("make the service's statistics the sum of its workers' (seed %i)", async (seed) => {
    const fixture = new Fixture();
    const random = new Random(seed);
    const expected: Record<string, number> = {};
    const addExpected = (name: string, by: number): void => void (expected[name] = (expected[name] ?? 0) + by);
    for (let step = 0; step < 2000; step++) {
      const store = fixture.workers[random.below(2)]?.store ?? fixture.service;
      const by = random.below(5);
      switch (random.below(6)) {
        case 0:
          store.counter("calls").add(by);
          addExpected("calls", by);
          break;
        case 1: {
          const rule = RULES[random.below(RULES.length)] ?? "";
          const { name, field } = RULE_STATISTICS[random.below(6)] ?? RULE_STATISTICS[0];
          store.rule(rule)[field] += by;
          addExpected(`ratelimit.service.rate_limit.${rule}.${name}`, by);
          break;
        }
        case 2: {
          const key = `d.a_value-${random.below(10)}`;
          const counters = store.dynamicRule(key);
          if (counters === undefined) throw new Error("All keys must fit");
          counters.overLimit += by;
          addExpected(`ratelimit.service.rate_limit.${key}.over_limit`, by);
          break;
        }
        case 3: {
          const domain = `unknown-${random.below(5)}`;
          store.dynamicCounter("scope", domain, "not_found")?.add(by);
          addExpected(`scope.${domain}.not_found`, by);
          break;
        }
        case 4:
          store.timer("time").record(by + 0.25, 2);
          addExpected("time.count", 2);
          addExpected("time.sum", 2 * by + 0.5);
          break;
        case 5:
          if (random.below(20) === 0) await fixture.report();
      }
    }
    await fixture.report();
    const numbers = numbersOf(fixture.service);
    for (const [name, value] of Object.entries(expected))
      expect({ name, value: numbers[name] }).toEqual({ name, value: Math.round(value) });
    expect(numbers["ratelimit.service.stats_keys_dropped"]).toBe(0);
  });

  it("add up gauges, take the largest where that is meant, and forget those of a worker that ended", async () => {
    const fixture = new Fixture();
    const { service, workers } = fixture;
    service.gauge("open").set(1);
    service.gauge("lag", "max").set(2);
    workers[0]?.store.gauge("open").set(10);
    workers[1]?.store.gauge("open").set(20);
    workers[1]?.store.gauge("lag", "max").set(7);
    await fixture.report();
    expect(numbersOf(service)).toMatchObject({ open: 31, lag: 7 });
    forgetWorker(service, 1);
    expect(numbersOf(service)).toMatchObject({ open: 11, lag: 2 });
  });

  it("show a counter at zero as soon as a worker has it", async () => {
    const fixture = new Fixture();
    fixture.workers[0]?.store.counter("rare");
    await fixture.report();
    expect(numbersOf(fixture.service)).toMatchObject({ rare: 0 });
  });

  it("keep the counts of rules through a change of rules, and add nothing for a rule that is gone", async () => {
    const fixture = new Fixture();
    const [worker] = fixture.workers;
    const gone = worker?.store.rule("d.b");
    for (const rule of ["d.a", "d.b"]) if (worker !== undefined) worker.store.rule(rule).totalHits += 3;
    await fixture.report();
    fixture.dropRule("d.b");
    if (gone !== undefined) gone.totalHits += 1;
    if (worker !== undefined) worker.store.rule("d.a").totalHits += 1;
    await fixture.report();
    const numbers = numbersOf(fixture.service);
    expect(numbers["ratelimit.service.rate_limit.d.a.total_hits"]).toBe(4);
    expect(Object.keys(numbers).filter((name) => name.includes("d.b"))).toEqual([]);
  });

  it("keep within the limit of names with request values, and within the size of a message", async () => {
    const fixture = new Fixture();
    const many = new StatisticsStore({ maxDynamicKeys: 5000 });
    const reporter = new StatisticsReporter(many, (report) => {
      fixture.largest = Math.max(fixture.largest, sizeOf(report));
      mergeReport(fixture.service, 2, report);
    });
    for (let index = 0; index < 3000; index++) {
      const counters = many.dynamicRule(`d.a_${index}`);
      if (counters !== undefined) counters.totalHits += 1;
    }
    await reporter.report();
    expect(fixture.largest).toBe(REPORT_ENTRIES_MAX);
    const names = Object.keys(numbersOf(fixture.service)).filter((name) => /d\.a_\d+\.total_hits$/.test(name));
    expect(names).toHaveLength(100);
    expect(fixture.service.counter("ratelimit.service.stats_keys_dropped").value).toBe(2900);
  });
});
