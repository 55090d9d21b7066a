// The counters of compiled rules in the statistics store, by the conformance cases.
import { configuration, CONFIGURATION_B, descriptor, entries, limit } from "@weir/limits/rules/configuration.suite";
import { describe, expect, it } from "vitest";
import { StatisticsStore } from "../statistics/statistics-store.ts";
import { compileCountedRules } from "./counted-rules.ts";

describe("compileCountedRules()", () => {
  it("compileCountedRules() makes the counters of every rule at zero, those of unlimited rules too", () => {
    const statistics = new StatisticsStore({ maxDynamicKeys: 10 });
    compileCountedRules([CONFIGURATION_B], statistics);
    const names: string[] = [];
    statistics
      .walk({
        counter: () => undefined,
        rule: ({ prefix }) => names.push(prefix),
        gauge: () => undefined,
        timer: () => undefined,
      })
      .toArray();
    expect(names.toSorted()).toEqual(
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
