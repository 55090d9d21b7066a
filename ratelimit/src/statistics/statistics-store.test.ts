// The store of statistics: identity by name, bounds, and what a visit shows.
import { describe, expect, it } from "vitest";
import { ServiceStatistics } from "./service-statistics.ts";
import { writeStatisticsText } from "./stats-page.ts";
import { StatisticsStore } from "./statistics-store.ts";

const DROPPED = "ratelimit.service.stats_keys_dropped";

function textOf(store: StatisticsStore): string {
  return [...writeStatisticsText(store, new Map())].join("");
}

/** How many things the store knows, whatever they are. */
function countNames(store: StatisticsStore): number {
  let count = 0;
  const add = (): void => void (count += 1);
  store.walk({ counter: add, rule: add, gauge: add, timer: add }).toArray();
  return count;
}

function ruleNames(store: StatisticsStore): string[] {
  const names: string[] = [];
  store
    .walk({
      counter: () => undefined,
      rule: ({ prefix }) => names.push(prefix),
      gauge: () => undefined,
      timer: () => undefined,
    })
    .toArray();
  return names.sort();
}

describe("StatisticsStore", () => {
  it("counter(), gauge() and timer() give the same object when the name is the same", () => {
    const store = new StatisticsStore({ maxDynamicKeys: 1 });
    expect(store.counter("a")).toBe(store.counter("a"));
    expect(store.gauge("a")).toBe(store.gauge("a"));
    expect(store.timer("a")).toBe(store.timer("a"));
    store.counter("a").add(2);
    store.counter("a").add(3);
    expect(store.counter("a").value).toBe(5);
  });

  it("timer() keeps count, sum and maximum, and calls its listeners until they are removed", () => {
    const store = new StatisticsStore({ maxDynamicKeys: 1 });
    const received: string[] = [];
    const leave = store.onTimer(({ name }, durationMs) => received.push(`${name} ${durationMs}`));
    store.timer("t").record(2.5);
    store.timer("t").record(1);
    leave();
    store.timer("t").record(4);
    expect(store.timer("t")).toMatchObject({ count: 3, sumMs: 7.5, maxMs: 4 });
    expect(received).toEqual(["t 2.5", "t 1"]);
  });

  it("dropRule() drops the counters of a rule, and of one that is not there nothing", () => {
    const store = new StatisticsStore({ maxDynamicKeys: 1 });
    const kept = store.rule("d.a");
    const gone = store.rule("d.b");
    for (const key of ["d.b", "d.b", "d.c"]) store.dropRule(key);
    expect(ruleNames(store)).toEqual(["ratelimit.service.rate_limit.d.a"]);
    expect(store.rule("d.a")).toBe(kept);
    expect(store.rule("d.b")).not.toBe(gone);
  });

  it("dropRule() keeps the counters of a key that another rule has", () => {
    const store = new StatisticsStore({ maxDynamicKeys: 1 });
    const counters = store.addRule("a.b.c");
    expect(store.addRule("a.b.c")).toBe(counters);
    store.dropRule("a.b.c");
    expect(store.rule("a.b.c")).toBe(counters);
    store.dropRule("a.b.c");
    expect(ruleNames(store)).toEqual([]);
  });

  it("rule() gives two keys the same counters when cleaning makes their names equal, until both are dropped", () => {
    const store = new StatisticsStore({ maxDynamicKeys: 1 });
    expect(store.rule("d.a:b")).toBe(store.rule("d.a|b"));
    expect(store.dynamicRule("d.a\u0000b")).toBe(store.rule("d.a|b"));
    store.dropRule("d.a:b");
    store.dropRule("d.a|b");
    expect(ruleNames(store)).toEqual(["ratelimit.service.rate_limit.d.a_b"]);
  });

  it("dynamicRule() gives the counters of the rule when the key is a rule's", () => {
    const store = new StatisticsStore({ maxDynamicKeys: 0 });
    store.rule("d.a");
    expect(store.dynamicRule("d.a")).toBe(store.rule("d.a"));
  });

  it("dynamicRule() keeps its counters when rules come and go", () => {
    const store = new StatisticsStore({ maxDynamicKeys: 1 });
    const counters = store.dynamicRule("d.k_v");
    store.rule("d.k");
    store.rule("d.k_v");
    store.dropRule("d.k_v");
    expect(store.dynamicRule("d.k_v")).toBe(counters);
    expect(ruleNames(store)).toEqual(["ratelimit.service.rate_limit.d.k", "ratelimit.service.rate_limit.d.k_v"]);
  });

  it("dynamicRule() is undefined and counts it when the limit of keys is reached", () => {
    const store = new StatisticsStore({ maxDynamicKeys: 2 });
    expect(store.dynamicRule("d.1")).toBeDefined();
    expect(store.dynamicCounter("scope", "x", "missing")).toBeDefined();
    expect(store.dynamicRule("d.2")).toBeUndefined();
    expect(store.dynamicCounter("scope", "y", "missing")).toBeUndefined();
    expect(store.dynamicRule("d.1")).toBeDefined();
    expect(store.counter(DROPPED).value).toBe(2);
  });

  it("dynamicRule() refuses a key that is longer than 1024", () => {
    const store = new StatisticsStore({ maxDynamicKeys: 10 });
    expect(store.dynamicRule("k".repeat(1024))).toBeDefined();
    expect(store.dynamicRule("k".repeat(1025))).toBeUndefined();
    expect(store.counter(DROPPED).value).toBe(1);
  });

  it("dynamicCounter() shows one counter when cleaning makes two names equal", () => {
    const store = new StatisticsStore({ maxDynamicKeys: 10 });
    store.dynamicCounter("s", "a:b", "n")?.add(1);
    store.dynamicCounter("s", "a_b", "n")?.add(2);
    expect(textOf(store)).toContain("s.a_b.n: 3\n");
    expect(textOf(store).match(/s\.a_b\.n/g)).toHaveLength(1);
  });
});

describe("new ServiceStatistics()", () => {
  it("new ServiceStatistics() makes every counter at zero and counts domains that are not found", () => {
    const store = new StatisticsStore({ maxDynamicKeys: 10 });
    const statistics = new ServiceStatistics(store);
    statistics.domainNotFound("foo:1", 2);
    statistics.method("ShouldRateLimit").totalRequests.add(5);
    statistics.method("ShouldRateLimit").responseTime.record(1.5);
    store.rule("d.k");
    store.gauge("ratelimit.redis_pool.cx_active").set(3);
    expect(textOf(store)).toBe(
      [
        "ratelimit.redis_pool.cx_active: 3",
        "ratelimit.service.backend_failure.allow: 0",
        "ratelimit.service.backend_failure.deny: 0",
        "ratelimit.service.backend_failure.error: 0",
        "ratelimit.service.call.should_rate_limit.memcache_error: 0",
        "ratelimit.service.call.should_rate_limit.memory_error: 0",
        "ratelimit.service.call.should_rate_limit.redis_error: 0",
        "ratelimit.service.call.should_rate_limit.service_error: 0",
        "ratelimit.service.config_load_error: 0",
        "ratelimit.service.config_load_success: 0",
        "ratelimit.service.config_rejected: 0",
        "ratelimit.service.global_shadow_mode: 0",
        "ratelimit.service.rate_limit.d.k.near_limit: 0",
        "ratelimit.service.rate_limit.d.k.over_limit: 0",
        "ratelimit.service.rate_limit.d.k.over_limit_with_local_cache: 0",
        "ratelimit.service.rate_limit.d.k.shadow_mode: 0",
        "ratelimit.service.rate_limit.d.k.total_hits: 0",
        "ratelimit.service.rate_limit.d.k.total_negative_hits: 0",
        "ratelimit.service.rate_limit.d.k.within_limit: 0",
        "ratelimit.service.rate_limit.foo_1.domain_not_found: 2",
        "ratelimit.service.rejected_calls: 0",
        "ratelimit.service.stats_keys_dropped: 0",
        "ratelimit.service.unsupported_field.is_negative_hits: 0",
        "ratelimit.service.unsupported_field.unit_multiplier: 0",
        "ratelimit_server.ShouldRateLimit.response_time: count=1 sum_ms=1.5 max_ms=1.5",
        "ratelimit_server.ShouldRateLimit.total_requests: 5",
        "",
      ].join("\n"),
    );
  });
});

describe("memory of request values", () => {
  it("dynamicRule() keeps memory flat over a hundred thousand keys, and counts those beyond the limit", () => {
    const store = new StatisticsStore({ maxDynamicKeys: 1000 });
    const keep = (from: number, to: number): void => {
      for (let index = from; index < to; index++) {
        const counters = store.dynamicRule(`domain.user_${index}`) ?? store.rule("domain.user");
        counters.totalHits += 1;
        store.dynamicCounter("ratelimit.service.rate_limit", `domain-${index}`, "domain_not_found")?.add(1);
      }
    };
    keep(0, 1000);
    expect(countNames(store)).toBe(1002); // The rule's own counters and the count of dropped keys in addition to a thousand.
    keep(1000, 100_000);
    expect(countNames(store)).toBe(1002);
    expect(store.rule("domain.user").totalHits).toBe(99_500);
    expect(store.counter(DROPPED).value).toBe(199_000);
  });
});
