// The handling of a call by the backend over its deployments, which are made up here: refusals, and
// failures while checks are added.
import { silentLog } from "@weir/common/log/log";
import { TurnEnd } from "@weir/common/turn/turn-end";
import { describe, expect, it } from "vitest";
import { StatisticsStore } from "../../statistics/statistics-store.ts";
import type { Counter, CountBatch, CountedCheck } from "../counter.ts";
import { check, WaitingBatch } from "../counter.suite.ts";
import { StoreError } from "../store-error.ts";
import type { Deployment } from "./deployment.ts";
import { createRedisCounter } from "./redis-counter.ts";
import { serverOptions } from "./redis-counter.suite.ts";

const KEY_OF_FAILURE = check("fails").key;
const KEY_OF_REFUSAL = check("refused").key;

/** A deployment that answers each check immediately with 1, but for the two above. */
class MadeUpDeployment implements Deployment {
  readonly taken: string[] = [];

  start(): Promise<void> {
    return Promise.resolve();
  }

  close(): void {
    // It is empty.
  }

  refusal(_nowMs: number, key: string): StoreError | undefined {
    return key === KEY_OF_REFUSAL ? new StoreError("STORE_UNAVAILABLE", "refused") : undefined;
  }

  add(taken: CountedCheck, batch: CountBatch): void {
    this.taken.push(taken.key);
    taken.after = 1;
    if (taken.key === KEY_OF_FAILURE) {
      batch.pending = 0;
      batch.failed(new StoreError("STORE_UNAVAILABLE", "failed immediately"));
      return;
    }
    batch.pending -= 1;
    if (batch.pending === 0) batch.counted();
  }

  read(taken: CountedCheck, batch: CountBatch): void {
    this.add(taken, batch);
  }
}

function createCounter(): {
  readonly counter: Counter;
  readonly main: MadeUpDeployment;
  readonly perSecond: MadeUpDeployment;
} {
  const [main, perSecond] = [new MadeUpDeployment(), new MadeUpDeployment()];
  const counter = createRedisCounter(
    {
      log: silentLog(),
      statistics: new StatisticsStore({ maxDynamicKeys: 10 }),
      monotonicMs: () => 0,
      random: () => 0,
      connections: () => undefined,
      turn: new TurnEnd(undefined, () => 0),
      createDeployment: (_deps, { scope }) => (scope === "redis_pool" ? main : perSecond),
    },
    {
      main: serverOptions("main:1"),
      perSecond: serverOptions("per-second:1"),
      commandTimeoutMs: 1000,
      expiryJitterMaxSeconds: 0,
      usesScripts: true,
      startup: { initialMs: 1, maxMs: 1, maxElapsedMs: 0 },
    },
  );
  return { counter, main, perSecond };
}

describe("RedisCounter", () => {
  it.each(["count", "read"] as const)(
    "%s() adds no further check when one of its call failed immediately",
    async (method) => {
      const { counter, main, perSecond } = createCounter();
      const batch = new WaitingBatch([check("a"), check("fails"), check("b"), check("c", 1, 4_000_000_200, 1)]);
      counter[method](batch);
      await expect(batch.counts).rejects.toThrow("failed immediately");
      expect([main.taken, perSecond.taken]).toEqual([["a_4000000200", "fails_4000000200"], []]);
    },
  );

  it.each(["count", "read"] as const)(
    "%s() hands no check over when one of its call cannot even wait",
    async (method) => {
      const { counter, main, perSecond } = createCounter();
      const batch = new WaitingBatch([check("a"), check("c", 1, 4_000_000_200, 1), check("refused")]);
      counter[method](batch);
      await expect(batch.counts).rejects.toThrow("refused");
      expect([main.taken, perSecond.taken]).toEqual([[], []]);
    },
  );

  it("count() answers a call once when both deployments have counted their share", async () => {
    const { counter, main, perSecond } = createCounter();
    const batch = new WaitingBatch([check("c", 1, 4_000_000_200, 1), check("a")]);
    counter.count(batch);
    expect(await batch.counts).toEqual([1, 1]);
    expect([main.taken, perSecond.taken]).toEqual([["a_4000000200"], ["c_4000000200"]]);
  });
});
