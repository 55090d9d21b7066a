// The counters of compiled rules in the statistics store, by the conformance cases.
import { Random } from "@weir/harness/processes/random";
import { inOneGo } from "@weir/limits/model/in-one-go";
import type { DescriptorModel, RateLimitConfigModel } from "@weir/limits/model/model";
import { configuration, CONFIGURATION_B, descriptor, entries, limit } from "@weir/limits/rules/configuration.suite";
import { changedDomainSteps } from "@weir/limits/rules/compile";
import { pathsOf } from "@weir/limits/rules/limit-paths";
import { firstCellSteps } from "@weir/limits/validate/plain-counts";
import { setProblemSteps } from "@weir/limits/validate/validate";
import { describe, expect, it } from "vitest";
import { StatisticsStore } from "../statistics/statistics-store.ts";
import { compileCountedRules, type CountedRules, countedRulesSteps, dropStatisticsSteps } from "./counted-rules.ts";

/** The names of the statistics of all rules in the store. */
function rulesIn(statistics: StatisticsStore): string[] {
  const names: string[] = [];
  statistics.walkRules(({ prefix }) => names.push(prefix)).toArray();
  return names.toSorted();
}

describe("compileCountedRules()", () => {
  it("compileCountedRules() makes the counters of every rule at zero, those of unlimited rules too", () => {
    const statistics = new StatisticsStore({ maxDynamicKeys: 10 });
    compileCountedRules([CONFIGURATION_B], statistics);
    expect(rulesIn(statistics)).toEqual(
      [
        "ratelimit.service.rate_limit.test-domain.key1_value1.subkey1",
        "ratelimit.service.rate_limit.test-domain.key1_value1.subkey1_subvalue1",
        "ratelimit.service.rate_limit.test-domain.key2",
        "ratelimit.service.rate_limit.test-domain.key2_value2",
        "ratelimit.service.rate_limit.test-domain.key3",
        "ratelimit.service.rate_limit.test-domain.key4",
        "ratelimit.service.rate_limit.test-domain.key5_value5.subkey5_subvalue5",
        "ratelimit.service.rate_limit.test-domain.key5_value5",
        "ratelimit.service.rate_limit.test-domain.key6",
        "ratelimit.service.rate_limit.test-domain.key7",
      ].toSorted(),
    );
  });

  it("compileCountedRules() makes counters with the name of each of several limits, also under keys of requests", () => {
    const statistics = new StatisticsStore({ maxDynamicKeys: 10 });
    const limits = [limit(5, "second", { name: "burst" }), limit(100, "minute", { name: "steady" })];
    const rules = compileCountedRules(
      [configuration("d", [descriptor({ key: "k", rateLimits: limits, detailedMetric: true })])],
      statistics,
    );
    const { attachments } = rules.domain("d")!.match(entries("k=first"))!;
    expect(attachments?.map(({ prefix, limit: name, isDynamic }) => [prefix, name, isDynamic])).toEqual([
      ["ratelimit.service.rate_limit.d.k_first.burst", "burst", true],
      ["ratelimit.service.rate_limit.d.k_first.steady", "steady", true],
    ]);
    expect(statistics.rule("d.k.burst").limit).toBe("burst");
  });

  it("compileCountedRules() keeps the counters of unchanged keys when it is called again", () => {
    const statistics = new StatisticsStore({ maxDynamicKeys: 10 });
    const first = compileCountedRules([CONFIGURATION_B], statistics).domain("test-domain")?.match(entries("key3=a"));
    if (first !== undefined) first.attachment.totalHits += 7;
    const second = compileCountedRules(
      [configuration("test-domain", [descriptor({ key: "key3", rateLimit: limit(9, "second") })])],
      statistics,
    );
    expect(second.domain("test-domain")?.match(entries("key3=a"))?.attachment.totalHits).toBe(7);
  });

  it("match() counts under the rule's own key and says so when there can be no further dynamic key", () => {
    const statistics = new StatisticsStore({ maxDynamicKeys: 1 });
    const rules = compileCountedRules(
      [configuration("d", [descriptor({ key: "k", rateLimit: limit(10, "minute"), detailedMetric: true })])],
      statistics,
    );
    expect(rules.domain("d")?.match(entries("k=first"))?.attachment.prefix).toBe(
      "ratelimit.service.rate_limit.d.k_first",
    );
    expect(rules.domain("d")?.match(entries("k=second"))?.attachment.prefix).toBe("ratelimit.service.rate_limit.d.k");
    expect(rules.domain("d")?.match(entries("k=first"))?.attachment.prefix).toBe(
      "ratelimit.service.rate_limit.d.k_first",
    );
    expect(statistics.counter("ratelimit.service.stats_keys_dropped").value).toBe(1);
  });

  it("case 22: override() keeps the same counters when a later request has another limit", () => {
    const rules = compileCountedRules([CONFIGURATION_B], new StatisticsStore({ maxDynamicKeys: 10 })).domain(
      "test-domain",
    );
    const pairs = entries("key1=value1", "subkey1=something");
    const first = rules?.override(pairs, { requestsPerUnit: 10, unit: 4 });
    if (first !== undefined) first.attachment.totalHits += 1;
    const second = rules?.override(pairs, { requestsPerUnit: 42, unit: 3 });
    if (second !== undefined) second.attachment.totalHits += 1;
    expect(second?.rule).toMatchObject({ limit: { requestsPerUnit: 42 }, windowSeconds: 3600 });
    expect(second?.attachment.totalHits).toBe(2);
  });

  it("case 23: override() has counters of its own when the entries differ", () => {
    const rules = compileCountedRules([CONFIGURATION_B], new StatisticsStore({ maxDynamicKeys: 10 })).domain(
      "test-domain",
    );
    const first = rules?.override(entries("key1=value1", "subkey1=something"), { requestsPerUnit: 10, unit: 4 });
    const second = rules?.override(entries("key1=value1", "subkey1=something_else"), { requestsPerUnit: 42, unit: 3 });
    expect(second?.attachment).not.toBe(first?.attachment);
  });
});

describe("dropStatisticsSteps()", () => {
  const LIMITS = [limit(5, "second", { name: "c" }), limit(100, "minute", { name: "d" })];

  /** Rules whose paths are often those of rules of other levels and domains. */
  function randomLevel(random: Random, depth = 0): readonly DescriptorModel[] {
    return ["b", "c", "d", "b.c", "c.d"]
      .filter(() => random.oneIn(2))
      .map((key) =>
        descriptor({
          key,
          ...random.pick([{}, { rateLimit: limit(1, "day") }, { rateLimits: LIMITS }]),
          descriptors: depth < 2 && random.oneIn(3) ? randomLevel(random, depth + 1) : [],
        }),
      );
  }

  it("dropStatisticsSteps() leaves the statistics of the rules of the set after, and no others, over random edits", () => {
    const random = new Random(1);
    const statistics = new StatisticsStore({ maxDynamicKeys: 10 });
    let configs: readonly RateLimitConfigModel[] = [];
    let before: CountedRules | undefined;
    for (let edit = 0; edit < 500; edit++) {
      configs = ["a", "a.b", "a.b.c", "a.c"]
        .filter(() => !random.oneIn(4))
        .map((domain) => {
          const known = random.oneIn(2) ? configs.find((config) => config.domain === domain) : undefined;
          return known ?? configuration(domain, randomLevel(random));
        });
      const after = inOneGo(countedRulesSteps(configs, statistics, before));
      inOneGo(dropStatisticsSteps(statistics, before, after));
      const paths = [...after.all()].flatMap(({ rules }) => rules.flatMap(pathsOf));
      const names = [...new Set(paths)].map((path) => `ratelimit.service.rate_limit.${path}`);
      expect(rulesIn(statistics)).toEqual(names.toSorted());
      before = after;
    }
  });

  it("dropStatisticsSteps() looks for a domain once, however many of its rules are gone", () => {
    const statistics = new StatisticsStore({ maxDynamicKeys: 10 });
    const config = (name: string): RateLimitConfigModel =>
      configuration(
        "d",
        Array.from({ length: 1000 }, (_, index) => descriptor({ key: `${name}${index}`, rateLimit: limit(1, "day") })),
      );
    const before = compileCountedRules([config("old")], statistics);
    const after = inOneGo(countedRulesSteps([config("new")], statistics, before));
    const sought: string[] = [];
    const domain: CountedRules["domain"] = (name) => {
      sought.push(name);
      return after.domain(name);
    };
    inOneGo(dropStatisticsSteps(statistics, before, { ...after, domain }));
    expect(sought).toEqual(["d"]);
    expect(rulesIn(statistics)).toHaveLength(1000);
  });
});

describe("an edit of one of many configurations", () => {
  const statistics = new StatisticsStore({ maxDynamicKeys: 10 });
  const config = (index: number, requests: number): RateLimitConfigModel =>
    configuration(`domain-${index}`, [descriptor({ key: "key", rateLimit: limit(requests, "day") })]);
  const all = Array.from({ length: 6400 }, (_, index) => config(index, 1));
  const before = compileCountedRules(all, statistics);
  const edited = all.with(0, config(0, 2));
  const changed = inOneGo(changedDomainSteps(edited, before));
  const after = inOneGo(countedRulesSteps(edited, statistics, before));

  it.each<[string, () => Iterator<unknown>]>([
    ["finds what changed", () => changedDomainSteps(edited, before)],
    ["is validated", () => setProblemSteps(edited, { mergeDomains: false, changed })],
    ["is checked for limits that a store may lack", () => firstCellSteps(edited, { changed })],
    ["is compiled", () => countedRulesSteps(edited, statistics, before)],
    ["drops statistics", () => dropStatisticsSteps(statistics, before, after)],
  ])("%s in steps of at most 64 of them", (_what, stepsOf) => {
    const steps = stepsOf();
    let taken = 0;
    while (steps.next().done !== true) taken += 1;
    expect(taken).toBeGreaterThanOrEqual(6400 / 64);
    expect(taken).toBeLessThan((6400 / 64) * 3);
  });
});
