// The built-in mapping and the text format, by the conformance cases.
import { describe, expect, it } from "vitest";
import { StatisticsStore } from "../statistics-store.ts";
import { createDefaultMapping } from "./default-mapping.ts";
import { type Family, renderFamily } from "./exposition.ts";
import { Snapshots } from "./snapshot.ts";

/** A view of a fresh store: fill it, then read the text of one family. */
function open(extraLabels: Readonly<Record<string, string>> = {}, isMilliseconds = false) {
  const store = new StatisticsStore({ maxDynamicKeys: 100 });
  const snapshots = new Snapshots(
    { store, mapping: createDefaultMapping({ isMilliseconds }) },
    { extraLabels: new Map(Object.entries(extraLabels)) },
  );
  return {
    store,
    text: (family: string): string => {
      const found = collectAll(snapshots).find(({ name }) => name === family);
      return found === undefined ? "" : Array.from(renderFamily(found)).join("");
    },
    names: () => collectAll(snapshots).map(({ name }) => name),
  };
}

/** All steps of a collection. */
function collectAll(snapshots: Snapshots): readonly Family[] {
  const collecting = snapshots.collect();
  for (;;) {
    const step = collecting.next();
    if (step.done === true) return step.value;
  }
}

function count(store: StatisticsStore, key: string, overLimit: number): void {
  const counters = store.rule(key);
  counters.overLimit += overLimit;
}

describe("collect() by the built-in mapping", () => {
  it("case 181: collect() shows calls by gRPC method", () => {
    const { store, text } = open();
    store.counter("ratelimit_server.ShouldRateLimit.total_requests").add(1);
    expect(text("ratelimit_service_total_requests")).toBe(
      [
        "# HELP ratelimit_service_total_requests Calls of a gRPC method",
        "# TYPE ratelimit_service_total_requests counter",
        'ratelimit_service_total_requests{grpc_method="ShouldRateLimit"} 1',
        "",
      ].join("\n"),
    );
  });

  it("case 182: collect() adds up the rules below the second level", () => {
    const { store, text } = open();
    count(store, "domain1.key1_val1", 1);
    count(store, "domain1.key1_val1.key2_val2", 2);
    count(store, "domain1.key3_val3.key4_val4", 1);
    count(store, "domain1.key3_val3.key4_val4.key5_val5", 2);
    expect(text("ratelimit_service_rate_limit_over_limit").split("\n").slice(2)).toEqual([
      'ratelimit_service_rate_limit_over_limit{domain="domain1",key1="key1_val1"} 1',
      'ratelimit_service_rate_limit_over_limit{domain="domain1",key1="key1_val1",key2="key2_val2"} 2',
      'ratelimit_service_rate_limit_over_limit{domain="domain1",key1="key3_val3",key2="key4_val4"} 3',
      "",
    ]);
  });

  it("collect() shows the limits of a rule by their names, also below the second level", () => {
    const { store, text } = open();
    store.rule("d.user.burst", "burst").overLimit = 1;
    store.rule("d.user.per.day:1", "per.day:1").overLimit = 2;
    store.rule("d.k1.k2.user.burst", "burst").overLimit = 3;
    store.rule("d.k1.k2.other.burst", "burst").overLimit = 4;
    expect(text("ratelimit_service_rate_limit_over_limit").split("\n").slice(2)).toEqual([
      'ratelimit_service_rate_limit_over_limit{domain="d",key1="user",limit="burst"} 1',
      'ratelimit_service_rate_limit_over_limit{domain="d",key1="user",limit="per_day_1"} 2',
      'ratelimit_service_rate_limit_over_limit{domain="d",key1="k1",key2="k2",limit="burst"} 7',
      "",
    ]);
  });

  it("case 182: collect() does not add hits of the local cache to over_limit", () => {
    const { store, text } = open();
    store.rule("d.k1.k2").overLimitWithLocalCache = 5;
    expect(text("ratelimit_service_rate_limit_over_limit")).toContain('{domain="d",key1="k1",key2="k2"} 0\n');
    expect(text("ratelimit_service_rate_limit_over_limit_with_local_cache_total")).toContain(
      '{domain="d",key1="k1",key2="k2"} 5\n',
    );
  });

  it.each([
    { isMilliseconds: false, sum: "1.0005", fine: ["5e-05", "0.0001", "0.00025"], low: 1, second: 2 },
    { isMilliseconds: true, sum: "1000.5", fine: [], low: 0, second: 1 },
  ])(
    "case 183: collect() shows response times as a histogram when milliseconds are $isMilliseconds",
    ({ isMilliseconds, sum, fine, low, second }) => {
      const { store, text } = open({}, isMilliseconds);
      const timer = store.timer("ratelimit_server.ShouldRateLimit.response_time");
      timer.record(1000);
      timer.record(0.5);
      expect(text("ratelimit_service_response_time_seconds").split("\n")).toEqual([
        "# HELP ratelimit_service_response_time_seconds Time from a call to its answer, by gRPC method",
        "# TYPE ratelimit_service_response_time_seconds histogram",
        ...fine.map(
          (bound) => `ratelimit_service_response_time_seconds_bucket{grpc_method="ShouldRateLimit",le="${bound}"} 0`,
        ),
        ...[
          ...(fine.length > 0 ? ["0.0005", "0.001", "0.0025"] : []),
          "0.005",
          "0.01",
          "0.025",
          "0.05",
          "0.1",
          "0.25",
        ].map(
          (bound) =>
            `ratelimit_service_response_time_seconds_bucket{grpc_method="ShouldRateLimit",le="${bound}"} ${low}`,
        ),
        `ratelimit_service_response_time_seconds_bucket{grpc_method="ShouldRateLimit",le="0.5"} 1`,
        ...["1", "2.5", "5", "10"].map(
          (bound) =>
            `ratelimit_service_response_time_seconds_bucket{grpc_method="ShouldRateLimit",le="${bound}"} ${second}`,
        ),
        'ratelimit_service_response_time_seconds_bucket{grpc_method="ShouldRateLimit",le="+Inf"} 2',
        `ratelimit_service_response_time_seconds_sum{grpc_method="ShouldRateLimit"} ${sum}`,
        'ratelimit_service_response_time_seconds_count{grpc_method="ShouldRateLimit"} 2',
        "",
      ]);
    },
  );

  it("case 184: collect() shows an unmapped statistic under its own name, made valid", () => {
    const { store, text } = open();
    store.gauge("ratelimit.redis_pool.cx_active").set(4);
    store.counter("0odd name-é").add(1);
    expect(text("ratelimit_redis_pool_cx_active")).toContain(
      "# TYPE ratelimit_redis_pool_cx_active gauge\nratelimit_redis_pool_cx_active 4\n",
    );
    expect(text("_0odd_name___total")).toContain("\n_0odd_name___total 1\n");
  });

  it("collect() shows tags at the end of an unmapped name as labels", () => {
    const { store, text } = open();
    store.counter("ratelimit.memcache.increment.__code=success").add(5);
    store.counter("ratelimit.memcache.increment.__code=miss").add(2);
    expect(text("ratelimit_memcache_increment_total")).toContain(
      '\nratelimit_memcache_increment_total{code="success"} 5\n',
    );
    expect(text("ratelimit_memcache_increment_total")).toContain(
      '\nratelimit_memcache_increment_total{code="miss"} 2\n',
    );
  });

  it("collect() shows an unmapped timer as sum and count", () => {
    const { store, text } = open();
    store.timer("other.time").record(3);
    expect(text("other_time")).toBe(
      "# HELP other_time The statistic other.time\n# TYPE other_time summary\nother_time_sum 3\nother_time_count 1\n",
    );
  });

  it("collect() shows series at zero from the moment they exist", () => {
    const { store, text } = open();
    store.rule("d.k");
    store.timer("ratelimit_server.ShouldRateLimit.response_time");
    for (const name of ["total_hits", "over_limit", "near_limit", "within_limit", "shadow_mode"]) {
      expect(text(`ratelimit_service_rate_limit_${name}`)).toContain(
        `ratelimit_service_rate_limit_${name}{domain="d",key1="k"} 0\n`,
      );
    }
    expect(text("ratelimit_service_response_time_seconds")).toContain('_count{grpc_method="ShouldRateLimit"} 0\n');
  });

  it("collect() is exact at every call", () => {
    const { store, text } = open();
    const rule = store.rule("d.k");
    for (const hits of [1, 2, 3]) {
      rule.totalHits = hits;
      expect(text("ratelimit_service_rate_limit_total_hits")).toContain(`} ${hits}\n`);
    }
  });

  it("collect() reads at most twenty statistics in a step, and those that come later as they are then", () => {
    const store = new StatisticsStore({ maxDynamicKeys: 0 });
    const rules = Array.from({ length: 1000 }, (_, index) => store.rule(`d.k${index}`));
    const collecting = new Snapshots(
      { store, mapping: createDefaultMapping({ isMilliseconds: false }) },
      { extraLabels: new Map() },
    ).collect();
    let steps = 0;
    let step = collecting.next();
    while (step.done !== true) {
      for (const rule of rules) rule.totalHits += 1;
      steps += 1;
      step = collecting.next();
    }
    const hits = step.value.find(({ name }) => name === "ratelimit_service_rate_limit_total_hits");
    expect(steps).toBe(50); // 1000 rules and the count of dropped keys.
    expect(hits?.series.get('domain="d",key1="k0"')).toBe(0);
    expect(hits?.series.get('domain="d",key1="k999"')).toBe(50);
    expect(hits?.series.size).toBe(1000);
    expect(Array.from(hits === undefined ? [] : renderFamily(hits)).length).toBeGreaterThan(1);
  });

  it("collect() escapes label values", () => {
    const { store, text } = open({ tag: 'quote" slash\\ line\n' });
    store.rule('d.k_"\\');
    expect(text("ratelimit_service_rate_limit_total_hits")).toContain(
      '{domain="d",key1="k_\\"\\\\",tag="quote\\" slash\\\\ line\\n"} 0\n',
    );
  });

  it("collect() prefers a label of the mapping to an extra one of the same name", () => {
    const { store, text } = open({ domain: "extra", region: "eu" });
    store.rule("d.k");
    expect(text("ratelimit_service_rate_limit_total_hits")).toContain('{domain="d",key1="k",region="eu"} 0\n');
  });

  it("collect() maps the service's own statistics", () => {
    const { store, text } = open();
    store.counter("ratelimit.service.call.should_rate_limit.redis_error").add(2);
    store.counter("ratelimit.service.config_load_success").add(3);
    store.counter("ratelimit.service.config_load_error").add(4);
    store.dynamicCounter("ratelimit.service.rate_limit", "foo.bar", "domain_not_found")?.add(5);
    expect(text("ratelimit_service_should_rate_limit_error")).toContain('{err_type="redis_error"} 2\n');
    expect(text("ratelimit_service_config_load_success")).toContain("\nratelimit_service_config_load_success 3\n");
    expect(text("ratelimit_service_config_load_error")).toContain("\nratelimit_service_config_load_error 4\n");
    expect(text("ratelimit_service_rate_limit_domain_not_found_total")).toContain('{domain="foo.bar"} 5\n');
  });

  it("collect() leaves a statistic out when its name is taken by another type", () => {
    const { store, names, text } = open();
    store.gauge("same.name").set(1);
    store.timer("same_name").record(2);
    expect(names().filter((name) => name === "same_name")).toHaveLength(1);
    expect(text("same_name")).toContain("gauge\nsame_name 1\n");
  });
});
