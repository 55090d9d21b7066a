// KVSTORE_PIPELINE_WINDOW and KVSTORE_PIPELINE_LIMIT as a real redis-server sees them.
import { setImmediate as turn, setTimeout as wait } from "node:timers/promises";
import { Redis } from "ioredis";
import { until } from "@weir/harness/processes/eventually";
import { type CuttingProxy, startCuttingProxy } from "@weir/harness/servers/cutting-proxy";
import { startRedis } from "@weir/harness/servers/redis";
import type { StoreServer } from "@weir/harness/servers/store-server";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { check, count, describeCounter, read, WaitingBatch } from "../../counter.suite.ts";
import {
  COMMAND_TIMEOUT_MS,
  DEADLINE_MS,
  PATIENT,
  SLACK_MS,
  TestedCounters,
  timeFailure,
} from "../redis-counter.suite.ts";
import { createSingleDeployment } from "./single-deployment.ts";

const counters = new TestedCounters(createSingleDeployment);
let server: StoreServer;
let proxy: CuttingProxy;
/** The pieces that clients sent through the proxy. */
const pieces: string[] = [];
beforeAll(async () => {
  server = await startRedis();
  proxy = await startCuttingProxy(server.port);
  proxy.onRequest((chunk) => pieces.push(chunk.toString()));
});
afterEach(() => counters.stop());
afterAll(async () => {
  await proxy.close();
  await server.stop();
});

/** Commands that a monitor sees while `run` runs. */
async function commandsOf(run: () => Promise<unknown>): Promise<string[]> {
  const redis = new Redis(server.port, "127.0.0.1");
  const monitor = await redis.monitor();
  const seen: string[] = [];
  monitor.on("monitor", (_time: string, args: string[]) => seen.push(args.join(" ")));
  await run();
  await redis.get("end-of-run");
  await until(() => seen.includes("get end-of-run"), DEADLINE_MS, "the monitor has seen all");
  monitor.disconnect();
  redis.disconnect();
  return seen.filter((line) => line !== "get end-of-run");
}

/** A counter with these pipeline options. */
async function startGathering(windowMs: number, limit: number, url = server.address) {
  return (await counters.start(url, { server: { pipeline: { windowMs, limit } }, options: PATIENT })).counter;
}

describe.each([
  { windowMs: 0.15, limit: 0 },
  { windowMs: 2, limit: 0 },
  { windowMs: 2, limit: 3 },
  { windowMs: 0, limit: 1 },
])("a window of $windowMs ms and a limit of $limit", (pipeline) => {
  describeCounter(`Redis single, window ${pipeline.windowMs} ms, limit ${pipeline.limit}`, async () => {
    const own = await startRedis();
    const { counter } = new TestedCounters(createSingleDeployment).create(own.address, {
      server: { pipeline },
      options: PATIENT,
    });
    return { counter, close: () => own.stop() };
  });
});

describe("KVSTORE_PIPELINE_WINDOW", () => {
  // A limit ends the windows of these tests: how long a window lasts is up to a machine that may pause.
  it("count() sends one INCRBY for the calls of many turns when they come within the window", async () => {
    const counter = await startGathering(60_000, 3);
    const seen = await commandsOf(async () => {
      const calls = [count(counter, check("window"))];
      for (let index = 0; index < 4; index++) {
        await turn();
        calls.push(count(counter, check("window")));
      }
      calls.push(count(counter, check("window-other")), read(counter, check("window-read")));
      expect(await Promise.all(calls)).toEqual([[1], [2], [3], [4], [5], [1], [0]]);
    });
    expect(seen).toEqual([
      "incrby window_4000000200 5",
      "expire window_4000000200 60",
      "incrby window-other_4000000200 1",
      "expire window-other_4000000200 60",
      "get window-read_4000000200",
    ]);
  });

  it("count() flushes the commands of a window in one piece", async () => {
    const counter = await startGathering(60_000, 20, proxy.address);
    const before = pieces.length;
    const calls = [];
    for (let index = 0; index < 20; index++) {
      calls.push(count(counter, check(`piece-${index}`)));
      await turn();
    }
    await Promise.all(calls);
    expect(pieces.length - before).toBe(1);
  });

  it("count() flushes per event-loop turn when there is no window", async () => {
    const counter = await startGathering(0, 0, proxy.address);
    const before = pieces.length;
    for (let index = 0; index < 5; index++)
      await Promise.all([count(counter, check(`turn-${index}`)), count(counter, check("turns"))]);
    expect(pieces.length - before).toBe(5);
  });

  it("count() answers within the time limit though the window is longer", async () => {
    const { counter } = await counters.start(server.address, { server: { pipeline: { windowMs: 60_000, limit: 0 } } });
    const { error, tookMs } = await timeFailure(counter);
    expect(error).toMatchObject({ code: "STORE_UNAVAILABLE" });
    expect(tookMs).toBeLessThan(COMMAND_TIMEOUT_MS + SLACK_MS);
    const patient = await startGathering(60_000, 0);
    const hasty = await timeFailure(patient, new WaitingBatch([check("hasty")], performance.now() + 50));
    expect(hasty.error).toMatchObject({ code: "DEADLINE_EXCEEDED" });
    expect(hasty.tookMs).toBeLessThan(PATIENT.commandTimeoutMs / 3);
  });
});

describe("KVSTORE_PIPELINE_LIMIT", () => {
  it("count() flushes as soon as so many commands are gathered", async () => {
    const counter = await startGathering(60_000, 3);
    const first = new WaitingBatch([check("limit-a"), check("limit-b")]);
    counter.count(first);
    const again = new WaitingBatch([check("limit-a")]);
    counter.count(again); // The same key is no further command.
    await wait(100);
    expect([first.isAnswered, again.isAnswered]).toEqual([false, false]);
    const last = new WaitingBatch([check("limit-c")]);
    counter.count(last);
    expect(await Promise.all([first.counts, again.counts, last.counts])).toEqual([[1, 1], [2], [1]]);
  });

  it("count() flushes in several pieces when a call has more commands than the limit", async () => {
    const counter = await startGathering(50, 2);
    const seen = await commandsOf(async () => {
      expect(await count(counter, check("split-a"), check("split-b"), check("split-a"), check("split-c"))).toEqual([
        1, 1, 2, 1,
      ]);
    });
    expect(seen.filter((line) => line.startsWith("incrby"))).toEqual([
      "incrby split-a_4000000200 1",
      "incrby split-b_4000000200 1",
      "incrby split-a_4000000200 1",
      "incrby split-c_4000000200 1",
    ]);
  });
});
