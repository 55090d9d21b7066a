// Tests decisions over counters in a real memcached: predicted numbers, and increments that follow
// the answer.
import { silentLog } from "@weir/common/log/log";
import type { DescriptorModel } from "@weir/limits/model/model";
import { type MemcachedServer, startMemcached } from "@weir/harness/servers/memcached";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { MemcachedCounter } from "../counters/memcached/memcached-counter.ts";
import { configuration, descriptor, entries, limit } from "@weir/limits/rules/configuration.suite";
import { StatisticsStore } from "../statistics/statistics-store.ts";
import { WaitingCall, DeciderFixture, type DeciderFixtureOptions } from "./decider.suite.ts";
import { REFUND_STEPS, RESERVE_STEPS } from "./refunds.suite.ts";
import type { RateLimitRequest } from "./request.ts";

let node: MemcachedServer;
let counter: MemcachedCounter;
beforeAll(async () => {
  node = await startMemcached();
});
afterEach(() => counter.stop());
afterAll(() => node.stop());

/**
 * A decider over the node, with these rules. The clock stands, so the windows of the keys are
 * known: …_1234 in seconds, …_1200 in minutes.
 */
async function open(...rules: readonly DescriptorModel[]): Promise<DeciderFixture> {
  return openWith({}, ...rules);
}

async function openWith(
  further: Pick<DeciderFixtureOptions, "localCacheBytes">,
  ...rules: readonly DescriptorModel[]
): Promise<DeciderFixture> {
  const statistics = new StatisticsStore({ maxDynamicKeys: 10 });
  counter = new MemcachedCounter(
    {
      log: silentLog(),
      statistics,
      allowedFailures: statistics.counter("allowed"),
      clock: Date.now,
      monotonicMs: () => performance.now(),
      random: () => 0,
      resolveSrv: () => Promise.reject(new Error("no SRV in this test")),
      reachable: () => undefined,
    },
    {
      nodes: { kind: "list", addresses: [node.address] },
      tls: undefined,
      maxConnections: 2,
      timeoutMs: 30_000,
      expiryJitterMaxSeconds: 0,
      unread: "zero",
      startMaxElapsedMs: 30_000,
    },
  );
  await counter.start();
  await node.ask("flush_all");
  return new DeciderFixture({
    configs: [configuration("domain", rules)],
    counter,
    options: { failureMode: "allow" },
    ...further,
  });
}

async function decide(fixture: DeciderFixture, request: Partial<RateLimitRequest>): Promise<WaitingCall> {
  const call = new WaitingCall();
  fixture.decider.decide(
    { domain: "domain", descriptors: [{ entries: entries("key=value") }], hitsAddend: 0, ...request },
    call,
  );
  await call.answered;
  await counter.drain();
  return call;
}

describe("decide() over memcached", () => {
  it("case 128: decide() answers what remains after this call, then increments", async () => {
    const fixture = await open(descriptor({ key: "key", rateLimit: limit(10, "second") }));
    await node.set("domain_key_value_1234", "4");
    const { decision } = await decide(fixture, { hitsAddend: 1 });
    expect(decision).toMatchObject({ overallCode: 1, statuses: [{ code: 1, limitRemaining: 5 }] });
    expect(await node.get("domain_key_value_1234")).toBe("5");
  });

  it("decide() gives hits back, and creates no counter for it", async () => {
    const fixture = await open(
      descriptor({ key: "key", rateLimit: limit(50, "minute") }),
      descriptor({ key: "reserve", rateLimit: limit(1000, "minute") }),
    );
    const hitsOf = (key: string, hits: number) => ({
      entries: entries(`${key}=x`),
      hitsAddend: Math.abs(hits),
      isNegativeHits: hits < 0,
    });
    await decide(fixture, { descriptors: [hitsOf("key", -1)] });
    expect(await node.get("domain_key_x_1200")).toBeUndefined();
    for (const { hits, remaining } of REFUND_STEPS) {
      const { decision } = await decide(fixture, { descriptors: [hitsOf("key", hits)] });
      expect(decision).toMatchObject({ overallCode: 1, statuses: [{ limitRemaining: remaining }] });
    }
    expect((await node.get("domain_key_x_1200"))?.trim()).toBe("0");
    // Each descriptor of a call is predicted from the stored count alone; what is stored is exact.
    for (const call of RESERVE_STEPS)
      await decide(fixture, { descriptors: call.map(({ hits }) => hitsOf("reserve", hits)) });
    expect((await node.get("domain_reserve_x_1200"))?.trim()).toBe("420");
  });

  it("case 129: decide() increments what is over its limit all the same", async () => {
    const fixture = await open(descriptor({ key: "key", rateLimit: limit(10, "minute") }));
    await node.set("domain_key_value_1200", "10");
    const { decision } = await decide(fixture, {});
    expect(decision).toMatchObject({ overallCode: 2, statuses: [{ code: 2, limitRemaining: 0 }] });
    expect(await node.get("domain_key_value_1200")).toBe("11");
  });

  it("case 130: decide() classifies two descriptors by their own numbers and addends", async () => {
    const fixture = await open(
      descriptor({ key: "hour", rateLimit: limit(10, "hour") }),
      descriptor({ key: "day", rateLimit: limit(10, "day") }),
    );
    await node.set("domain_hour_x_0", "10");
    await node.set("domain_day_x_0", "12");
    const { decision } = await decide(fixture, {
      descriptors: [
        { entries: entries("hour=x"), hitsAddend: 1n },
        { entries: entries("day=x"), hitsAddend: 2n },
      ],
    });
    expect(decision.statuses.map(({ code }) => code)).toEqual([2, 2]);
    expect(fixture.counted()).toMatchObject({
      "rate_limit.domain.hour.over_limit": 1,
      "rate_limit.domain.day.over_limit": 2,
    });
    expect([await node.get("domain_hour_x_0"), await node.get("domain_day_x_0")]).toEqual(["11", "14"]);
  });

  it("case 131: decide() counts from 0 when the node is away", async () => {
    const fixture = await open(descriptor({ key: "key", rateLimit: limit(10, "minute") }));
    await node.set("domain_key_value_1200", "10");
    await node.kill();
    try {
      const { decision } = await decide(fixture, {});
      expect(decision).toMatchObject({
        overallCode: 1,
        statuses: [{ code: 1, limitRemaining: 9, currentLimit: { requestsPerUnit: 10 } }],
      });
      expect(fixture.counted()).toEqual({
        "rate_limit.domain.key.total_hits": 1,
        "rate_limit.domain.key.within_limit": 1,
      });
    } finally {
      await node.restart();
    }
  });

  it("case 132: decide() counts from 0 when there is no such key", async () => {
    const fixture = await open(descriptor({ key: "key", rateLimit: limit(10, "minute") }));
    expect((await decide(fixture, {})).decision.statuses).toMatchObject([{ code: 1, limitRemaining: 9 }]);
    expect(await node.get("domain_key_value_1200")).toBe("1");
  });

  it("case 133: decide() passes from within to near to over the limit", async () => {
    const fixture = await open(descriptor({ key: "key", rateLimit: limit(15, "hour") }));
    for (const { stored, code, near, over } of [
      { stored: "10", code: 1, near: undefined, over: undefined },
      { stored: "12", code: 1, near: 1, over: undefined },
      { stored: "15", code: 2, near: 1, over: 1 },
    ]) {
      await node.set("domain_key_value_0", stored);
      expect((await decide(fixture, {})).decision.overallCode).toBe(code);
      expect(fixture.counted()["rate_limit.domain.key.near_limit"]).toBe(near);
      expect(fixture.counted()["rate_limit.domain.key.over_limit"]).toBe(over);
    }
  });

  it("case 133: decide() asks no node about a key that the local cache knows to be over its limit", async () => {
    const fixture = await openWith(
      { localCacheBytes: 1_000_000 },
      descriptor({ key: "key", rateLimit: limit(15, "hour") }),
    );
    await node.set("domain_key_value_0", "15");
    expect((await decide(fixture, {})).decision.overallCode).toBe(2);
    const [gets, sets] = [await node.stat("cmd_get"), await node.stat("cmd_set")];
    expect((await decide(fixture, {})).decision).toMatchObject({
      overallCode: 2,
      statuses: [{ code: 2, limitRemaining: 0 }],
    });
    expect([await node.stat("cmd_get"), await node.stat("cmd_set")]).toEqual([gets, sets]);
    expect(await node.get("domain_key_value_0")).toBe("16");
    expect(fixture.counted()).toMatchObject({
      "rate_limit.domain.key.total_hits": 2,
      "rate_limit.domain.key.over_limit": 2,
      "rate_limit.domain.key.over_limit_with_local_cache": 1,
    });
  });

  it.each([
    { requests: 20, addend: 3, stored: 2, counted: { total_hits: 3, within_limit: 3 } },
    { requests: 8, addend: 2, stored: 5, counted: { total_hits: 2, within_limit: 2, near_limit: 1 } },
    { requests: 20, addend: 3, stored: 16, counted: { total_hits: 3, within_limit: 3, near_limit: 3 } },
    { requests: 20, addend: 3, stored: 19, counted: { total_hits: 3, over_limit: 2, near_limit: 1 } },
    { requests: 20, addend: 7, stored: 15, counted: { total_hits: 7, over_limit: 2, near_limit: 4 } },
    { requests: 10, addend: 3, stored: 27, counted: { total_hits: 3, over_limit: 3 } },
  ])(
    "case 134: decide() counts $counted when $stored of $requests are stored and $addend come",
    async ({ requests, addend, stored, counted }) => {
      const fixture = await open(descriptor({ key: "key", rateLimit: limit(requests, "second") }));
      await node.set("domain_key_value_1234", String(stored));
      await decide(fixture, { hitsAddend: addend });
      const expected = Object.entries(counted).map(
        ([name, value]) => [`rate_limit.domain.key.${name}`, value] as const,
      );
      const rejected = "over_limit" in counted ? { rejected_calls: 1 } : {};
      expect(fixture.counted()).toEqual({ ...Object.fromEntries(expected), ...rejected });
    },
  );

  it("decide() shows both of two equal descriptors the same number, and increments for both", async () => {
    const fixture = await open(descriptor({ key: "key", rateLimit: limit(10, "minute") }));
    await node.set("domain_key_value_1200", "4");
    const equal = { entries: entries("key=value") };
    const { decision } = await decide(fixture, { descriptors: [equal, equal] });
    expect(decision.statuses.map(({ limitRemaining }) => limitRemaining)).toEqual([5, 5]);
    expect(await node.get("domain_key_value_1200")).toBe("6");
  });

  it("case 143: decide() rejects a call whose key memcached cannot store, and increments nothing", async () => {
    const fixture = await open(descriptor({ key: "key", rateLimit: limit(10, "minute") }));
    const { error } = await decide(fixture, {
      descriptors: [{ entries: entries("key=value") }, { entries: entries("key=with space") }],
    });
    expect(error).toMatchObject({
      code: "REQUEST_INVALID",
      message:
        'Cannot count on the alternative store: the key must hold no space and no control character; it is "domain_key_with space_1200"',
    });
    expect(await node.get("domain_key_value_1200")).toBeUndefined();
  });
});
