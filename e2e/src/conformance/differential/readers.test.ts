// Readers of the run: metrics pages, lines of statistics.
import { describe, expect, it } from "vitest";
import { byRule, isComparedSeries, isComparedStatistic } from "./exceptions.ts";
import { readSeries } from "./metrics-page.ts";
import { StatisticsLines } from "./statistics-lines.ts";

describe("readSeries()", () => {
  it("gives every series with its labels in order", () => {
    const text = '# TYPE a counter\na{key1="x y",domain="d"} 3\nb 0.5\n\nnot a line\n';
    expect([...readSeries(text)]).toEqual([
      ['a{domain="d",key1="x y"}', 3],
      ["b", 0.5],
    ]);
  });
});

describe("StatisticsLines", () => {
  it("adds up counters, ignores all else, and counts flushes", () => {
    const lines = new StatisticsLines();
    const line = (msg: string, name: string, type: string, value: string): string =>
      JSON.stringify({ level: "debug", msg, json: { name, type, value } });
    lines.add('time="…" level=warning msg="Listening"');
    lines.add(line("flushing counter", "a", "counter", "2.000000"));
    lines.add(line("flushing gauge", "g", "gauge", "7.000000"));
    lines.add(line("flushing all stats", "", "all stats", "0.000000"));
    lines.add(line("flushing counter", "a", "counter", "1.000000"));
    expect([...lines.totals]).toEqual([["a", 3]]);
    expect(lines.flushes).toBe(1);
  });
});

describe("byRule()", () => {
  it("adds up what differs in a key in front of a wildcard", () => {
    const statistics = [
      ["s.d.paa_pa*.k_v.total_hits", 1],
      ["s.d.pages_pa*.k_v.total_hits", 2],
      ["s.d.path_x.k_v_k_v*.total_hits", 4],
      ["s.d.path_x.k_v*.total_hits", 8],
      ['m{key1="k_v_k_*"}', 16],
    ] as const;
    expect([...byRule(statistics)]).toEqual([
      ["s.d.pa*.k_v.total_hits", 3],
      ["s.d.path_x.k_v*.total_hits", 12],
      ['m{key1="k_*"}', 16],
    ]);
  });
});

describe("isComparedStatistic() and isComparedSeries()", () => {
  it.each([
    { name: "ratelimit.service.rate_limit.d.k_v.total_hits", isCompared: true },
    { name: "ratelimit.service.config_load_success", isCompared: true },
    { name: "ratelimit_server.ShouldRateLimit.total_requests", isCompared: true },
    { name: "ratelimit.service.rate_limit.d.k.free_v.total_hits", isCompared: false },
    { name: "ratelimit.service.backend_failure.deny", isCompared: false },
    { name: "ratelimit.redis_pool.cx_total", isCompared: false },
  ])("is $isCompared for the counter $name", ({ name, isCompared }) => {
    expect(isComparedStatistic(name)).toBe(isCompared);
  });

  it.each([
    { series: 'ratelimit_service_rate_limit_total_hits{domain="d",key1="k"}', isCompared: true },
    { series: 'ratelimit_service_total_requests{grpc_method="ShouldRateLimit"}', isCompared: true },
    { series: 'ratelimit_service_total_requests{grpc_method="Check"}', isCompared: false },
    { series: "ratelimit_service_rate_limit_unknown_domain_domain_not_found", isCompared: false },
    { series: 'ratelimit_service_rate_limit_domain_not_found_total{domain="unknown_domain"}', isCompared: false },
    { series: "go_goroutines", isCompared: false },
  ])("is $isCompared for the series $series", ({ series, isCompared }) => {
    expect(isComparedSeries(series)).toBe(isCompared);
  });
});
