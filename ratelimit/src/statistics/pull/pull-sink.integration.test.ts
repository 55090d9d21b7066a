// Pull statistics over HTTP: the common suite, the listener and the metrics of the process.
import { silentLog } from "@weir/common/log/log";
import { afterEach, describe, expect, it } from "vitest";
import { describeSink } from "../statistics-sink.suite.ts";
import type { StatisticsSink } from "../statistics-sink.ts";
import { StatisticsStore } from "../statistics-store.ts";
import { createDefaultMapping } from "./default-mapping.ts";
import { sanitizeName } from "./mapping.ts";
import { PullSink } from "./pull-sink.ts";

function createSink(
  store: StatisticsStore,
  path = "/metrics",
  port = 0,
  extraTags = new Map<string, string>(),
): StatisticsSink {
  return new PullSink(
    { store, mapping: createDefaultMapping({ isMilliseconds: false }), log: silentLog() },
    { host: "127.0.0.1", port, path, extraTags },
  );
}

async function scrape(
  sink: StatisticsSink,
  path = "/metrics",
): Promise<{ status: number; type: string | null; text: string }> {
  const response = await fetch(`http://${sink.address() ?? ""}${path}`);
  return { status: response.status, type: response.headers.get("content-type"), text: await response.text() };
}

/**
 * The value of a line whose name and labels are given; of the series of a rule when it is a rule's
 * name.
 */
function valueIn(text: string, name: string): number | undefined {
  const rule = /^ratelimit\.service\.rate_limit\.([^.]+)\.([^.]+)\.([^.]+)$/.exec(name);
  const plain = sanitizeName(name);
  const series =
    rule === null
      ? [plain, `${plain}_total`, `${plain}_count`]
      : [`ratelimit_service_rate_limit_${rule[3]}{domain="${rule[1]}",key1="${rule[2]}"}`];
  const line = text.split("\n").find((each) => series.some((prefix) => each.startsWith(`${prefix} `)));
  return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(" ") + 1));
}

describeSink("pull", (store) => {
  const sink = createSink(store);
  return Promise.resolve({
    sink,
    address: /^127\.0\.0\.1:\d+$/,
    isPull: true,
    received: async (name) => valueIn((await scrape(sink)).text, name),
    close: () => Promise.resolve(),
  });
});

describe("PullSink", () => {
  const sinks: StatisticsSink[] = [];
  afterEach(async () => {
    for (const sink of sinks.splice(0)) await sink.stop?.();
  });
  const start = async (store: StatisticsStore, path?: string): Promise<StatisticsSink> => {
    const sink = createSink(store, path);
    await sink.start?.();
    sinks.push(sink);
    return sink;
  };

  it("start() answers scrapes in the text format on the path of the setting and nowhere else", async () => {
    const sink = await start(new StatisticsStore({ maxDynamicKeys: 1 }), "/other");
    expect(await scrape(sink, "/other")).toMatchObject({
      status: 200,
      type: "text/plain; version=0.0.4; charset=utf-8",
    });
    expect((await scrape(sink, "/metrics")).status).toBe(404);
    expect((await scrape(sink, "/debug/pprof/")).status).toBe(404);
  });

  it("start() fails naming the setting when the port is taken", async () => {
    const store = new StatisticsStore({ maxDynamicKeys: 1 });
    const sink = await start(store);
    const port = Number(sink.address()?.split(":").at(-1));
    await expect(createSink(store, "/metrics", port).start?.()).rejects.toThrow("set PULLSTATS_ADDR to another one");
  });

  it("start() shows the process, and every family has help, a type and a name that fits its type", async () => {
    const store = new StatisticsStore({ maxDynamicKeys: 1 });
    store.rule("d.k");
    const { text } = await scrape(await start(store));
    for (const name of [
      "process_cpu_seconds_total",
      "process_resident_memory_bytes",
      "process_start_time_seconds",
      "nodejs_eventloop_lag_seconds",
    ]) {
      expect(text).toMatch(new RegExp(`^${name} [0-9.e+-]+$`, "m"));
    }
    const types = Array.from(text.matchAll(/^# TYPE (\S+) (\S+)$/gm), ([, name, type]) => ({
      name: name ?? "",
      type: type ?? "",
    }));
    expect(new Set(types.map(({ name }) => name)).size).toBe(types.length);
    for (const { name, type } of types) {
      expect(text).toContain(`# HELP ${name} `);
      if (type !== "counter") expect(name).not.toMatch(/_total$/);
    }
    for (const line of text.split("\n").filter((each) => each !== "" && !each.startsWith("#"))) {
      expect(line).toMatch(/^[a-zA-Z_][a-zA-Z0-9_]*(?:\{.*\})? (?:[0-9.e+-]+|NaN|[+-]Inf|Nan)$/);
    }
  });

  it("start() shows extra tags as labels of every series, in addition to its own labels", async () => {
    const store = new StatisticsStore({ maxDynamicKeys: 1 });
    store.rule("d.k").totalHits = 1;
    const sink = createSink(store, "/metrics", 0, new Map([["my-team", 'x"']]));
    await sink.start?.();
    sinks.push(sink);
    const { text } = await scrape(sink);
    expect(text).toContain('ratelimit_service_rate_limit_total_hits{domain="d",key1="k",my_team="x\\""} 1\n');
    const series = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    expect(series.filter((line) => !line.includes('my_team="x\\""'))).toEqual([]);
    expect(text).toMatch(/^nodejs_version_info\{(?=.*version="v)(?=.*my_team=)/m);
  });

  it("start() answers a scrape of many rules completely", async () => {
    const store = new StatisticsStore({ maxDynamicKeys: 1 });
    for (let index = 0; index < 5000; index++) store.rule(`domain.key_${index}`);
    const { text } = await scrape(await start(store));
    expect(text.match(/^ratelimit_service_rate_limit_total_hits\{/gm)).toHaveLength(5000);
    expect(text.endsWith("\n")).toBe(true);
  });
});
