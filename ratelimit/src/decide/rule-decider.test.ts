// The decider over a counter that really counts, and over one that answers later.
import { describe, expect, it } from "vitest";
import type { CountBatch, Counter } from "../counters/counter.ts";
import { MemoryCounter } from "../counters/memory/memory-counter.ts";
import { StoreError } from "../counters/store-error.ts";
import { compileCountedRules } from "../config/counted-rules.ts";
import { configuration, descriptor, entries, limit } from "@weir/limits/rules/configuration.suite";
import { DeciderFixture, WaitingCall } from "./decider.suite.ts";

/** A counter that keeps its batches until the test answers them. */
class LaterCounter implements Counter {
  readonly name = "later counter";
  readonly errorType = "redis_error";
  readonly batches: CountBatch[] = [];

  count(batch: CountBatch): void {
    this.batches.push(batch);
  }

  read(batch: CountBatch): void {
    this.batches.push(batch);
  }

  /** Answers the oldest batch with one number for all its checks, or fails it. */
  answer(reply: number | StoreError): void {
    const batch = this.batches.shift();
    if (batch === undefined) throw new Error("No batch waits");
    if (typeof reply !== "number") {
      batch.failed(reply);
      return;
    }
    for (const check of batch.checks) check.after = reply;
    batch.counted();
  }
}

const KEY = { entries: entries("key2=x") };

describe("decide() over counters in memory", () => {
  const config = configuration("another", [
    descriptor({ key: "key2", rateLimit: limit(20, "minute") }),
    descriptor({ key: "key3", rateLimit: limit(10, "hour") }),
  ]);

  it("case 195: decide() lets 20 of 25 calls pass and counts every one", () => {
    const fixture = new DeciderFixture({ configs: [config], counter: new MemoryCounter({ maxKeys: 10 }) });
    const statuses = Array.from(
      { length: 25 },
      () => fixture.decide({ domain: "another", descriptors: [KEY] }).decision.statuses[0],
    );
    expect(statuses.map((status) => status?.limitRemaining)).toEqual([
      19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0, 0, 0, 0,
    ]);
    expect(statuses.map((status) => status?.code)).toEqual([...Array<number>(20).fill(1), ...Array<number>(5).fill(2)]);
    expect(fixture.counted()).toEqual({
      "rate_limit.another.key2.total_hits": 25,
      "rate_limit.another.key2.within_limit": 20,
      "rate_limit.another.key2.near_limit": 4,
      "rate_limit.another.key2.over_limit": 5,
      rejected_calls: 5,
    });
  });

  it("case 196: decide() continues counting one descriptor when the other is over", () => {
    const fixture = new DeciderFixture({ configs: [config], counter: new MemoryCounter({ maxKeys: 10 }) });
    const decisions = Array.from(
      { length: 15 },
      () => fixture.decide({ domain: "another", descriptors: [KEY, { entries: entries("key3=x") }] }).decision,
    );
    expect(decisions.map(({ overallCode }) => overallCode)).toEqual([
      ...Array<number>(10).fill(1),
      ...Array<number>(5).fill(2),
    ]);
    expect(decisions.map(({ statuses }) => statuses[0]?.limitRemaining).slice(10)).toEqual([9, 8, 7, 6, 5]);
  });

  it("decide() begins anew when the window ends", () => {
    const fixture = new DeciderFixture({
      configs: [config],
      counter: new MemoryCounter({ maxKeys: 10 }),
      nowSeconds: 1259,
    });
    expect(fixture.decide({ domain: "another", descriptors: [KEY] }).decision.statuses[0]).toMatchObject({
      limitRemaining: 19,
      durationUntilResetSeconds: 1,
    });
    fixture.nowMs = 1_260_000;
    expect(fixture.decide({ domain: "another", descriptors: [KEY] }).decision.statuses[0]).toMatchObject({
      limitRemaining: 19,
      durationUntilResetSeconds: 60,
    });
  });

  it("decide() keeps the running count when a reload changes the limit", () => {
    const fixture = new DeciderFixture({ configs: [config], counter: new MemoryCounter({ maxKeys: 10 }) });
    fixture.decide({ domain: "another", descriptors: [KEY], hitsAddend: 15 });
    fixture.rules = compileCountedRules(
      [configuration("another", [descriptor({ key: "key2", rateLimit: limit(30, "minute") })])],
      fixture.store,
    );
    expect(fixture.decide({ domain: "another", descriptors: [KEY] }).decision.statuses[0]?.limitRemaining).toBe(14);
  });
});

describe("decide() over a counter that answers later", () => {
  const config = configuration("domain", [descriptor({ key: "key2", rateLimit: limit(10, "minute") })]);
  const begin = () => {
    const counter = new LaterCounter();
    const fixture = new DeciderFixture({ configs: [config], counter, nowSeconds: 1234 });
    const call = new WaitingCall();
    fixture.decider.decide({ domain: "domain", descriptors: [KEY], hitsAddend: 0 }, call);
    return { counter, fixture, call };
  };

  it("decide() answers when the counter does, with the time of that moment", () => {
    const { counter, fixture, call } = begin();
    fixture.nowMs = 1_240_999;
    counter.answer(3);
    expect(call.decision.statuses[0]).toMatchObject({ code: 1, limitRemaining: 7, durationUntilResetSeconds: 20 });
  });

  it("decide() ends with the rules it began with when they are replaced meanwhile", () => {
    const { counter, fixture, call } = begin();
    fixture.rules = compileCountedRules(
      [configuration("domain", [descriptor({ key: "key2", rateLimit: limit(1, "minute") })])],
      fixture.store,
    );
    counter.answer(3);
    expect(call.decision.statuses[0]).toMatchObject({ code: 1, currentLimit: { requestsPerUnit: 10 } });
    expect(fixture.counted()).toMatchObject({ "rate_limit.domain.key2.within_limit": 1 });
  });

  it("decide() hands the caller's deadline to the counter, and fails when that passes", () => {
    const counter = new LaterCounter();
    const fixture = new DeciderFixture({ configs: [config], counter });
    const call = new WaitingCall(1_300_000);
    fixture.decider.decide({ domain: "domain", descriptors: [KEY], hitsAddend: 0 }, call);
    expect(counter.batches[0]?.deadlineMs).toBe(1_300_000);
    counter.answer(new StoreError("DEADLINE_EXCEEDED", "late"));
    expect(call.error.code).toBe("DEADLINE_EXCEEDED");
  });

  it("decide() does not mix calls up when answers come interleaved", () => {
    const counter = new LaterCounter();
    const fixture = new DeciderFixture({ configs: [config], counter });
    const calls = [1, 2, 3].map(() => {
      const call = new WaitingCall();
      fixture.decider.decide({ domain: "domain", descriptors: [KEY], hitsAddend: 0 }, call);
      return call;
    });
    for (const reply of [4, 11, 7]) counter.answer(reply);
    expect(calls.map(({ decision }) => decision.statuses[0]?.limitRemaining)).toEqual([6, 0, 3]);
    expect(calls.map(({ decision }) => decision.overallCode)).toEqual([1, 2, 1]);
  });
});
