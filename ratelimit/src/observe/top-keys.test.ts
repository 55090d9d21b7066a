// The keys that count most, of decisions.
import type { DescriptorModel } from "@weir/limits/model/model";
import { configuration, descriptor, entries, limit } from "@weir/limits/rules/configuration.suite";
import { Random } from "@weir/harness/processes/random";
import { describe, expect, it } from "vitest";
import { compileCountedRules } from "../config/counted-rules.ts";
import { MemoryCounter } from "../counters/memory/memory-counter.ts";
import { DeciderFixture, type DeciderFixtureOptions } from "../decide/decider.suite.ts";
import type { KeyCounts } from "./space-saving.ts";
import type { RuleKey, RuleKeyCounts } from "./rule-keys.ts";
import { TopKeys } from "./top-keys.ts";

const RULES = [
  descriptor({ key: "ip", rateLimit: limit(3, "hour") }),
  descriptor({ key: "shadow", rateLimit: limit(0, "hour"), shadowMode: true }),
  descriptor({ key: "path", value: "/login", rateLimit: limit(0, "hour") }),
  descriptor({ key: "tenant", value: "a", descriptors: [descriptor({ key: "user", rateLimit: limit(0, "hour") })] }),
  descriptor({ key: "shared", value: "x*", shareThreshold: true, rateLimit: limit(0, "hour") }),
];

function open(options: Partial<DeciderFixtureOptions> = {}, random: () => number = () => 0): DeciderFixture {
  return new DeciderFixture({
    configs: [configuration("shop", RULES)],
    counter: new MemoryCounter({ maxKeys: 10_000 }),
    nowSeconds: 3000,
    topKeys: (rules) => new TopKeys({ capacity: 4, rules, random }),
    ...options,
  });
}

function decide(fixture: DeciderFixture, times: number, ...pairs: readonly string[]): void {
  for (let time = 0; time < times; time++)
    fixture.decide({ domain: "shop", descriptors: [{ entries: entries(...pairs) }] });
}

function read(fixture: DeciderFixture, path: string): RuleKeyCounts | undefined {
  return fixture.topKeys?.read([{ domain: "shop", path }], Math.floor(fixture.nowMs / 1000))[0];
}

/** Values, count and error of each key. */
function list(counts: KeyCounts<RuleKey> | undefined): readonly (readonly [string, number, number])[] | undefined {
  return counts?.keys.map(({ key, count, error }) => [key.values.join(" "), count, error]);
}

describe("TopKeys", () => {
  it("counts all hits over the limit, and the hits of each key", () => {
    const fixture = open();
    decide(fixture, 5, "ip=192.0.2.1");
    decide(fixture, 2, "ip=192.0.2.2");
    decide(fixture, 4, "ip=192.0.2.3");
    const counts = read(fixture, "shop.ip");
    expect(counts).toMatchObject({ domain: "shop", path: "shop.ip", sinceSeconds: 3000, levels: [{ key: "ip" }] });
    expect([counts?.overLimit.total, counts?.hits.total]).toEqual([3, 11]);
    expect(list(counts?.overLimit)).toEqual([
      ["192.0.2.1", 2, 0],
      ["192.0.2.3", 1, 0],
    ]);
    expect(list(counts?.hits)).toEqual([
      ["192.0.2.1", 5, 0],
      ["192.0.2.3", 4, 0],
      ["192.0.2.2", 2, 0],
    ]);
  });

  it("counts the part of the hits that is over the limit, as over_limit does", () => {
    const fixture = open();
    fixture.decide({ domain: "shop", descriptors: [{ entries: entries("ip=a"), hitsAddend: 5n }] });
    expect(list(read(fixture, "shop.ip")?.overLimit)).toEqual([["a", 2, 0]]);
  });

  it("counts what a rule in shadow mode would reject, and what the local cache rejects", () => {
    const fixture = open({ localCacheBytes: 100_000 });
    decide(fixture, 2, "shadow=a");
    decide(fixture, 6, "ip=a");
    expect(list(read(fixture, "shop.shadow")?.overLimit)).toEqual([["a", 2, 0]]);
    expect(list(read(fixture, "shop.ip")?.overLimit)).toEqual([["a", 3, 0]]);
    expect(fixture.counted()["rate_limit.shop.ip.over_limit_with_local_cache"]).toBe(2);
  });

  it("has the values of those levels that the rule does not name, and no keys of a rule that names all", () => {
    const fixture = open();
    decide(fixture, 1, "tenant=a", "user=u");
    decide(fixture, 1, "path=/login");
    decide(fixture, 1, "shared=xyz");
    expect(list(read(fixture, "shop.tenant_a.user")?.overLimit)).toEqual([["u", 1, 0]]);
    expect(read(fixture, "shop.tenant_a.user")?.levels).toEqual([{ index: 1, key: "user", isShown: false }]);
    expect(read(fixture, "shop.path_/login")).toBeUndefined();
    expect(read(fixture, "shop.shared_x*")).toBeUndefined();
  });

  it("marks the levels whose values the rule shows, from the next call after an edit", () => {
    const below = descriptor({ key: "path", value: "/*", showValues: true, rateLimit: limit(0, "hour") });
    const fixture = open({
      configs: [configuration("shop", [descriptor({ key: "user", descriptors: [below] }), ...RULES])],
    });
    decide(fixture, 1, "user=ada", "path=/search");
    expect(read(fixture, "shop.user.path_/*")?.levels).toEqual([
      { index: 0, key: "user", isShown: false },
      { index: 1, key: "path", isShown: true },
    ]);
    const shown = descriptor({ key: "ip", showValues: true, rateLimit: limit(3, "hour") });
    decide(fixture, 1, "ip=192.0.2.1");
    fixture.rules = compileCountedRules([configuration("shop", [shown])], fixture.store);
    expect(read(fixture, "shop.ip")).toBeUndefined();
    decide(fixture, 1, "ip=192.0.2.1");
    expect(read(fixture, "shop.ip")?.levels).toEqual([{ index: 0, key: "ip", isShown: true }]);
  });

  it("has no keys of limits that requests bring along", () => {
    const fixture = open();
    const own = { requestsPerUnit: 0, unit: 1 };
    fixture.decide({ domain: "shop", descriptors: [{ entries: entries("ip=a"), limit: own }] });
    expect(read(fixture, "shop.override")).toBeUndefined();
    expect(read(fixture, "shop.ip")).toBeUndefined();
  });

  it("reads the last two panes of five minutes, and forgets what is older", () => {
    const fixture = open();
    decide(fixture, 3, "shadow=a");
    fixture.nowMs += 300_000;
    decide(fixture, 1, "shadow=a");
    decide(fixture, 1, "shadow=b");
    expect(list(read(fixture, "shop.shadow")?.overLimit)).toEqual([
      ["a", 4, 0],
      ["b", 1, 0],
    ]);
    fixture.nowMs += 300_000;
    expect(list(read(fixture, "shop.shadow")?.overLimit)).toEqual([
      ["a", 1, 0],
      ["b", 1, 0],
    ]);
    expect(read(fixture, "shop.shadow")?.sinceSeconds).toBe(3300);
    fixture.nowMs += 600_000;
    expect(list(read(fixture, "shop.shadow")?.overLimit)).toEqual([]);
  });

  it("cuts texts at 64 bytes, to whole characters, and counts keys that agree in these as one", () => {
    const fixture = open();
    const long = "€".repeat(30);
    decide(fixture, 1, `shadow=${long}`);
    decide(fixture, 1, `shadow=${"x".repeat(100)}`);
    decide(fixture, 2, `shadow=${"x".repeat(99)}y`);
    const [first, second] = read(fixture, "shop.shadow")?.overLimit.keys ?? [];
    expect(first).toEqual({ key: { values: ["x".repeat(64)], cutFrom: 0 }, count: 3, error: 0 });
    expect(second?.key).toEqual({ values: ["€".repeat(21)], cutFrom: 0 });
  });

  it("keeps the keys of a rule when other rules of its domain change, and when its limit does", () => {
    const fixture = open();
    const edit = (...rules: readonly DescriptorModel[]): void => {
      fixture.rules = compileCountedRules([configuration("shop", rules)], fixture.store);
    };
    decide(fixture, 1, "tenant=a", "user=u");
    edit(descriptor({ key: "new", rateLimit: limit(1, "day") }), ...RULES);
    expect(list(read(fixture, "shop.tenant_a.user")?.overLimit)).toEqual([["u", 1, 0]]);
    const rateLimits = [limit(0, "second", { name: "burst" }), limit(0, "hour", { name: "steady" })];
    edit(
      descriptor({
        key: "tenant",
        value: "a",
        descriptors: [descriptor({ key: "user", rateLimits })],
      }),
    );
    expect(list(read(fixture, "shop.tenant_a.user.burst")?.overLimit)).toEqual([["u", 1, 0]]);
    expect(read(fixture, "shop.tenant_a.user")).toBeUndefined();
    decide(fixture, 1, "tenant=a", "user=v");
    expect(list(read(fixture, "shop.tenant_a.user.burst")?.overLimit)).toEqual([
      ["u", 1, 0],
      ["v", 1, 0],
    ]);
    edit(descriptor({ key: "tenant", value: "a", rateLimit: limit(0, "hour") }));
    expect(read(fixture, "shop.tenant_a.user.burst")).toBeUndefined();
  });

  it("has no keys of a rule whose levels have changed until it is used again: other values may be shown", () => {
    const wildcard = descriptor({ key: "shared", value: "x*", rateLimit: limit(0, "hour") });
    const fixture = open({ configs: [configuration("shop", [wildcard])] });
    decide(fixture, 1, "shared=xyz");
    expect(list(read(fixture, "shop.shared_x*")?.overLimit)).toEqual([["xyz", 1, 0]]);
    for (const edited of [
      { ...wildcard, showValues: true },
      { ...wildcard, shareThreshold: true },
    ]) {
      fixture.rules = compileCountedRules([configuration("shop", [edited])], fixture.store);
      expect(read(fixture, "shop.shared_x*")).toBeUndefined();
    }
    fixture.rules = compileCountedRules([configuration("other", [wildcard])], fixture.store);
    expect(read(fixture, "shop.shared_x*")).toBeUndefined();
  });

  it("samples calls when there are many, and estimates their hits", () => {
    const random = new Random(1);
    const fixture = open({}, () => random.below(1000) / 1000);
    const chosen = new Random(2);
    for (let call = 0; call < 20_000; call++) decide(fixture, 1, `ip=${chosen.oneIn(4) ? "b" : "a"}`);
    const counts = read(fixture, "shop.ip")?.hits;
    expect(counts?.total).toBeGreaterThan(16_000);
    expect(counts?.total).toBeLessThan(24_000);
    const [share = 0] = (list(counts) ?? []).map(([, count]) => count / (counts?.total ?? 1));
    expect(share).toBeGreaterThan(0.65);
    expect(share).toBeLessThan(0.85);
  });

  it("has the keys of a rule with several limits under the path of each", () => {
    const rateLimits = [limit(0, "second", { name: "burst" }), limit(0, "hour", { name: "steady" })];
    const fixture = open({
      configs: [configuration("shop", [descriptor({ key: "k", rateLimits, shadowMode: true })])],
    });
    decide(fixture, 2, "k=a");
    expect(["shop.k.burst", "shop.k.steady", "shop.k"].map((path) => list(read(fixture, path)?.overLimit))).toEqual([
      [["a", 2, 0]],
      [["a", 2, 0]],
      undefined,
    ]);
    expect(read(fixture, "shop.k.burst")?.path).toBe("shop.k.burst");
  });

  it("has keys of 500 rules, and admits another one in place of the least used", () => {
    const many = Array.from({ length: 502 }, (_, index) =>
      descriptor({ key: `k${index}`, rateLimit: limit(0, "hour"), shadowMode: true }),
    );
    const fixture = open({ configs: [configuration("shop", many)] });
    for (let index = 0; index < 500; index++) decide(fixture, index === 7 ? 1 : 2, `k${index}=a`);
    decide(fixture, 1, "k500=a");
    decide(fixture, 1, "k501=a");
    // One in each second.
    expect([7, 8, 500, 501].map((index) => list(read(fixture, `shop.k${index}`)?.overLimit))).toEqual([
      undefined,
      [["a", 2, 0]],
      [["a", 1, 0]],
      undefined,
    ]);
  });
});
