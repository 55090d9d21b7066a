// The Redis backend when a lost connection comes back to as many calls as may wait for it.
import { setImmediate } from "node:timers/promises";
import { until } from "@weir/harness/processes/eventually";
import { startRedis } from "@weir/harness/servers/redis";
import type { StoreServer } from "@weir/harness/servers/store-server";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { check, WaitingBatch } from "../../counter.suite.ts";
import { DEADLINE_MS, PATIENT, TestedCounters } from "../redis-counter.suite.ts";
import { createSingleDeployment } from "./single-deployment.ts";

/** Fewer than the 100,000 checks that may wait. */
const CALLS = 99_000;

/**
 * The longest turn of the event loop, in milliseconds of the processor: far above the 20 to 50 ms that
 * are measured, and far below the 7 s that a queue of one batch per turn took.
 */
const TURN_MAX_MS = 1000;

const counters = new TestedCounters(createSingleDeployment, PATIENT);
let server: StoreServer;
beforeAll(async () => {
  server = await startRedis();
});
afterEach(() => counters.stop());
afterAll(() => server.stop());

it.each([1, 100])("count() counts 99,000 calls that waited, %i per turn, without a long turn", async (perTurn) => {
  const { counter, active } = await counters.start(server.address);
  await until(() => active.at(-1) === 1, DEADLINE_MS, "the connection works");
  await server.kill();
  await until(() => active.at(-1) === 0, DEADLINE_MS, "the connection is lost");
  const calls: WaitingBatch[] = [];
  while (calls.length < CALLS) {
    for (let added = 0; added < perTurn; added++) {
      const call = new WaitingBatch([check(`user-${calls.length % 50_000}`)]);
      counter.count(call);
      calls.push(call);
    }
    await setImmediate();
  }
  expect(calls.some(({ isAnswered }) => isAnswered)).toBe(false);
  const turns = watchTurns();
  await server.restart();
  const counts = (await Promise.all(calls.map((call) => call.counts))).flat();
  const longestMs = await turns.stop();
  expect([counts.filter((count) => count === 1).length, counts.filter((count) => count === 2).length]).toEqual([
    50_000, 49_000,
  ]);
  expect(longestMs).toBeLessThan(TURN_MAX_MS);
});

/** Measures the longest turn of the event loop, in milliseconds that this thread had the processor. */
function watchTurns(): { stop(): Promise<number> } {
  const over = new AbortController();
  const measured = (async () => {
    let longestMs = 0;
    for (let lastMs = threadMs(); !over.signal.aborted;) {
      await setImmediate();
      const nowMs = threadMs();
      longestMs = Math.max(longestMs, nowMs - lastMs);
      lastMs = nowMs;
    }
    return longestMs;
  })();
  return {
    stop() {
      over.abort();
      return measured;
    },
  };
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
