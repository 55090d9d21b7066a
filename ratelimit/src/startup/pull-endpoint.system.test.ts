// The scrape endpoint as its users check it: promtool reads every metric that any setting
// brings, a Prometheus server scrapes it.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Part } from "@weir/common/lifecycle/lifecycle";
import { createLog, silentLog } from "@weir/common/log/log";
import { reservePort } from "@weir/harness/processes/reserve-ports";
import { type Program, startProgram } from "@weir/harness/processes/start-process";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { MemcachedStatistics } from "../counters/memcached/memcached-statistics.ts";
import { createLocalCache } from "../decide/local-cache/local-cache.ts";
import { parseSettings } from "../settings.ts";
import { LoadStatistics, ServiceStatistics } from "../statistics/service-statistics.ts";
import { StatisticsStore } from "../statistics/statistics-store.ts";
import { WAIT } from "./started-program.suite.ts";
import { createStatisticsSinks } from "./statistics-sinks.ts";
import { readExposition } from "./statistics-tools.suite.ts";

/**
 * Names of the documented table that have no `_total`, as existing dashboards want them: the
 * only thing that promtool may find.
 */
const WITHOUT_ENDING = [
  "ratelimit_service_config_load_error",
  "ratelimit_service_config_load_success",
  "ratelimit_service_global_shadow_mode",
  "ratelimit_service_rate_limit_near_limit",
  "ratelimit_service_rate_limit_over_limit",
  "ratelimit_service_rate_limit_shadow_mode",
  "ratelimit_service_rate_limit_total_hits",
  "ratelimit_service_rate_limit_within_limit",
  "ratelimit_service_should_rate_limit_error",
  "ratelimit_service_total_requests",
];

/** Everything that any part of the service counts, as if every setting were on. */
function fill(store: StatisticsStore): void {
  const statistics = new ServiceStatistics(store);
  for (const method of ["ShouldRateLimit", "Check", "List"]) {
    statistics.method(method).totalRequests.add(3);
    statistics.method(method).responseTime.record(4);
  }
  statistics.domainNotFound("unknown", 2);
  new MemcachedStatistics(store).increment.miss.add(1);
  createLocalCache(
    { statistics: store, monotonicMs: () => performance.now(), log: silentLog() },
    { sizeBytes: 100_000 },
  );
  new LoadStatistics(store, "runtime").values.set(2);
  new LoadStatistics(store, "certs");
  for (const scope of ["redis_pool", "redis_per_second_pool"]) {
    store.gauge(`ratelimit.${scope}.cx_active`).set(1);
    store.counter(`ratelimit.${scope}.cx_total`).add(1);
    store.counter(`ratelimit.${scope}.cx_local_close`).add(1);
  }
  const [one, two] = [store.rule("domain.key_value"), store.rule("domain.key_value.other_value.third")];
  one.totalHits = 7;
  two.overLimit = 2;
  two.overLimitWithLocalCache = 1;
}

describe("the scrape endpoint", () => {
  let folder: string;
  let store: StatisticsStore;
  let address: string;
  const parts: Part[] = [];
  const programs: Program[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "weir-pull-"));
    store = new StatisticsStore({ maxDynamicKeys: 20_000 });
    const settings = parseSettings({
      USE_STATSD: "false",
      USE_PROMETHEUS: "true",
      PROMETHEUS_ADDR: "127.0.0.1:0",
      BACKEND_TYPE: "memory",
    });
    const addressLog = createLog({
      level: "info",
      format: "text",
      write: (line) => void (address = /Listening for statistics on ([^"]*)/.exec(line)?.[1] ?? ""),
    });
    parts.push(...(await createStatisticsSinks(settings.statistics, { store, addressLog, log: silentLog() })));
    for (const part of parts) await part.start?.();
  });

  afterEach(async () => {
    for (const program of programs.splice(0)) await program.end();
    for (const part of parts.splice(0).reverse()) await part.stop?.();
    await rm(folder, { recursive: true, force: true });
  });

  async function scrape(): Promise<string> {
    return (await fetch(`http://${address}/metrics`)).text();
  }

  it("promtool finds nothing but the missing ending of the documented names", async () => {
    fill(store);
    const text = await scrape();
    for (const name of [
      "ratelimit_memcache_increment_total",
      "ratelimit_localcache_entries",
      "ratelimit_redis_per_second_pool_cx_local_close_total",
      "ratelimit_redis_pool_cx_total",
      "runtime_load_attempts_total",
      "certs_num_values",
      "reserved_tag_total",
      "ratelimit_service_stats_keys_dropped_total",
      "ratelimit_service_backend_failure_total",
      "ratelimit_service_rate_limit_over_limit_with_local_cache_total",
      "ratelimit_node_gc_pause_seconds_total",
      "ratelimit_node_event_loop_utilization_ratio",
      "process_resident_memory_bytes",
      "nodejs_eventloop_lag_seconds",
    ]) {
      expect(text).toContain(`# TYPE ${name} `);
    }
    const promtool = startProgram("promtool", ["check", "metrics"], {}, { hasInput: true });
    promtool.child.stdin!.end(text);
    const code = await promtool.code;
    expect(promtool.text().trim().split("\n").sort()).toEqual(
      WITHOUT_ENDING.map((name) => `${name} counter metrics should have "_total" suffix`),
    );
    expect(code).toBe(3);
  });

  it("a Prometheus server scrapes it, and answers queries with what was counted", async () => {
    fill(store);
    const port = await reservePort();
    const config = join(folder, "prometheus.yml");
    await writeFile(
      config,
      `global: {scrape_interval: 1s, scrape_timeout: 1s}\nscrape_configs:\n- job_name: weir\n  static_configs: [{targets: ["${address}"]}]\n`,
    );
    const prometheus = startProgram("prometheus", [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(folder, "data")}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ]);
    programs.push(prometheus);
    const api = async (path: string): Promise<unknown> => {
      try {
        return await (await fetch(`http://127.0.0.1:${port}/api/v1/${path}`)).json();
      } catch {
        return prometheus.errors().split("\n").at(-2); // Not there yet, or not at all: then this says why.
      }
    };
    await expect
      .poll(() => api("targets"), WAIT)
      .toMatchObject({
        data: { activeTargets: [{ health: "up", lastError: "", scrapeUrl: `http://${address}/metrics` }] },
      });
    const query = (text: string): Promise<unknown> => api(`query?query=${encodeURIComponent(text)}`);
    const result = (metric: object, value: string): object => ({
      status: "success",
      data: { resultType: "vector", result: [{ metric, value: [expect.any(Number), value] }] },
    });
    await expect
      .poll(() => query('ratelimit_service_rate_limit_total_hits{key1="key_value",key2=""}'), WAIT)
      .toMatchObject(result({ domain: "domain", key1: "key_value", job: "weir" }, "7"));
    await expect
      .poll(
        () => query("histogram_quantile(0.5, ratelimit_service_response_time_seconds_bucket{grpc_method='Check'})"),
        WAIT,
      )
      .toMatchObject(result({ grpc_method: "Check" }, "0.00375"));
    store.rule("domain.key_value").totalHits += 5;
    await expect
      .poll(() => query("sum(ratelimit_service_rate_limit_total_hits)"), WAIT)
      .toMatchObject(result({}, "12"));
  });

  it("answers a scrape of twenty thousand keys in hundreds of turns of the event loop", async () => {
    for (let index = 0; index < 20_000; index++) {
      const counters = store.dynamicRule(`domain.key_${index}`);
      if (counters !== undefined) counters.totalHits = index;
    }
    let turns = 0;
    let isDone = false;
    const turn = (): void => {
      turns += 1;
      if (!isDone) setImmediate(turn);
    };
    setImmediate(turn);
    const { series } = readExposition(await scrape());
    isDone = true;
    expect(series.get('ratelimit_service_rate_limit_total_hits{domain="domain",key1="key_19999"}')?.value).toBe(19_999);
    expect([...series.values()].filter(({ name }) => name === "ratelimit_service_rate_limit_total_hits")).toHaveLength(
      20_000,
    );
    expect(turns).toBeGreaterThan(400); // Two hundred to read a hundred statistics each, two hundred and forty to write five hundred series each.
  });
});
