import type { RateLimitConfigModel } from "@weir/limits/model/model";
import { describe, expect, it, vi } from "vitest";

import { ConfigError } from "../config/errors.ts";
import { Health } from "../health/health.ts";
import { ServiceStatistics } from "../statistics/service-statistics.ts";
import { StatisticsStore } from "../statistics/statistics-store.ts";
import { ActiveRules } from "./active-rules.ts";
import { configuration, descriptor, limit } from "@weir/limits/rules/configuration.suite";
import { parseRuleFile } from "@weir/limits/rule-file/rule-file";

function setUp(
  options: { mergeDomains: boolean } = { mergeDomains: false },
  cellsProblem?: () => Promise<string>,
): {
  rules: ActiveRules;
  store: StatisticsStore;
  statistics: ServiceStatistics;
  health: Health;
} {
  const store = new StatisticsStore({ maxDynamicKeys: 10 });
  const statistics = new ServiceStatistics(store);
  const health = new Health({ withConfig: true, withActiveConnection: false });
  health.set("start", true);
  return { rules: new ActiveRules({ store, statistics, health, cellsProblem }, options), store, statistics, health };
}

function config(name: string, text: string): RateLimitConfigModel {
  const file = parseRuleFile(name, text);
  if (!file.ok) throw new Error(file.message);
  return file.model;
}

/** The statistics keys of the rules in the store. */
function rulesIn(store: StatisticsStore): readonly string[] {
  const names: string[] = [];
  const rule = ({ prefix }: { readonly prefix: string }): unknown => names.push(prefix.slice(RULE_SCOPE.length));
  store.walk({ counter: () => undefined, rule, gauge: () => undefined, timer: () => undefined }).toArray();
  return names.toSorted();
}

const RULE_SCOPE = "ratelimit.service.rate_limit.";

const ONE =
  "domain: test-domain\ndescriptors: [{key: key1, value: value1, rate_limit: {unit: minute, requests_per_unit: 10}}]\n";
const OTHER =
  "domain: test-domain\ndescriptors: [{key: key2, value: value2, rate_limit: {unit: minute, requests_per_unit: 20}}]\n";

const BUCKET =
  "domain: test-domain\ndescriptors: [{key: a, descriptors: [{key: b, rate_limit: {unit: minute, requests_per_unit: 10, algorithm: token_bucket}}]}]\n";

describe("ActiveRules", () => {
  it("apply() refuses what the store cannot count, names the rule, and keeps the set before", async () => {
    const { rules } = setUp({ mergeDomains: false }, () => Promise.resolve("memcached counts fixed windows"));
    expect(await rules.apply([config("one.yaml", ONE)])).toBeUndefined();
    const error = await rules.apply([config("bucket.yaml", BUCKET)]);
    expect(error).toMatchObject({
      code: "CONFIG_INVALID",
      message: "bucket.yaml: test-domain.a.b: memcached counts fixed windows",
    });
    expect(rules.current()?.dump()).toContain("key1_value1");
    expect(await setUp().rules.apply([config("bucket.yaml", BUCKET)])).toBeUndefined();
  });

  it("current() is undefined before the first good load", () => {
    expect(setUp().rules.current()).toBeUndefined();
  });

  it("apply() makes a set active, counts it, and sets health (case 176)", async () => {
    const { rules, statistics, health } = setUp();
    expect(await rules.apply([config("one.yaml", ONE)])).toBeUndefined();
    await rules.first;
    expect(rules.current()?.dump()).toBe(
      "test-domain.key1_value1: unit=MINUTE requests_per_unit=10, shadow_mode: false, quota_mode: false\n",
    );
    expect([statistics.configLoadSuccess.value, statistics.configLoadError.value]).toEqual([1, 0]);
    expect(health.isHealthy()).toBe(true);
  });

  it("apply() makes a partial set active, which is neither the first nor enough for health", async () => {
    const { rules, health } = setUp();
    let hasFirst = false;
    void rules.first.then(() => (hasFirst = true));
    await rules.apply([config("one.yaml", ONE)], { isPartial: true });
    expect(rules.current()?.domains).toBe(1);
    expect([hasFirst, health.isHealthy()]).toEqual([false, false]);
    await rules.apply([config("one.yaml", ONE)]);
    await rules.first;
    expect(health.isHealthy()).toBe(true);
  });

  it("apply() takes an empty set as a load, and health sees that no domain is left (case 176)", async () => {
    const { rules, statistics, health } = setUp();
    await rules.apply([config("one.yaml", ONE)]);
    expect(await rules.apply([])).toBeUndefined();
    expect(rules.current()?.domains).toBe(0);
    expect(statistics.configLoadSuccess.value).toBe(2);
    expect(health.isHealthy()).toBe(false);
  });

  it("apply() refuses two files of one domain when domains are not merged, and keeps the active rules (cases 28, 146, 191)", async () => {
    const { rules, statistics, health } = setUp();
    await rules.apply([config("one.yaml", ONE)]);
    const before = rules.current();
    const error = await rules.apply([config("one.yaml", ONE), config("duplicate_domain.yaml", OTHER)]);
    expect(error).toMatchObject({
      code: "CONFIG_INVALID",
      message: "duplicate_domain.yaml: duplicate domain 'test-domain' in config file",
      problem: { config: 1, path: ["domain"] },
    });
    expect(rules.current()).toBe(before);
    expect([statistics.configLoadSuccess.value, statistics.configLoadError.value]).toEqual([1, 1]);
    expect(health.isHealthy()).toBe(true);
  });

  it("apply() merges two files of one domain when asked to (cases 19, 191)", async () => {
    const { rules } = setUp({ mergeDomains: true });
    await rules.apply([config("one.yaml", ONE), config("two.yaml", OTHER)]);
    expect(rules.current()?.dump()).toBe(
      "test-domain.key1_value1: unit=MINUTE requests_per_unit=10, shadow_mode: false, quota_mode: false\n" +
        "test-domain.key2_value2: unit=MINUTE requests_per_unit=20, shadow_mode: false, quota_mode: false\n",
    );
  });

  it("apply() refuses the same file twice when domains are merged (case 31)", async () => {
    const { rules } = setUp({ mergeDomains: true });
    expect((await rules.apply([config("one.yaml", ONE), config("two.yaml", ONE)]))?.message).toBe(
      "two.yaml: duplicate descriptor composite key 'test-domain.key1_value1'",
    );
    expect(rules.current()).toBeUndefined();
  });

  it("apply() keeps what has not changed: rules, counters, and those of rules elsewhere with the path of a rule that goes", async () => {
    const { rules, store } = setUp();
    const entry = (key: string) => [{ key, value: "" }];
    const limited = (domain: string, ...keys: readonly string[]): RateLimitConfigModel =>
      configuration(
        domain,
        keys.map((key) => descriptor({ key, rateLimit: limit(1, "day") })),
      );
    // The path of c in a.b is that of b.c in a.
    const [one, twin] = [limited("one", "k"), limited("a.b", "c")];
    await rules.apply([one, twin, limited("a", "b.c", "gone", "stays")]);
    const kept = rules.current()?.domain("one");
    const stays = rules.current()?.domain("a")?.match(entry("stays"))?.attachment;
    await rules.apply([one, twin, limited("a", "stays", "new")]);
    expect(rules.current()?.domain("one")).toBe(kept);
    expect(rules.current()?.domain("a")?.match(entry("stays"))?.attachment).toBe(stays);
    expect(rulesIn(store)).toEqual(["a.b.c", "a.new", "a.stays", "one.k"]);
    await rules.apply([one]);
    expect(rulesIn(store)).toEqual(["one.k"]);
  });

  it("apply() checks domains that have changed, with what they were not checked with before", async () => {
    const { rules } = setUp({ mergeDomains: true });
    const one = config("one.yaml", ONE);
    const other = config("other.yaml", OTHER);
    const apart = config("apart.yaml", ONE.replace("test-domain", "apart"));
    expect(await rules.apply([one, apart])).toBeUndefined();
    const again = config("again.yaml", ONE);
    expect((await rules.apply([one, apart, again]))?.message).toBe(
      "again.yaml: duplicate descriptor composite key 'test-domain.key1_value1'",
    );
    expect(await rules.apply([one, other, apart])).toBeUndefined();
    expect(await rules.apply([other, one, apart])).toBeUndefined();
    expect(
      rules
        .current()
        ?.domain("test-domain")
        ?.rules.map(({ path }) => path),
    ).toEqual(["test-domain.key2_value2", "test-domain.key1_value1"]);
  });

  it("apply() makes sets active in the order of the calls, and lets calls be decided in between", async () => {
    const { rules } = setUp();
    const many = (count: number): RateLimitConfigModel =>
      configuration(
        "d",
        Array.from({ length: count }, (_, index) => descriptor({ key: `k${index}`, rateLimit: limit(1, "day") })),
      );
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 0);
    const large = rules.apply([many(30_000)]);
    const small = rules.apply([many(1)]);
    await large;
    clearInterval(timer);
    expect(turns).toBeGreaterThan(3);
    expect(rules.current()?.domain("d")?.rules.length).toBe(30_000);
    await small;
    expect(rules.current()?.domain("d")?.rules.length).toBe(1);
  });

  it("apply() lets calls be decided after a millisecond, over all parts of an edit of one of many configurations", async () => {
    await new Promise((resolve) => setImmediate(resolve)); // The slice of the test before ends.
    let nowMs = 0;
    vi.spyOn(performance, "now").mockImplementation(() => nowMs);
    const { rules } = setUp({ mergeDomains: false }, () => Promise.resolve("memcached counts fixed windows"));
    const of = (index: number): RateLimitConfigModel => ({
      ...configuration("", [descriptor({ key: "k", rateLimit: limit(1, "day") })]),
      get domain() {
        nowMs += 0.005;
        return `domain-${index}`;
      },
    });
    const configs = Array.from({ length: 2000 }, (_, index) => of(index));
    await rules.apply(configs);
    let [turnMs, longestMs] = [nowMs, 0];
    let isActive = false;
    const turn = (): void => {
      longestMs = Math.max(longestMs, nowMs - turnMs);
      turnMs = nowMs;
      if (!isActive) setImmediate(turn);
    };
    setImmediate(turn);
    await rules.apply(configs.with(7, of(7)));
    isActive = true;
    turn();
    vi.restoreAllMocks();
    // A slice of 1 ms, and the step that ends it: of 64 configurations, or two at the end of a list.
    expect(longestMs).toBeLessThan(1.65);
  });

  it("reject() counts a failed load, and keeps the active rules", async () => {
    const { rules, statistics } = setUp();
    await rules.apply([config("one.yaml", ONE)]);
    const before = rules.current();
    rules.reject(new ConfigError("CONFIG_INVALID", "one.yaml: error checking config"));
    expect(rules.current()).toBe(before);
    expect([statistics.configLoadSuccess.value, statistics.configLoadError.value]).toEqual([1, 1]);
  });

  it("config_rejected is 1 from a rejected set, of either kind, to the next that becomes active", async () => {
    const { rules, statistics } = setUp();
    const error = new ConfigError("CONFIG_INVALID", "one.yaml: error checking config");
    const duplicates = [config("one.yaml", ONE), config("duplicate_domain.yaml", OTHER)];
    const loads = [
      () => Promise.resolve().then(() => rules.reject(error)),
      () => rules.apply([config("one.yaml", ONE)]),
      () => rules.apply(duplicates),
      () => rules.apply([]),
    ];
    const values: number[] = [];
    for (const load of loads) {
      await load();
      values.push(statistics.configRejected.value);
    }
    expect(values).toEqual([1, 0, 1, 0]);
  });
});
