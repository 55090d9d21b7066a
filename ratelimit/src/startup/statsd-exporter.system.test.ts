// Compares what we serve for scraping with what a real statsd_exporter makes of what we push, with
// the same mapping file: names, labels, types and values.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Part } from "@weir/common/lifecycle/lifecycle";
import { createLog, silentLog } from "@weir/common/log/log";
import { reservePort } from "@weir/harness/processes/reserve-ports";
import { type Program, startProgram } from "@weir/harness/processes/start-process";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { MemcachedStatistics } from "../counters/memcached/memcached-statistics.ts";
import { parseSettings } from "../settings.ts";
import { defaultMappingText } from "../statistics/pull/default-mapping.ts";
import { LoadStatistics, ServiceStatistics } from "../statistics/service-statistics.ts";
import { StatisticsStore } from "../statistics/statistics-store.ts";
import { WAIT } from "./started-program.suite.ts";
import { createStatisticsSinks } from "./statistics-sinks.ts";
import { readExposition, STATSD_EXPORTER } from "./statistics-tools.suite.ts";

/**
 * A mapping file that uses what the format has. `<scale>` is where durations become seconds, which
 * only Weir needs in the file.
 */
const CUSTOM_MAPPING = `
defaults:
  observer_type: summary
  histogram_options: {buckets: [0.001, 0.01, 0.1]}
mappings:
- match: ratelimit.service.rate_limit.*.*.*
  name: limit_\${3}_total
  help: By rule
  labels: {domain: $1, rule: $2}
- match: 'ratelimit\\.service\\.rate_limit\\.(?P<domain>\\w+)\\.(.+)\\.([a-z_]+)$'
  match_type: regex
  match_metric_type: counter
  name: deep_$3
  labels: {domain: $domain, path: "$2", literal: "$$1", nothing: "$9"}
- match: ratelimit_server.*.response_time
  name: took
  observer_type: histogram<scale>
  labels: {method: $1}
- match: ratelimit_server.Check.*
  name: took
  match_metric_type: observer
  action: drop
- match: runtime.*
  match_metric_type: gauge
  name: runtime_$1
  scale: 2
- match: ratelimit.memcache.keys_*
  match_type: regex
  name: memcache_keys
- match: '^ratelimit\\.memcache\\.(\\w+)\\.__code=(\\w+)$'
  match_type: regex
  name: memcache_$1
  labels: {code: $2}
- match: certs.load_attempts
  action: drop
  name: never
`;

/**
 * The flags that the exporter needs to take commas, hashes and brackets for parts of names, as we do,
 * and not for tags of other dialects.
 */
const NO_DIALECTS = [
  "--no-statsd.parse-influxdb-tags",
  "--no-statsd.parse-librato-tags",
  "--no-statsd.parse-signalfx-tags",
];

/**
 * Series that are not compared: of the two processes themselves, and what the exporter reports about
 * itself.
 */
const OWN = /^(?:process_|nodejs_|go_|promhttp_|statsd_|ratelimit_node_)/;

/**
 * Statistics of every kind and shape. Durations come later: they are pushed as they are recorded.
 */
function fill(store: StatisticsStore): void {
  const statistics = new ServiceStatistics(store);
  statistics.method("ShouldRateLimit").totalRequests.add(12);
  statistics.callErrors.redis_error.add(2);
  statistics.backendFailures.deny.add(1);
  statistics.globalShadowMode.add(4);
  statistics.configLoadSuccess.add(3);
  statistics.configLoadError.add(1);
  statistics.domainNotFound("un.known", 5);
  const memcache = new MemcachedStatistics(store);
  memcache.increment.miss.add(6);
  memcache.add.notStored.add(7);
  memcache.keysFound.add(8);
  const runtime = new LoadStatistics(store, "runtime");
  runtime.attempts.add(9);
  runtime.values.set(3);
  new LoadStatistics(store, "certs").attempts.add(1);
  store.gauge("ratelimit.redis_pool.cx_active").set(10);
  store.gauge("ratelimit.localcache.averageAccessTime").set(1.25);
  store.counter("ratelimit.redis_pool.cx_total").add(11);
  const keys = [
    "d.k",
    "d.k_v",
    "d.path_/foo_*_bar",
    "d.k_a-b--c",
    "d.sp ace",
    'd.é_ü"\\',
    "d.x=y",
    "d.a,b[c]#d",
    "d.k_v.l_w",
    "d.k_v.l_w.m_u",
    "d.ip_10.0.0.1",
    "d.ver_1.2",
  ];
  for (const [index, key] of keys.entries()) {
    const rule = store.rule(key);
    rule.totalHits = 100 + index;
    rule.overLimit = 2 * index;
    rule.overLimitWithLocalCache = index;
    rule.nearLimit = 1;
    rule.withinLimit = 100 - index;
    rule.shadowMode = index % 3;
  }
}

function recordDurations(store: StatisticsStore): void {
  for (const durationMs of [0, 1, 4, 5, 30, 30, 200, 12_000])
    store.timer("ratelimit_server.ShouldRateLimit.response_time").record(durationMs);
  store.timer("ratelimit_server.Check.response_time").record(2);
  store.timer("other.time").record(7);
}

/** The series of a text that are compared, as `name{labels}` with the value and the type. */
function comparable(text: string): Readonly<Record<string, string>> {
  const { series, types } = readExposition(text);
  const typeOf = (name: string): string =>
    types.get(name) ?? types.get(name.replace(/_(?:bucket|sum|count)$/, "")) ?? "none";
  const found: Record<string, string> = {};
  for (const [key, { name, labels, value }] of series) {
    // The exporter also estimates quantiles of summaries, over ten minutes; we give sum and count,
    // from which averages come.
    if (value === 0 || OWN.test(name) || labels["quantile"] !== undefined) continue;
    found[key] = `${typeOf(name)} ${Number(value.toPrecision(12))}`;
  }
  return found;
}

describe("statistics for scraping and statsd_exporter", () => {
  let folder: string;
  const parts: Part[] = [];
  const programs: Program[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "weir-exporter-"));
  });

  afterEach(async () => {
    for (const part of parts.splice(0).reverse()) await part.stop?.();
    for (const program of programs.splice(0)) await program.end();
    await rm(folder, { recursive: true, force: true });
  });

  async function write(name: string, text: string): Promise<string> {
    const file = join(folder, name);
    await writeFile(file, text);
    return file;
  }

  /**
   * Starts an exporter with this mapping and our sinks with those settings; answers readers of
   * both.
   */
  async function start(mapping: string, env: Readonly<Record<string, string>>, flags: readonly string[] = NO_DIALECTS) {
    const file = await write("exporter.yaml", mapping);
    const [port, webPort] = [await reservePort(), await reservePort()];
    const program = startProgram(STATSD_EXPORTER, [
      `--statsd.mapping-config=${file}`,
      `--web.listen-address=127.0.0.1:${webPort}`,
      `--statsd.listen-udp=127.0.0.1:${port}`,
      `--statsd.listen-tcp=127.0.0.1:${port}`,
      ...flags,
    ]);
    programs.push(program);
    const theirs = async (): Promise<string> => {
      try {
        return await (await fetch(`http://127.0.0.1:${webPort}/metrics`)).text();
      } catch {
        return program.errors(); // Not there yet, or not at all: then this says why.
      }
    };
    await expect.poll(theirs, WAIT).toContain("statsd_exporter_lines_total");
    let address = "";
    const addressLog = createLog({
      level: "info",
      format: "text",
      write: (line) => void (address = /Listening for statistics on ([^"]*)/.exec(line)?.[1] ?? ""),
    });
    const settings = parseSettings({
      BACKEND_TYPE: "memory",
      STATSD_HOST: "127.0.0.1",
      STATSD_PORT: String(port),
      STATS_FLUSH_INTERVAL: "100ms",
      USE_PROMETHEUS: "true",
      PROMETHEUS_ADDR: "127.0.0.1:0",
      ...env,
    });
    const store = new StatisticsStore({ maxDynamicKeys: 100 });
    parts.push(...(await createStatisticsSinks(settings.statistics, { store, addressLog, log: silentLog() })));
    for (const part of parts) await part.start?.();
    const ours = async (): Promise<string> => (await fetch(`http://${address}/metrics`)).text();
    return { store, ours, theirs };
  }

  /** The exporter makes seconds of durations by itself. */
  const forExporter = (mapping: string): string =>
    mapping.replace("    scale: 0.001\n    observer_type", "    observer_type");

  it.each(["tcp", "udp"])("are equal with the built-in mapping over %s", async (protocol) => {
    const mapping = defaultMappingText({ isMilliseconds: false });
    const { store, ours, theirs } = await start(forExporter(mapping), { STATSD_PROTOCOL: protocol });
    fill(store);
    recordDurations(store);
    const expected = comparable(await ours());
    expect(expected).toMatchObject({
      'ratelimit_service_rate_limit_total_hits{domain="d",key1="path_/foo_*_bar"}': "counter 102",
      'ratelimit_service_rate_limit_total_hits{domain="d",key1="k_v",key2="l_w"}': "counter 217",
      'ratelimit_service_rate_limit_within_limit{domain="d",key1="a,b[c]#d"}': "counter 93",
      'ratelimit_memcache_add_total{code="not_stored"}': "counter 7",
      "ratelimit_localcache_average_access_time{}": "gauge 1.25",
      'ratelimit_service_response_time_seconds_sum{grpc_method="ShouldRateLimit"}': "histogram 12.27",
      'ratelimit_service_response_time_seconds_bucket{grpc_method="ShouldRateLimit",le="0.005"}': "histogram 4",
      'ratelimit_service_response_time_seconds_bucket{grpc_method="ShouldRateLimit",le="+Inf"}': "histogram 8",
    });
    expect(Object.keys(expected).length).toBeGreaterThan(80);
    await expect.poll(async () => comparable(await theirs()), WAIT).toEqual({ ...expected, ...UNMAPPED_SECONDS });
  });

  it.each(["tcp", "udp"])("are equal with a mapping file over %s", async (protocol) => {
    const file = await write("ours.yaml", CUSTOM_MAPPING.replace("<scale>", "\n  scale: 0.001"));
    const env = { STATSD_PROTOCOL: protocol, PROMETHEUS_MAPPER_YAML: file };
    const { store, ours, theirs } = await start(CUSTOM_MAPPING.replace("<scale>", ""), env);
    fill(store);
    recordDurations(store);
    const expected = comparable(await ours());
    expect(expected).toMatchObject({
      'limit_total_hits_total{domain="d",rule="k"}': "counter 100",
      'deep_total_hits{domain="d",literal="$1",nothing="",path="k_v.l_w.m_u"}': "counter 109",
      'took_bucket{le="0.01",method="ShouldRateLimit"}': "histogram 4",
      'took_count{method="Check"}': "histogram 1",
      "runtime_num_values{}": "gauge 6",
      "memcache_keys{}": "counter 8",
      'memcache_add{code="not_stored"}': "counter 7",
    });
    expect(expected).not.toHaveProperty("certs_load_attempts{}");
    await expect.poll(async () => comparable(await theirs()), WAIT).toEqual({ ...expected, ...UNMAPPED_SECONDS });
  });

  it("are equal with extra tags when they are pushed with tags", async () => {
    const mapping = defaultMappingText({ isMilliseconds: false });
    const env = { USE_STATSD: "false", USE_DOG_STATSD: "true", EXTRA_TAGS: "team:x,zone:eu" };
    const { store, ours, theirs } = await start(forExporter(mapping), env);
    fill(store);
    recordDurations(store);
    const expected = comparable(await ours());
    expect(expected).toMatchObject({
      'ratelimit_service_rate_limit_total_hits{domain="d",key1="k",team="x",zone="eu"}': "counter 100",
      'ratelimit_memcache_increment_total{code="miss",team="x",zone="eu"}': "counter 6",
      'ratelimit_service_response_time_seconds_count{grpc_method="Check",team="x",zone="eu"}': "histogram 1",
    });
    await expect
      .poll(async () => comparable(await theirs()), WAIT)
      .toEqual({ ...expected, 'other_time_sum{team="x",zone="eu"}': "summary 0.007" });
  });

  it("differ in tags that are part of a name when no entry matches it: labels with us, underscores with the exporter", async () => {
    const { store, ours, theirs } = await start("mappings: []", {
      PROMETHEUS_MAPPER_YAML: await write("ours.yaml", "mappings: []"),
    });
    new MemcachedStatistics(store).add.success.add(1);
    expect(await ours()).toContain('ratelimit_memcache_add{code="success"} 1\n');
    await expect.poll(theirs, WAIT).toContain("ratelimit_memcache_add___code_success 1\n");
  });

  it("differ in names with commas, hashes and brackets unless the exporter is set to keep them", async () => {
    const { store, ours, theirs } = await start(forExporter(defaultMappingText({ isMilliseconds: false })), {}, []);
    store.rule("d.a,b=c#d").totalHits = 3;
    expect(await ours()).toContain('ratelimit_service_rate_limit_total_hits{domain="d",key1="a,b=c#d"} 3\n');
    await expect.poll(theirs, WAIT).toContain('ratelimit_service_rate_limit_d_a_total{b="c#d.total_hits"} 3\n');
  });

  it("differ in what a StatsD line cannot say: tags next to the name, and fractions of a millisecond", async () => {
    const { store, ours, theirs } = await start(forExporter(defaultMappingText({ isMilliseconds: false })), {
      EXTRA_TAGS: "team:x",
    });
    store.rule("d.k").totalHits = 3;
    store.timer("ratelimit_server.ShouldRateLimit.response_time").record(1.75);
    const tagged = await ours();
    expect(tagged).toContain('ratelimit_service_rate_limit_total_hits{domain="d",key1="k",team="x"} 3\n');
    expect(tagged).toContain(
      'ratelimit_service_response_time_seconds_sum{grpc_method="ShouldRateLimit",team="x"} 0.00175\n',
    );
    await expect.poll(theirs, WAIT).toContain("ratelimit_service_rate_limit_d_k_total_hits___team_x 3\n");
    await expect.poll(theirs, WAIT).toContain("ratelimit_server_ShouldRateLimit_response_time___team_x_sum 0.001\n");
  });
});

/** A timer that no entry maps keeps its milliseconds here. */
const UNMAPPED_SECONDS = { "other_time_sum{}": "summary 0.007" };
