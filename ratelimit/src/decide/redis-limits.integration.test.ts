// Limits beyond plain counts over a real redis-server: the cases, and the script against the arithmetic of the process.
import { CASES_BEGIN_SECONDS } from "@weir/limits/cell/limit-cases.suite";
import { countInCell, emptyCell } from "@weir/limits/cell/cell";
import { RANDOM_CALLS, RANDOM_RULE } from "@weir/limits/cell/random-cells.suite";
import fc from "fast-check";
import { silentLog } from "@weir/common/log/log";
import { TurnEnd } from "@weir/common/turn/turn-end";
import { startRedis } from "@weir/harness/servers/redis";
import type { StoreServer } from "@weir/harness/servers/store-server";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { countCell } from "../counters/cells.suite.ts";
import type { Counter } from "../counters/counter.ts";
import { MemoryCounter } from "../counters/memory/memory-counter.ts";
import { createRedisCounter } from "../counters/redis/redis-counter.ts";
import { serverOptions } from "../counters/redis/redis-counter.suite.ts";
import { createSingleDeployment } from "../counters/redis/single/single-deployment.ts";
import { StatisticsStore } from "../statistics/statistics-store.ts";
import { testLimitCases } from "./limit-cases.suite.ts";

let server: StoreServer;
let redis: Redis;
let counter: Counter;
beforeAll(async () => {
  server = await startRedis();
  redis = new Redis({ port: server.port, host: "127.0.0.1" });
  counter = createRedisCounter(
    {
      log: silentLog(),
      statistics: new StatisticsStore({ maxDynamicKeys: 10 }),
      monotonicMs: () => performance.now(),
      turn: new TurnEnd(),
      random: () => 0,
      connections: () => undefined,
      createDeployment: createSingleDeployment,
      usesOwnClock: true,
    },
    {
      main: serverOptions(server.address),
      perSecond: undefined,
      commandTimeoutMs: 30_000,
      expiryJitterMaxSeconds: 0,
      startup: { initialMs: 100, maxMs: 100, maxElapsedMs: 30_000 },
    },
  );
  await counter.start?.();
});
afterAll(async () => {
  await counter.stop?.();
  redis.disconnect();
  await server.stop();
});

describe("decide() over Redis", () => {
  testLimitCases(() => counter);

  it("count() does what the arithmetic of the process does, and what memory counters do", async () => {
    const random = fc.sample(fc.tuple(RANDOM_RULE, fc.array(RANDOM_CALLS.any, { minLength: 20, maxLength: 40 })), {
      numRuns: 1000,
      seed: 28,
    });
    const differences: string[] = [];
    await Promise.all(
      random.map(async ([rule, calls], number) => {
        let own = emptyCell(rule);
        let exists = false;
        const memory = new MemoryCounter({ maxKeys: 10 }); // Each key has a time of its own.
        let nowMs = CASES_BEGIN_SECONDS * 1000;
        for (const { afterMs, hits } of calls) {
          nowMs += afterMs;
          const key = `random_${number}`;
          const after = [...own];
          const passes = countInCell(rule, after, { nowMs, hits, calls: 1 }) > 0;
          // What changes nothing is not stored, so that it is the next call which moves the state on.
          if (hits > 0 ? passes || rule.countsRejected : hits < 0 && exists) [own, exists] = [after, true];
          for (const store of [counter, memory]) {
            const counted = await countCell(store, rule, { key, nowMs, hits });
            const result = `${counted.passes} ${counted.state.join()}`;
            const expected = `${passes} ${after.join()}`;
            if (result !== expected) differences.push(`${store.name} ${key} ${hits}: ${result}, expected ${expected}`);
          }
        }
      }),
    );
    expect(differences.slice(0, 5)).toEqual([]);
  });
});
