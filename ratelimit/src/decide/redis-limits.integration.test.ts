// Limits beyond plain counts over a real redis-server: the cases, and the script against the arithmetic of the process.
import { CASES_BEGIN_SECONDS } from "@weir/limits/cell/limit-cases.suite";
import { countInCell, emptyCell } from "@weir/limits/cell/cell";
import { RANDOM_CALLS, RANDOM_RULE } from "@weir/limits/cell/random-cells.suite";
import fc from "fast-check";
import { startRedis } from "@weir/harness/servers/redis";
import type { StoreServer } from "@weir/harness/servers/store-server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { countCell } from "../counters/cells.suite.ts";
import type { Counter } from "../counters/counter.ts";
import { MemoryCounter } from "../counters/memory/memory-counter.ts";
import { PATIENT, TestedCounters } from "../counters/redis/redis-counter.suite.ts";
import { createSingleDeployment } from "../counters/redis/single/single-deployment.ts";
import { testLimitCases } from "./limit-cases.suite.ts";

const counters = new TestedCounters(createSingleDeployment, PATIENT);
let server: StoreServer;
let counter: Counter;
beforeAll(async () => {
  server = await startRedis();
  ({ counter } = await counters.start(server.address, { deps: { usesOwnClock: true } }));
});
afterAll(async () => {
  await counters.stop();
  await server.stop();
});

describe("decide() over Redis", () => {
  testLimitCases(() => counter);

  it("count() does what the arithmetic of the process does, and memory counters do, in 100,000 random calls", async () => {
    const random = fc.sample(fc.tuple(RANDOM_RULE, fc.array(RANDOM_CALLS.any, { minLength: 20, maxLength: 40 })), {
      numRuns: 3400,
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
          // A call that changes nothing stores nothing, so that it is the next call which moves the state on.
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
