// Push statistics to real servers: the common suite over every format and channel, and servers that
// are away, come back, or never read.
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { closeSync, openSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLog, type Log, silentLog } from "@weir/common/log/log";
import { afterEach, describe, expect, it } from "vitest";
import { describeSink } from "../statistics-sink.suite.ts";
import type { StatisticsSink } from "../statistics-sink.ts";
import { StatisticsStore } from "../statistics-store.ts";
import { createJsonFormat, createStatsdFormat } from "./line-format.ts";
import { OutputChannel } from "./output-channel.ts";
import { PushSink } from "./push-sink.ts";
import { openTcpReceiver, openUdpReceiver, type Receiver, valueInLines } from "./receivers.suite.ts";
import { createTaggedFormat } from "./tagged-format.ts";
import { TcpChannel, type TcpChannelOptions } from "./tcp-channel.ts";
import { UdpChannel } from "./udp-channel.ts";

/** Short enough for tests to see several flushes. */
const FLUSH_INTERVAL_MS = 20;

/** Longest wait for something to happen, in milliseconds. */
const WAIT = { timeout: 40_000 };

const OPTIONS = { name: "under test", flushIntervalMs: FLUSH_INTERVAL_MS };
const NO_TAGS = { extraTags: new Map<string, string>() };
const log = silentLog();

function overTcp(store: StatisticsStore, options: TcpChannelOptions, channelLog: Log = log): StatisticsSink {
  const channel = new TcpChannel({ log: channelLog }, options);
  return new PushSink({ store, format: createStatsdFormat(NO_TAGS), channel }, OPTIONS);
}

function opened(sink: StatisticsSink, receiver: Receiver, address: RegExp) {
  const received = (name: string): Promise<number | undefined> => Promise.resolve(valueInLines(receiver.lines, name));
  return { sink, address, received, close: () => receiver.close() };
}

describeSink("StatsD over TCP", async (store) => {
  const receiver = await openTcpReceiver();
  return opened(overTcp(store, { host: "127.0.0.1", port: receiver.port }), receiver, /^127\.0\.0\.1:\d+$/);
});

describeSink("StatsD over UDP", async (store) => {
  const receiver = await openUdpReceiver();
  const channel = new UdpChannel({ log }, { host: "localhost", port: receiver.port });
  return opened(
    new PushSink({ store, format: createStatsdFormat(NO_TAGS), channel }, OPTIONS),
    receiver,
    /^localhost:\d+$/,
  );
});

describeSink("DogStatsD over UDP", async (store) => {
  const receiver = await openUdpReceiver();
  const channel = new UdpChannel({ log }, { host: "127.0.0.1", port: receiver.port });
  const format = createTaggedFormat({ log }, { extraTags: new Map([["a", "b"]]), globalTags: [], mogrifiers: [] });
  return opened(new PushSink({ store, format, channel }, OPTIONS), receiver, /^127\.0\.0\.1:\d+$/);
});

describeSink("JSON on an output", async (store) => {
  const folder = await mkdtemp(join(tmpdir(), "weir-output-"));
  const path = join(folder, "output");
  const fileDescriptor = openSync(path, "w");
  const format = createJsonFormat({ nowMs: Date.now }, NO_TAGS);
  const sink = new PushSink({ store, format, channel: new OutputChannel({ log }, { fileDescriptor }) }, OPTIONS);
  const kinds: Readonly<Record<string, string>> = { counter: "c", gauge: "g", timer: "ms" };
  const received = (name: string): Promise<number | undefined> => {
    const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
    const statsd = lines.map((line) => {
      const { json } = JSON.parse(line) as { json: { name?: string; type: string; value: string } };
      return `${json.name ?? ""}:${json.value}|${kinds[json.type] ?? ""}`;
    });
    return Promise.resolve(valueInLines(statsd, name));
  };
  return {
    sink,
    received,
    async close() {
      closeSync(fileDescriptor);
      await rm(folder, { recursive: true });
    },
  };
});

describe("PushSink", () => {
  const ends: (() => unknown)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  });
  const store = (): StatisticsStore => new StatisticsStore({ maxDynamicKeys: 10 });
  const start = async (sink: StatisticsSink): Promise<StatisticsSink> => {
    await sink.start?.();
    ends.push(() => sink.stop?.());
    return sink;
  };
  const openLog = (): { recording: Log; lines: string[] } => {
    const lines: string[] = [];
    return { recording: createLog({ level: "info", format: "text", write: (line) => lines.push(line) }), lines };
  };

  it("start() writes the lines of StatsD: differences, gauges, durations", async () => {
    const statistics = store();
    statistics.counter("c").add(3);
    statistics.gauge("g").set(2);
    const receiver = await openTcpReceiver();
    ends.push(() => receiver.close());
    await start(overTcp(statistics, { host: "127.0.0.1", port: receiver.port }));
    statistics.timer("t").record(7.9);
    await expect.poll(() => receiver.lines, WAIT).toEqual(expect.arrayContaining(["c:3|c", "g:2|g", "t:7|ms"]));
    await expect.poll(() => receiver.lines.filter((line) => line === "g:2|g").length, WAIT).toBeGreaterThan(2);
    expect(receiver.lines.filter((line) => line !== "g:2|g")).toEqual(expect.arrayContaining(["c:3|c", "t:7|ms"]));
    expect(receiver.lines.filter((line) => line.startsWith("c:"))).toEqual(["c:3|c"]);
  });

  it("start() sends every duration over UDP in packets of at most 1432 bytes", async () => {
    const receiver = await openUdpReceiver();
    ends.push(() => receiver.close());
    const statistics = store();
    const channel = new UdpChannel({ log }, { host: "127.0.0.1", port: receiver.port });
    await start(new PushSink({ store: statistics, format: createStatsdFormat(NO_TAGS), channel }, OPTIONS));
    for (let count = 0; count < 1000; count++)
      statistics.timer("ratelimit_server.ShouldRateLimit.response_time").record(count % 3);
    await expect.poll(() => receiver.lines.length, WAIT).toBe(1000);
    expect(receiver.largestBytes()).toBeLessThanOrEqual(1432);
    expect(receiver.largestBytes()).toBeGreaterThan(1300);
  });

  it("start() works and stop() ends immediately when there is no server, with one line in the log", async () => {
    const receiver = await openTcpReceiver();
    await receiver.close(); // Its port is free now.
    const { recording, lines } = openLog();
    const statistics = store();
    const sink = overTcp(statistics, { host: "127.0.0.1", port: receiver.port, reconnectMs: 5 }, recording);
    await sink.start?.();
    await expect.poll(() => lines.length, WAIT).toBe(1);
    statistics.counter("c").add(1);
    let attempts = 0;
    const count = (): void => void (attempts += 1);
    subscribe("net.client.socket", count);
    ends.push(() => void unsubscribe("net.client.socket", count));
    await expect.poll(() => attempts, WAIT).toBeGreaterThan(5);
    await sink.stop?.();
    expect(lines).toEqual([
      expect.stringMatching(/level=warn.*Cannot send statistics.*127\.0\.0\.1:\d+.*ECONNREFUSED/),
    ]);
  });

  it("start() delivers what was counted while the server was away, whole, when it comes back", async () => {
    const { recording, lines } = openLog();
    const statistics = store();
    const first = await openTcpReceiver();
    await start(overTcp(statistics, { host: "127.0.0.1", port: first.port, reconnectMs: 20 }, recording));
    statistics.counter("c").add(1);
    await expect.poll(() => valueInLines(first.lines, "c"), WAIT).toBe(1);
    await first.close();
    await expect.poll(() => lines.length, WAIT).toBe(2);
    for (let count = 0; count < 10; count++) {
      statistics.counter("c").add(10);
      statistics.rule("d.k").totalHits += 1;
      await new Promise((resolve) => setTimeout(resolve, FLUSH_INTERVAL_MS));
    }
    const second = await openTcpReceiver({ port: first.port });
    ends.push(() => second.close());
    await expect.poll(() => valueInLines(second.lines, "c"), WAIT).toBe(100);
    expect(valueInLines(second.lines, "ratelimit.service.rate_limit.d.k.total_hits")).toBe(10);
    expect(lines.map((line) => /msg="([^";]*)/.exec(line)?.[1])).toEqual([
      "Sending statistics",
      "Cannot send statistics, counters are kept until the server is back",
      "Sending statistics",
    ]);
  });

  it("start() neither waits nor grows without bound when the server never reads, and stop() ends in time", async () => {
    const receiver = await openTcpReceiver({ isDeaf: true });
    ends.push(() => receiver.close());
    const { recording, lines } = openLog();
    const statistics = store();
    const sink = overTcp(
      statistics,
      { host: "127.0.0.1", port: receiver.port, writeTimeoutMs: 100, reconnectMs: 60_000 },
      recording,
    );
    await sink.start?.();
    await expect.poll(() => lines.length, WAIT).toBe(1);
    // 100 MB of durations against the buffers of the system and 4 MiB of queue.
    const timer = statistics.timer("x".repeat(1000));
    const beforeBytes = process.memoryUsage().rss;
    await expect
      .poll(() => {
        for (let count = 0; count < 20_000; count++) timer.record(1);
        return lines.some((line) => line.includes("the server took nothing for 100 ms"));
      }, WAIT)
      .toBe(true);
    expect(process.memoryUsage().rss - beforeBytes).toBeLessThan(150_000_000);
    const stoppedMs = performance.now();
    await sink.stop?.();
    expect(performance.now() - stoppedMs).toBeLessThan(10_000); // The server never takes what is left.
    expect(lines.filter((line) => line.includes("level=warn")).length).toBeLessThanOrEqual(2);
  });

  it("start() reports a name that does not resolve once, and stop() ends", async () => {
    const { recording, lines } = openLog();
    const channel = new UdpChannel({ log: recording }, { host: "statistics.invalid", port: 8125 });
    const sink = new PushSink({ store: store(), format: createStatsdFormat(NO_TAGS), channel }, OPTIONS);
    sink.start();
    await expect.poll(() => lines.length, WAIT).toBe(1);
    await sink.stop();
    expect(lines).toEqual([expect.stringMatching(/Cannot send statistics.*statistics\.invalid:8125/)]);
  });

  it("start() continues when its output is closed, and logs it once", async () => {
    const { recording, lines } = openLog();
    const statistics = store();
    const channel = new OutputChannel({ log: recording }, { fileDescriptor: openSync("/dev/full", "w") });
    const json = createJsonFormat({ nowMs: Date.now }, NO_TAGS);
    let flushes = 0;
    const flushed = (): string => {
      flushes += 1;
      return json.flushed();
    };
    await start(new PushSink({ store: statistics, format: { ...json, flushed }, channel }, OPTIONS));
    await expect.poll(() => lines.length, WAIT).toBe(1);
    statistics.counter("c").add(1);
    const before = flushes;
    await expect.poll(() => flushes - before, WAIT).toBeGreaterThan(3);
    expect(lines).toEqual([expect.stringMatching(/Cannot send statistics.*standard output.*ENOSPC/)]);
  });

  it("start() writes many statistics completely", async () => {
    const receiver = await openTcpReceiver();
    ends.push(() => receiver.close());
    const statistics = store();
    for (let index = 0; index < 5000; index++) statistics.rule(`domain.key_${index}`).totalHits = 2;
    await start(overTcp(statistics, { host: "127.0.0.1", port: receiver.port }));
    await expect.poll(() => receiver.lines.length, WAIT).toBe(5000);
    expect(new Set(receiver.lines).size).toBe(5000);
    expect(receiver.lines.every((line) => line.endsWith(".total_hits:2|c"))).toBe(true);
  });

  it("start() loses nothing when a flush is larger than the queue and the server reads slowly", async () => {
    const receiver = await openTcpReceiver({ isSlow: true });
    ends.push(() => receiver.close());
    const statistics = store();
    const long = "x".repeat(400);
    // 9.5 MB of lines, more than twice the queue.
    for (let index = 0; index < 20_000; index++) statistics.rule(`domain.key_${index}_${long}`).totalHits = 2;
    await start(overTcp(statistics, { host: "127.0.0.1", port: receiver.port, writeTimeoutMs: 60_000 }));
    await expect.poll(() => receiver.lines.length, { timeout: 120_000, interval: 100 }).toBe(20_000);
    expect(new Set(receiver.lines).size).toBe(20_000);
    expect(receiver.lines.every((line) => line.endsWith(".total_hits:2|c"))).toBe(true);
  });

  it("start() sends many changed statistics over UDP in packets of at most 1432 bytes, none of which cuts a line", async () => {
    const receiver = await openUdpReceiver();
    ends.push(() => receiver.close());
    const statistics = store();
    for (let index = 0; index < 1000; index++) statistics.rule(`domain.key_${index}`).nearLimit = 1;
    const channel = new UdpChannel({ log }, { host: "127.0.0.1", port: receiver.port });
    await start(new PushSink({ store: statistics, format: createStatsdFormat(NO_TAGS), channel }, OPTIONS));
    await expect.poll(() => new Set(receiver.lines).size, WAIT).toBe(1000);
    for (const line of receiver.lines)
      expect(line).toMatch(/^ratelimit\.service\.rate_limit\.domain\.key_\d+\.near_limit:1\|c$/);
    expect(receiver.largestBytes()).toBeLessThanOrEqual(1432);
    expect(receiver.largestBytes()).toBeGreaterThan(1300);
  });
});
