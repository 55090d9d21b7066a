// Tests the observation of statistics, in seconds and in the last ten minutes.
import { configuration, descriptor, limit } from "@weir/limits/rules/configuration.suite";
import { createLog } from "@weir/common/log/log";
import { describe, expect, it, vi } from "vitest";
import { compileCountedRules, type CountedRules } from "../config/counted-rules.ts";
import { ServiceStatistics } from "../statistics/service-statistics.ts";
import { StatisticsStore } from "../statistics/statistics-store.ts";
import { ObservedRules } from "./observed-rules.ts";
import type { Observed } from "./observed.ts";
import { bucketOf, Observer } from "./observer.ts";

const RULE = descriptor({ key: "k", rateLimit: limit(3, "hour") });

/** An observer of a domain with one rule `k`, at 13:00:05 of some day. */
class Fixture {
  nowMs = 46_805_000;
  readonly store = new StatisticsStore({ maxDynamicKeys: 10_000 });
  readonly statistics = new ServiceStatistics(this.store);
  rules: CountedRules;
  /** Thrown by a sweep that needs the rules. */
  fault: Error | undefined;
  readonly lines: string[] = [];
  readonly observer: Observer;

  constructor(domains: readonly string[] = ["shop"]) {
    this.rules = compileCountedRules(
      domains.map((domain) => configuration(domain, [RULE])),
      this.store,
    );
    const { store, statistics } = this;
    const rules = new ObservedRules(() => {
      if (this.fault !== undefined) throw this.fault;
      return this.rules;
    });
    const readKeys = () => Promise.resolve([]);
    const log = createLog({ level: "info", format: "text", write: (line) => this.lines.push(line) });
    this.observer = new Observer({ store, statistics, rules, readKeys, nowMs: () => this.nowMs, random: () => 0, log });
  }

  count(path: string, hits: number, overLimit = 0): void {
    const counters = this.store.rule(path);
    counters.totalHits += hits;
    counters.overLimit += overLimit;
  }
}

/** The series of each rule: hits and hits over the limit. */
function seriesOf({ rules }: Observed): readonly unknown[] {
  return rules.map(({ name, series: [hits, overLimit] }) => [name.path, hits, overLimit]);
}

/** The numbers of a series that are not 0, with their index. */
function present(series: readonly number[] | undefined): readonly (readonly [number, number])[] {
  return (series ?? []).flatMap((value, index) => (value === 0 ? [] : [[index, value] as const]));
}

describe("Observer", () => {
  it("sweep() resolves with what was counted since the last one", async () => {
    const fixture = new Fixture();
    fixture.count("shop.k", 5, 2);
    fixture.statistics.method("ShouldRateLimit").totalRequests.add(4);
    fixture.statistics.rejectedCalls.add(2);
    fixture.statistics.callErrors.redis_error.add(1);
    fixture.statistics.method("ShouldRateLimit").responseTime.record(1, 3);
    fixture.statistics.method("Check").responseTime.record(1, 3);
    expect(await fixture.observer.sweep()).toMatchObject({
      startSeconds: 46_804,
      stepSeconds: 1,
      decisions: [4],
      rejections: [2],
      errors: [1],
      rules: [{ name: { domain: "shop", path: "shop.k" }, series: [[5], [2], [0], [0]] }],
    });
    fixture.count("shop.k", 1);
    const next = await fixture.observer.sweep();
    expect(next).toMatchObject({ decisions: [0], rejections: [0], errors: [0] });
    expect(seriesOf(next)).toEqual([["shop.k", [1], [0]]]);
    expect(present(next.latencies.flat())).toEqual([]);
    expect(seriesOf(await fixture.observer.sweep())).toEqual([]);
  });

  it("history() has what was counted in steps of ten seconds, and forgets what is older than ten minutes", async () => {
    const fixture = new Fixture();
    fixture.count("shop.k", 5, 2);
    fixture.statistics.method("ShouldRateLimit").responseTime.record(1, 3);
    await fixture.observer.sweep();
    fixture.nowMs += 10_000;
    fixture.count("shop.k", 1);
    fixture.statistics.method("ShouldRateLimit").totalRequests.add(7);
    await fixture.observer.sweep();
    const history = fixture.observer.history();
    expect([history.startSeconds, history.stepSeconds, history.decisions.length]).toEqual([46_210, 10, 61]);
    expect(present(history.decisions)).toEqual([[60, 7]]);
    expect(history.latencies.flatMap((bucket, index) => present(bucket).map((each) => [index, ...each]))).toEqual([
      [8, 59, 3],
    ]);
    const [rule] = history.rules;
    expect([present(rule?.series[0]), present(rule?.series[1])]).toEqual([[[59, 5], [60, 1]], [[59, 2]]]); // prettier-ignore
    fixture.nowMs += 590_000;
    expect(present(fixture.observer.history().rules[0]?.series[0])).toEqual([[0, 5], [1, 1]]); // prettier-ignore
    fixture.nowMs += 20_000;
    expect(present(fixture.observer.history().rules[0]?.series[0])).toEqual([]);
    await fixture.observer.sweep();
    expect(fixture.observer.history().rules).toEqual([]);
  });

  it("sweep() measures nothing else: the gauges of a scrape are about all time since the one before", async () => {
    const fixture = new Fixture();
    let reads = 0;
    fixture.store.onRead(() => (reads += 1));
    await fixture.observer.sweep();
    expect(reads).toBe(0);
  });

  it("watch() reports to no reader that has left during its first sweep", async () => {
    const fixture = new Fixture();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const reported: Observed[] = [];
    const watching = fixture.observer.watch({ observed: (each) => reported.push(each), failed: () => undefined });
    fixture.observer.unwatch();
    await watching;
    await vi.advanceTimersByTimeAsync(5000);
    vi.useRealTimers();
    await fixture.observer.stop();
    expect(reported).toEqual([]);
  });

  it("continues after sweeps that fail: logs them once, or reports them to the reader", async () => {
    const fixture = new Fixture();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    await fixture.observer.start();
    fixture.fault = new Error("no rules");
    for (let tick = 1; tick <= 2; tick++) {
      fixture.count("shop.k", 1);
      await vi.advanceTimersByTimeAsync(10_000);
    }
    expect(fixture.lines).toEqual([expect.stringMatching(/level=error msg="Cannot observe statistics" .*no rules/)]);
    fixture.fault = undefined;
    const reported: unknown[] = [];
    await fixture.observer.watch({
      observed: (each) => reported.push(...seriesOf(each)),
      failed: (error) => reported.push(error),
    });
    expect(fixture.observer.history().rules.flatMap(({ series }) => present(series[0]))).toEqual([[60, 2]]);
    fixture.count("other.k", 1);
    fixture.fault = new Error("no rules again");
    await vi.advanceTimersByTimeAsync(1000);
    const { fault } = fixture;
    fixture.fault = undefined;
    fixture.count("shop.k", 4);
    await vi.advanceTimersByTimeAsync(1000);
    vi.useRealTimers();
    await fixture.observer.stop();
    expect(reported).toEqual([fault, ["shop.k", [4], [0]]]);
    expect(fixture.lines).toHaveLength(1);
  });

  it("sweep() adds statistics with values of requests to those of their rule", async () => {
    const fixture = new Fixture();
    for (const value of ["a", "b"]) {
      const counters = fixture.store.dynamicRule(`shop.k_${value}`, "shop.k");
      if (counters !== undefined) counters.totalHits += 2;
    }
    fixture.count("shop.k", 1);
    expect(seriesOf(await fixture.observer.sweep())).toEqual([["shop.k", [5], [0]]]);
  });

  it("sweep() names the domain of a rule, of several whose names begin alike that with the rule", async () => {
    const fixture = new Fixture(["a", "a.b"]);
    for (const path of ["a.k", "a.b.k", "other.k"]) fixture.count(path, 1);
    const { rules } = await fixture.observer.sweep();
    expect(rules.map(({ name }) => name)).toEqual([
      { domain: "a", path: "a.k" },
      { domain: "a.b", path: "a.b.k" },
    ]);
  });

  it("sweep() observes 500 rules, and replaces the least used by one that is used more", async () => {
    const domains = Array.from({ length: 502 }, (_, index) => `d${index}`);
    const fixture = new Fixture(domains);
    for (let index = 0; index < 500; index++) fixture.count(`d${index}.k`, index === 7 ? 1 : 3);
    await fixture.observer.sweep();
    fixture.count("d500.k", 2);
    fixture.count("d501.k", 1);
    expect(seriesOf(await fixture.observer.sweep())).toEqual([["d500.k", [2], [0]]]);
    const paths = new Set(fixture.observer.history().rules.map(({ name }) => name.path));
    expect([paths.size, paths.has("d7.k"), paths.has("d500.k"), paths.has("d501.k")]).toEqual([
      500,
      false,
      true,
      false,
    ]);
  });

  it.each([
    { ms: 0, bucket: 0 },
    { ms: 1 / 16, bucket: 0 },
    { ms: 0.08, bucket: 1 },
    { ms: 1, bucket: 8 },
    { ms: 1.01, bucket: 9 },
    { ms: 60_000, bucket: 31 },
  ])("bucketOf() has $ms ms in bucket $bucket", ({ ms, bucket }) => {
    expect(bucketOf(ms)).toBe(bucket);
  });
});
