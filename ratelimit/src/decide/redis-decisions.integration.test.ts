// Tests decisions over counters in a real redis-server with the local cache and with withheld
// increments, and the numbers that are stored then.
import { StatisticsStore } from "../statistics/statistics-store.ts";
import { silentLog } from "@weir/common/log/log";
import { TurnEnd } from "@weir/common/turn/turn-end";
import { Redis } from "ioredis";
import { startRedis } from "@weir/harness/servers/redis";
import type { StoreServer } from "@weir/harness/servers/store-server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Counter } from "../counters/counter.ts";
import { createRedisCounter } from "../counters/redis/redis-counter.ts";
import { serverOptions } from "../counters/redis/redis-counter.suite.ts";
import { createSingleDeployment } from "../counters/redis/single/single-deployment.ts";
import { configuration, descriptor, entries, limit } from "@weir/limits/rules/configuration.suite";
import { WaitingCall, DeciderFixture, type DeciderFixtureOptions } from "./decider.suite.ts";
import { REFUND_STEPS, type RefundStep, RESERVE_STEPS } from "./refunds.suite.ts";

/** The clock of the decisions stands here: hours begin at 997200, minutes at 999960. */
const NOW_SECONDS = 1_000_000;

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
    },
    {
      main: serverOptions(server.address),
      perSecond: undefined,
      commandTimeoutMs: 30_000,
      expiryJitterMaxSeconds: 0,
      usesScripts: true,
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

/** A fixture over the server; every test has a domain of its own, so that keys do not meet. */
function open(
  domain: string,
  limits: Readonly<Record<string, readonly [requests: number, unit: string]>>,
  further: Partial<DeciderFixtureOptions>,
) {
  const rules = Object.entries(limits).map(([key, [requests, unit]]) =>
    descriptor({ key, rateLimit: limit(requests, unit) }),
  );
  const fixture = new DeciderFixture({
    configs: [configuration(domain, rules)],
    counter,
    nowSeconds: NOW_SECONDS,
    ...further,
  });
  const decide = async (keys: readonly string[], hitsAddend = 0) => {
    const call = new WaitingCall();
    fixture.decider.decide(
      { domain, descriptors: keys.map((key) => ({ entries: entries(`${key}=x`) })), hitsAddend },
      call,
    );
    await call.answered;
    return call.decision;
  };
  return { fixture, decide, stored: (...keys: readonly string[]) => redis.mget(keys.map((key) => `${domain}_${key}`)) };
}

/** How many commands of a kind the server has answered. */
async function calls(command: string): Promise<number> {
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(await redis.info("commandstats"))?.[1] ?? 0);
}

describe("decide() over Redis", () => {
  it("cases 110, 111 and 112: decide() stores what goes over its limit and nothing else", async () => {
    const { decide, stored, fixture } = open(
      "stop",
      { a: [15, "hour"], b: [14, "hour"] },
      { options: { stopIncrementsWhenOver: true }, localCacheBytes: 100_000 },
    );
    await redis.mset("stop_a_x_997200", 10, "stop_b_x_997200", 10);
    const outcome = async (hits: number) =>
      (await decide(["a", "b"], hits)).statuses.map(({ code, limitRemaining }) => [code, limitRemaining]);
    expect(await outcome(1)).toEqual([[1, 4], [1, 3]]); // prettier-ignore
    expect(await outcome(2)).toEqual([[1, 2], [1, 1]]); // prettier-ignore
    expect(await stored("a_x_997200", "b_x_997200")).toEqual(["13", "13"]);
    expect(await outcome(2)).toEqual([[1, 2], [2, 0]]); // prettier-ignore
    expect(await stored("a_x_997200", "b_x_997200")).toEqual(["13", "15"]);
    expect(fixture.counted()).toMatchObject({
      "rate_limit.stop.a.total_hits": 5,
      "rate_limit.stop.a.within_limit": 5,
      "rate_limit.stop.a.near_limit": 2,
      "rate_limit.stop.b.over_limit": 1,
      "rate_limit.stop.b.near_limit": 3,
    });
    // Case 113: `b` is known to be over now, so nothing is read and nothing is added.
    const reads = await calls("get");
    expect(reads).toBe(6);
    expect(await outcome(2)).toEqual([[1, 2], [2, 0]]); // prettier-ignore
    expect(await calls("get")).toBe(reads);
    expect(await stored("a_x_997200", "b_x_997200")).toEqual(["13", "15"]);
  });

  it("cases 108 and 195: decide() sends nothing for a key that is known to be over its limit", async () => {
    const { decide, stored, fixture } = open("another", { key2: [20, "minute"] }, { localCacheBytes: 100_000 });
    for (let index = 0; index < 21; index++) await decide(["key2"]);
    const increments = await calls("incrby");
    for (let index = 0; index < 4; index++) expect((await decide(["key2"])).overallCode).toBe(2);
    expect(await calls("incrby")).toBe(increments);
    expect(await stored("key2_x_999960")).toEqual(["21"]);
    expect(fixture.counted()).toEqual({
      "rate_limit.another.key2.total_hits": 25,
      "rate_limit.another.key2.within_limit": 20,
      "rate_limit.another.key2.near_limit": 4,
      "rate_limit.another.key2.over_limit": 5,
      "rate_limit.another.key2.over_limit_with_local_cache": 4,
      rejected_calls: 5,
    });
  });

  it("decide() gives hits back, keeps the expiry, and creates no counter for it", async () => {
    const { fixture, stored } = open("refund", { a: [50, "minute"], b: [1000, "minute"] }, {});
    const decide = async (key: string, ...steps: readonly RefundStep[]) => {
      const call = new WaitingCall();
      const descriptors = steps.map(({ hits }) => ({
        entries: entries(`${key}=x`),
        hitsAddend: Math.abs(hits),
        isNegativeHits: hits < 0,
      }));
      fixture.decider.decide({ domain: "refund", descriptors, hitsAddend: 0 }, call);
      await call.answered;
      return call.decision.statuses.map(({ limitRemaining }) => limitRemaining);
    };
    expect(await decide("a", { hits: -1, remaining: 50 })).toEqual([50]);
    expect(await stored("a_x_999960")).toEqual([null]);
    for (const step of REFUND_STEPS) expect(await decide("a", step)).toEqual([step.remaining]);
    expect(await stored("a_x_999960")).toEqual(["0"]);
    expect(await redis.ttl("refund_a_x_999960")).toBeGreaterThan(50);
    for (const call of RESERVE_STEPS) expect(await decide("b", ...call)).toEqual(call.map((step) => step.remaining));
    await redis.set("refund_a_x_999960", "100000000000000100");
    await decide("a", { hits: -90, remaining: 0 });
    expect(await stored("a_x_999960")).toEqual(["100000000000000010"]);
  });

  it("decide() counts in calendar months, and keeps their counters for the longest month", async () => {
    const { decide, stored } = open(
      "calendar",
      { a: [1, "month"] },
      {
        nowSeconds: 1_795_446_000,
        options: { calendarMonths: true },
      },
    );
    expect([(await decide(["a"])).overallCode, (await decide(["a"])).overallCode]).toEqual([1, 2]);
    expect(await stored("a_x_1793491200")).toEqual(["2"]);
    expect(await redis.ttl("calendar_a_x_1793491200")).toBeGreaterThan(2_764_700);
    expect(await redis.ttl("calendar_a_x_1793491200")).toBeLessThanOrEqual(2_764_800);
  });

  it("decide() counts the windows of several units that requests bring along", async () => {
    const { fixture, stored } = open("multiplied", { a: [1, "minute"] }, {});
    const outcome = async (unitMultiplier: number) => {
      const call = new WaitingCall();
      const override = { requestsPerUnit: 2, unit: 2, unitMultiplier };
      fixture.decider.decide(
        { domain: "multiplied", descriptors: [{ entries: entries("a=x"), limit: override }], hitsAddend: 0 },
        call,
      );
      await call.answered;
      return call.decision.overallCode;
    };
    expect([await outcome(5), await outcome(5), await outcome(5)]).toEqual([1, 1, 2]);
    expect(await stored("a_x_999900")).toEqual(["3"]);
    const ttl = await redis.ttl("multiplied_a_x_999900");
    expect(ttl).toBeGreaterThan(300);
    expect(ttl).toBeLessThanOrEqual(511);
  });

  it.each([
    { stops: false, remaining: [9, 8, 7, 6, 5], key2: "15" },
    { stops: true, remaining: [10, 10, 10, 10, 10], key2: "10" },
  ])(
    "case 196: decide() leaves $remaining of one limit while the other is over when STOP is $stops",
    async ({ stops, remaining, key2 }) => {
      const domain = `both-${stops}`;
      const { decide, stored } = open(
        domain,
        { key2: [20, "minute"], key3: [10, "hour"] },
        { options: { stopIncrementsWhenOver: stops } },
      );
      const decisions = [];
      for (let index = 0; index < 15; index++) decisions.push(await decide(["key2", "key3"]));
      expect(decisions.map(({ overallCode }) => overallCode)).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2]);
      expect(decisions.slice(10).map(({ statuses }) => statuses[0]?.limitRemaining)).toEqual(remaining);
      expect(await stored("key2_x_999960", "key3_x_997200")).toEqual([key2, "15"]);
    },
  );
});
