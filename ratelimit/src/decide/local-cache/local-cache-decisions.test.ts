// Decisions with a local cache of keys over their limit, and with increments withheld in addition,
// by the conformance cases.
import { describe, expect, it } from "vitest";
import type { CountBatch } from "../../counters/counter.ts";
import { count } from "../../counters/counter.suite.ts";
import { MemoryCounter } from "../../counters/memory/memory-counter.ts";
import { StoreError } from "../../counters/store-error.ts";
import { configuration, descriptor, entries, limit } from "@weir/limits/rules/configuration.suite";
import { ReplyingCounter, DeciderFixture, WaitingCall } from "../decider.suite.ts";

const KEY = { entries: entries("key=value") };
const CACHE = { localCacheBytes: 100_000 };

/** Rules `a`, `b`, … of so many per hour. */
function hourly(...limits: readonly number[]) {
  return limits.map((requests, index) => descriptor({ key: "abc"[index] ?? "", rateLimit: limit(requests, "hour") }));
}

const A = { entries: entries("a=x") };
const B = { entries: entries("b=x") };
const C = { entries: entries("c=x") };

/** A counter that returns prepared reads and replies, and records the requests. */
class ReadingCounter extends ReplyingCounter {
  override readonly predicts = false;
  readonly reads: (number | StoreError)[];
  readonly readKeys: string[] = [];

  constructor(reads: readonly (number | StoreError)[], replies: readonly (number | StoreError)[]) {
    super(replies);
    this.reads = [...reads];
  }

  override read(batch: CountBatch): void {
    for (const check of batch.checks) {
      this.readKeys.push(check.key);
      const reply = this.reads.shift();
      if (typeof reply !== "number") {
        batch.failed(reply ?? new StoreError("STORE_UNAVAILABLE", "no reply is left"));
        return;
      }
      check.after = reply;
    }
    batch.counted();
  }
}

describe("decide() with a local cache", () => {
  const config = (shadowMode = false) =>
    configuration("domain", [descriptor({ key: "key", rateLimit: limit(15, "hour"), shadowMode })]);

  it("case 108: decide() asks the counter no more when the key is known to be over its limit", () => {
    const counter = new ReplyingCounter([11, 13, 16]);
    const fixture = new DeciderFixture({ configs: [config()], counter, nowSeconds: 1_000_000, ...CACHE });
    const statuses = Array.from({ length: 4 }, () => fixture.decide({ descriptors: [KEY] }).decision.statuses[0]);
    expect(statuses.map((status) => [status?.code, status?.limitRemaining])).toEqual([
      [1, 4],
      [1, 2],
      [2, 0],
      [2, 0],
    ]);
    expect(statuses[3]).toMatchObject({
      currentLimit: { requestsPerUnit: 15, unit: 3, name: "" },
      durationUntilResetSeconds: 800,
    });
    expect(counter.asked).toHaveLength(3);
    expect(fixture.counted()).toEqual({
      "rate_limit.domain.key.total_hits": 4,
      "rate_limit.domain.key.over_limit": 2,
      "rate_limit.domain.key.over_limit_with_local_cache": 1,
      "rate_limit.domain.key.near_limit": 1,
      "rate_limit.domain.key.within_limit": 2,
      rejected_calls: 2,
    });
    expect(fixture.localCacheGauges()).toEqual({
      averageAccessTime: 0,
      entryCount: 1,
      evacuateCount: 0,
      expiredCount: 0,
      hitCount: 1,
      lookupCount: 4,
      missCount: 3,
      overwriteCount: 0,
    });
  });

  it("case 109: decide() counts a local hit of a rule in shadow mode and lets it pass", () => {
    const counter = new ReplyingCounter([11, 13, 16]);
    const fixture = new DeciderFixture({ configs: [config(true)], counter, nowSeconds: 1_000_000, ...CACHE });
    const decide = () => fixture.decide({ descriptors: [KEY] }).decision.statuses[0];
    decide();
    decide();
    expect(decide()).toMatchObject({ code: 1, limitRemaining: 0, currentLimit: { requestsPerUnit: 15 } });
    expect(fixture.counted()).toEqual({
      "rate_limit.domain.key.total_hits": 3,
      "rate_limit.domain.key.over_limit": 1,
      "rate_limit.domain.key.near_limit": 1,
      "rate_limit.domain.key.within_limit": 2,
      "rate_limit.domain.key.shadow_mode": 1,
    });
    expect(decide()).toMatchObject({ code: 1, limitRemaining: 0, currentLimit: { requestsPerUnit: 15 } });
    expect(fixture.counted()).toEqual({
      "rate_limit.domain.key.total_hits": 4,
      "rate_limit.domain.key.over_limit": 2,
      "rate_limit.domain.key.over_limit_with_local_cache": 1,
      "rate_limit.domain.key.near_limit": 1,
      "rate_limit.domain.key.within_limit": 2,
      "rate_limit.domain.key.shadow_mode": 2,
    });
  });

  it("decide() asks the counter again when the next window has begun", () => {
    const counter = new ReplyingCounter([16, 1]);
    const fixture = new DeciderFixture({ configs: [config()], counter, nowSeconds: 3599, ...CACHE });
    expect(fixture.decide({ descriptors: [KEY] }).decision.overallCode).toBe(2);
    fixture.nowMs = 3_600_000;
    expect(fixture.decide({ descriptors: [KEY] }).decision.overallCode).toBe(1);
    expect(counter.asked.map(({ key }) => key)).toEqual(["domain_key_value_0", "domain_key_value_3600"]);
  });

  it("decide() asks the counter for the other descriptors only, in their order", () => {
    const counter = new ReplyingCounter([16, 1, 2, 4, 3]);
    const fixture = new DeciderFixture({ configs: [configuration("domain", hourly(20, 15, 20))], counter, ...CACHE });
    fixture.decide({ descriptors: [B] });
    const { decision } = fixture.decide({ descriptors: [A, B, C] });
    expect(decision).toMatchObject({
      overallCode: 2,
      statuses: [{ limitRemaining: 19 }, { code: 2 }, { limitRemaining: 18 }],
    });
    expect(counter.asked.slice(1).map(({ key, addend }) => [key, addend])).toEqual([
      ["domain_a_x_0", 1],
      ["domain_c_x_0", 1],
    ]);
    expect(
      fixture
        .decide({ descriptors: [A, B], hitsAddend: 3 })
        .decision.statuses.map(({ limitRemaining }) => limitRemaining),
    ).toEqual([16, 0]);
    expect(fixture.counted()).toMatchObject({
      "rate_limit.domain.b.over_limit": 5,
      "rate_limit.domain.b.over_limit_with_local_cache": 4,
    });
  });

  it("decide() looks up no key of a rule that is replaced", () => {
    const rules = [
      descriptor({ key: "a", rateLimit: limit(10, "hour", { name: "a" }) }),
      descriptor({ key: "b", rateLimit: limit(10, "hour", { replaces: [{ name: "a" }] }) }),
    ];
    const fixture = new DeciderFixture({
      configs: [configuration("domain", rules)],
      counter: new ReplyingCounter([1]),
      ...CACHE,
    });
    fixture.decide({ descriptors: [A, B] });
    expect(fixture.localCacheGauges()).toMatchObject({ lookupCount: 1 });
  });

  it.each([
    { failureMode: "error", overall: undefined, over: undefined },
    { failureMode: "allow", overall: 2, over: 1 },
    { failureMode: "deny", overall: 2, over: 1 },
  ] as const)(
    "decide() answers from the local cache when the store fails and the mode is $failureMode",
    ({ failureMode, overall, over }) => {
      const unavailable = new StoreError("STORE_UNAVAILABLE", "cache error", { transient: true });
      const counter = new ReplyingCounter([16, unavailable]);
      const fixture = new DeciderFixture({
        configs: [configuration("domain", hourly(20, 15))],
        counter,
        options: { failureMode },
        ...CACHE,
      });
      fixture.decide({ descriptors: [B] });
      const call = fixture.decide({ descriptors: [A, B] });
      expect(fixture.counted()["rate_limit.domain.b.over_limit_with_local_cache"]).toBe(over);
      if (overall === undefined) {
        expect(call.error.code).toBe("STORE_UNAVAILABLE");
        return;
      }
      expect(call.decision.overallCode).toBe(overall);
      expect(call.decision.statuses[1]).toMatchObject({
        code: 2,
        limitRemaining: 0,
        currentLimit: { requestsPerUnit: 15 },
      });
      expect(call.decision.statuses[0]?.code).toBe(failureMode === "allow" ? 1 : 2);
    },
  );

  it("decide() keeps no key that was denied because the store failed", () => {
    const counter = new ReplyingCounter([new StoreError("STORE_UNAVAILABLE", "cache error"), 1]);
    const fixture = new DeciderFixture({ configs: [config()], counter, options: { failureMode: "deny" }, ...CACHE });
    expect(fixture.decide({ descriptors: [KEY] }).decision.overallCode).toBe(2);
    expect(fixture.decide({ descriptors: [KEY] }).decision.overallCode).toBe(1);
  });

  it("case 195: decide() counts rejections by the local cache from the second on", () => {
    const rules = [descriptor({ key: "key2", rateLimit: limit(20, "minute") })];
    const fixture = new DeciderFixture({
      configs: [configuration("another", rules)],
      counter: new MemoryCounter({ maxKeys: 10 }),
      ...CACHE,
    });
    const steps = Array.from({ length: 25 }, () => {
      const { decision } = fixture.decide({ domain: "another", descriptors: [{ entries: entries("key2=x") }] });
      const counted = fixture.counted();
      const over = counted["rate_limit.another.key2.over_limit"] ?? 0;
      return [decision.overallCode, over, counted["rate_limit.another.key2.over_limit_with_local_cache"] ?? 0];
    });
    expect(steps.slice(0, 20)).toEqual(Array.from({ length: 20 }, () => [1, 0, 0]));
    expect(steps.slice(20)).toEqual([
      [2, 1, 0],
      [2, 2, 1],
      [2, 3, 2],
      [2, 4, 3],
      [2, 5, 4],
    ]);
  });
});

describe("decide() with STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT", () => {
  const options = { stopIncrementsWhenOver: true };
  const fixture = (counter: ReplyingCounter, rules = hourly(15, 14), localCacheBytes = 0) =>
    new DeciderFixture({
      configs: [configuration("domain", rules)],
      counter,
      options,
      localCacheBytes,
      nowSeconds: 1_000_000,
    });

  it("cases 110, 111 and 112: decide() increments what goes over its limit and nothing else", () => {
    const counter = new ReadingCounter([10, 10, 11, 11, 13, 13], [11, 11, 13, 13, 13, 15]);
    const stopping = fixture(counter, hourly(15, 14), 100_000);
    const decide = (hitsAddend: number) => stopping.decide({ descriptors: [A, B], hitsAddend }).decision;
    const outcome = ({ statuses }: ReturnType<typeof decide>) =>
      statuses.map(({ code, limitRemaining }) => [code, limitRemaining]);
    const of = (rule: string) =>
      Object.fromEntries(
        Object.entries(stopping.counted()).flatMap(([name, value]) =>
          name.startsWith(`rate_limit.domain.${rule}.`) ? [[name.slice(20), value]] : [],
        ),
      );

    expect(outcome(decide(1))).toEqual([[1, 4], [1, 3]]); // prettier-ignore
    expect(of("a")).toEqual({ total_hits: 1, within_limit: 1 });
    expect(of("b")).toEqual({ total_hits: 1, within_limit: 1 });

    expect(outcome(decide(2))).toEqual([[1, 2], [1, 1]]); // prettier-ignore
    expect(of("a")).toEqual({ total_hits: 3, within_limit: 3, near_limit: 1 });
    expect(of("b")).toEqual({ total_hits: 3, within_limit: 3, near_limit: 2 });

    expect(outcome(decide(2))).toEqual([[1, 2], [2, 0]]); // prettier-ignore
    expect(of("a")).toEqual({ total_hits: 5, within_limit: 5, near_limit: 2 });
    expect(of("b")).toEqual({ total_hits: 5, within_limit: 3, near_limit: 3, over_limit: 1 });

    expect(counter.asked.map(({ key, addend }) => [key, addend])).toEqual([
      ["domain_a_x_997200", 1],
      ["domain_b_x_997200", 1],
      ["domain_a_x_997200", 2],
      ["domain_b_x_997200", 2],
      ["domain_a_x_997200", 0],
      ["domain_b_x_997200", 2],
    ]);
    expect(counter.readKeys).toHaveLength(6);
    expect(stopping.localCacheGauges()).toMatchObject({ entryCount: 1 });
  });

  it("case 113: decide() reads nothing and increments nothing when a key is known to be over its limit", () => {
    const counter = new ReadingCounter([], [16, 3]);
    const stopping = fixture(counter, hourly(15, 14), 100_000);
    stopping.decide({ descriptors: [A] });
    const { decision } = stopping.decide({ descriptors: [A, B], hitsAddend: 2 });
    expect(decision.statuses.map(({ code, limitRemaining }) => [code, limitRemaining])).toEqual([[2, 0], [1, 11]]); // prettier-ignore
    expect(counter.readKeys).toEqual([]);
    expect(counter.asked.slice(1)).toEqual([{ key: "domain_b_x_997200", addend: 0, windowSeconds: 3600 }]);
    expect(stopping.counted()).toMatchObject({
      "rate_limit.domain.b.total_hits": 2,
      "rate_limit.domain.b.within_limit": 2,
    });
  });

  it("case 114: decide() counts a single descriptor as without the option, and does not read it", () => {
    const counter = new ReadingCounter([], [14, 16]);
    const stopping = fixture(counter);
    expect(stopping.decide({ descriptors: [A], hitsAddend: 2 }).decision.overallCode).toBe(1);
    expect(stopping.decide({ descriptors: [A], hitsAddend: 2 }).decision.overallCode).toBe(2);
    expect(counter.asked.map(({ addend }) => addend)).toEqual([2, 2]);
    expect(counter.readKeys).toEqual([]);
  });

  it("decide() withholds increments also next to a rule in shadow mode, as envoyproxy/ratelimit does", () => {
    const counter = new ReadingCounter([10, 15], [10, 16]);
    const rules = [
      descriptor({ key: "a", rateLimit: limit(15, "hour") }),
      descriptor({ key: "b", rateLimit: limit(15, "hour"), shadowMode: true }),
    ];
    expect(fixture(counter, rules).decide({ descriptors: [A, B] }).decision.overallCode).toBe(1);
    expect(counter.asked.map(({ addend }) => addend)).toEqual([0, 1]);
  });

  it("decide() takes hits off a count that never had them without going below nothing", () => {
    // The count of `a` is 1, the withheld hits are 3: before them it was -2, which envoyproxy/ratelimit
    // takes for the largest number: at and beyond the threshold.
    const counter = new ReadingCounter([1, 15], [1, 18]);
    const rules = [
      descriptor({ key: "a", rateLimit: limit(1, "hour") }),
      descriptor({ key: "b", rateLimit: limit(15, "hour") }),
    ];
    const stopping = fixture(counter, rules);
    counter.reads.splice(0, 2, -3, 15); // Whatever let it seem to fit; the arithmetic is about the reply.
    stopping.decide({ descriptors: [A, B], hitsAddend: 3 });
    expect(counter.asked.map(({ addend }) => addend)).toEqual([0, 3]);
    expect(stopping.counted()).toMatchObject({
      "rate_limit.domain.a.total_hits": 3,
      "rate_limit.domain.a.within_limit": 3,
      "rate_limit.domain.a.near_limit": 3,
    });
  });

  it.each([
    { phase: "reading", reads: [new StoreError("STORE_TIMEOUT", "late")], replies: [], asked: 0 },
    { phase: "counting", reads: [1, 1], replies: [new StoreError("STORE_TIMEOUT", "late")], asked: 1 },
  ])("decide() fails when the store fails while $phase, hits already in total_hits", ({ reads, replies, asked }) => {
    const counter = new ReadingCounter(reads, replies);
    const stopping = fixture(counter);
    expect(stopping.decide({ descriptors: [A, B] }).error.code).toBe("STORE_UNAVAILABLE");
    expect(counter.asked).toHaveLength(asked);
    expect(stopping.counted()).toEqual({
      "call.should_rate_limit.redis_error": 1,
      "backend_failure.error": 1,
      "rate_limit.domain.a.total_hits": 1,
      "rate_limit.domain.b.total_hits": 1,
    });
  });

  it("decide() reads and counts with the caller's deadline when the counter answers later", () => {
    const batches: { readonly kind: string; readonly batch: CountBatch }[] = [];
    const counter = Object.assign(new ReadingCounter([], []), {
      read: (batch: CountBatch) => void batches.push({ kind: "read", batch }),
      count: (batch: CountBatch) => void batches.push({ kind: "count", batch }),
    });
    const stopping = fixture(counter);
    const call = new WaitingCall(1_234_567);
    stopping.decider.decide({ domain: "domain", descriptors: [A, B], hitsAddend: 0 }, call);
    const answer = (after: number) => {
      const batch = batches.at(-1)?.batch;
      for (const check of batch?.checks ?? []) check.after = after;
      if (batch !== undefined) batch.pending = 0;
      batch?.counted();
    };
    expect(batches.map(({ kind, batch }) => [kind, batch.deadlineMs, batch.pending])).toEqual([["read", 1_234_567, 0]]);
    answer(14);
    expect(batches.map(({ kind, batch }) => [kind, batch.deadlineMs, batch.pending])).toEqual([
      ["read", 1_234_567, 0],
      ["count", 1_234_567, 0],
    ]);
    expect(batches[1]?.batch.checks.map(({ addend }) => addend)).toEqual([0, 1]);
    stopping.nowMs = 1_000_100_000;
    answer(14);
    expect(call.decision.statuses[0]).toMatchObject({ code: 1, limitRemaining: 1, durationUntilResetSeconds: 700 });
  });

  it("decide() counts as without the option when the counter cannot read", () => {
    const counter = new ReplyingCounter([15, 16]);
    const plain = new DeciderFixture({ configs: [configuration("domain", hourly(15, 14))], counter, options });
    plain.decide({ descriptors: [A, B] });
    expect(counter.asked.map(({ addend }) => addend)).toEqual([1, 1]);
  });

  it("case 196: decide() leaves one counter as it is when the other is over, over counters in memory", async () => {
    const counter = new MemoryCounter({ maxKeys: 10 });
    const rules = [
      descriptor({ key: "key2", rateLimit: limit(20, "minute") }),
      descriptor({ key: "key3", rateLimit: limit(10, "hour") }),
    ];
    const stopping = new DeciderFixture({
      configs: [configuration("another", rules)],
      counter,
      options,
      nowSeconds: 1_000_000,
    });
    const decisions = Array.from(
      { length: 15 },
      () =>
        stopping.decide({
          domain: "another",
          descriptors: [{ entries: entries("key2=x") }, { entries: entries("key3=x") }],
        }).decision,
    );
    expect(decisions.map(({ overallCode }) => overallCode)).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2]);
    expect(decisions.map(({ statuses }) => statuses[0]?.limitRemaining)).toEqual([
      19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 10, 10, 10, 10, 10,
    ]);
    const stored = (key: string, windowStartSeconds: number, windowSeconds: number) =>
      count(counter, { key, windowStartSeconds, windowSeconds, addend: 0, after: 0 });
    expect(await stored("another_key2_x_999960", 999_960, 60)).toEqual([10]);
    expect(await stored("another_key3_x_997200", 997_200, 3600)).toEqual([15]);
  });
});
