// Limits beyond plain counts on a real redis-server whose user may run no scripts, with LIMIT_SCRIPTS=off: the cases,
// calls of several pods that meet, and hits that cannot be given back.
import { Secret } from "@weir/common/settings/secret";
import { until } from "@weir/harness/processes/eventually";
import { startRedis } from "@weir/harness/servers/redis";
import type { StoreServer } from "@weir/harness/servers/store-server";
import { CASES_BEGIN_SECONDS, LIMIT_CASES } from "@weir/limits/cell/limit-cases.suite";
import { configuration, descriptor, entries, limit } from "@weir/limits/rules/configuration.suite";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bucketRule, countCell, CountedCellOnce } from "../counters/cells.suite.ts";
import type { Counter } from "../counters/counter.ts";
import { type CounterChoices, PATIENT, TestedCounters } from "../counters/redis/redis-counter.suite.ts";
import { createSingleDeployment } from "../counters/redis/single/single-deployment.ts";
import { DeciderFixture, WaitingCall } from "./decider.suite.ts";
import type { Decision } from "./decision.ts";
import type { RequestDescriptor } from "./request.ts";
import { testLimitCases } from "./limit-cases.suite.ts";

const USER: CounterChoices = { server: { auth: new Secret("plain:secret") }, options: { usesScripts: false } };
const MINUTE = bucketRule(50, 60);
const NOW_MS = CASES_BEGIN_SECONDS * 1000;

const counters = new TestedCounters(createSingleDeployment, PATIENT);
let server: StoreServer;
let redis: Redis;
let counter: Counter;
beforeAll(async () => {
  server = await startRedis();
  redis = new Redis({ port: server.port, host: "127.0.0.1" });
  await redis.acl("SETUSER", "plain", "on", ">secret", "~*", "+@all", "-@scripting", "-time");
  ({ counter } = await counters.start(server.address, USER));
});
afterAll(async () => {
  redis.disconnect();
  await counters.stop();
  await server.stop();
});

describe("decide() over Redis without scripts", () => {
  testLimitCases(
    () => counter,
    LIMIT_CASES.filter(
      ({ limits, steps }) =>
        limits.every(({ algorithm }) => algorithm !== "token_bucket") && steps.every(([, hits]) => hits >= 0),
    ),
  );

  it("cellsProblem() is none, unless the user lacks a command of plain counts", async () => {
    expect(await counter.cellsProblem?.()).toBeUndefined();
    const { counter: scripted } = await counters.start(server.address, { ...USER, options: {} });
    expect(await scripted.cellsProblem?.()).toMatch(
      /no permissions to run the 'eval' command.*or set LIMIT_SCRIPTS=off to count approximately without scripts$/,
    );
    await redis.acl("SETUSER", "unread", "on", ">secret", "~*", "+@all", "-get");
    const { counter: unread } = await counters.start(server.address, {
      ...USER,
      server: { auth: new Secret("unread:secret") },
    });
    expect(await unread.cellsProblem?.()).toMatch(/'get' command.*: allow its user \+get, \+incrby and \+expire$/);
  });

  it("count() admits a bucket's burst and no more when 600 calls of two pods meet, and takes the rest back", async () => {
    const { counter: other } = await counters.start(server.address, USER);
    const calls = Array.from(
      { length: 600 },
      () => new CountedCellOnce(MINUTE, { key: "met", nowMs: NOW_MS, hits: 1 }),
    );
    calls.forEach((call, index) => (index % 2 === 0 ? counter : other).count(call));
    await Promise.all(calls.map(({ answered }) => answered));
    expect(calls.filter(({ passes }) => passes)).toHaveLength(50);
    const [key = ""] = await redis.keys("met*");
    await until(async () => (await redis.get(key)) === "50", 20_000, "what did not fit is taken back");
    const ttl = await redis.ttl(key);
    expect(ttl).toBeGreaterThan(100);
    expect(ttl).toBeLessThanOrEqual(127);
    expect(await redis.info("commandstats")).not.toMatch(/cmdstat_(?:eval|evalsha|time):calls=[1-9]/);
  });

  it("count() adds nothing for a call that can never pass", async () => {
    const call = await countCell(counter, MINUTE, { key: "large", nowMs: NOW_MS, hits: 51 });
    expect([call.passes, call.room]).toEqual([false, 50]);
    expect(await redis.keys("large*")).toEqual([]);
  });

  it("decide() withholds hits when another limit of the call is over", async () => {
    const rules = [
      descriptor({ key: "one", rateLimit: limit(10, "minute", { algorithm: "sliding_window" }) }),
      descriptor({ key: "plain", rateLimit: limit(1, "minute") }),
      descriptor({ key: "other", rateLimit: limit(5, "minute") }),
    ];
    const fixture = new DeciderFixture({
      configs: [configuration("withheld", rules)],
      counter,
      nowSeconds: CASES_BEGIN_SECONDS,
      options: { stopIncrementsWhenOver: true },
    });
    const each = (...descriptors: readonly RequestDescriptor[]) => decide(fixture, "withheld", ...descriptors);
    await each(hitsOf("plain", 1));
    expect((await each(hitsOf("one", 4), hitsOf("plain", 1))).overallCode).toBe(2);
    expect((await each(hitsOf("one", 0))).statuses).toMatchObject([{ code: 1, limitRemaining: 10 }]);
    expect((await each(hitsOf("one", 4), hitsOf("other", 1))).overallCode).toBe(1);
    expect((await each(hitsOf("one", 0))).statuses).toMatchObject([{ code: 1, limitRemaining: 6 }]);
  });

  it("decide() asks the store each time, because others may be rejected at that moment", async () => {
    const rule = descriptor({ key: "key", rateLimit: limit(10, "minute", { algorithm: "sliding_window" }) });
    const configs = [configuration("cached", [rule])];
    const nowSeconds = CASES_BEGIN_SECONDS;
    const fixture = new DeciderFixture({ configs, counter, nowSeconds, localCacheBytes: 100_000 });
    await decide(fixture, "cached", hitsOf("key", 10));
    for (let call = 0; call < 2; call++)
      expect((await decide(fixture, "cached", hitsOf("key", 1))).overallCode).toBe(2);
    expect(fixture.counted()["rate_limit.cached.key.over_limit_with_local_cache"]).toBeUndefined();
  });

  it("decide() ignores hits to give back, and counts and reports them", async () => {
    const rules = [
      descriptor({ key: "plain", rateLimit: limit(10, "minute") }),
      descriptor({
        key: "bucket",
        rateLimit: limit(10, "minute", { algorithm: "token_bucket", countRejectedHits: true }),
      }),
    ];
    const configs = [configuration("refunds", rules)];
    const fixture = new DeciderFixture({ configs, counter, nowSeconds: CASES_BEGIN_SECONDS });
    for (const key of ["plain", "bucket"]) {
      expect(await decideHits(fixture, key, 4)).toMatchObject({ statuses: [{ code: 1, limitRemaining: 6 }] });
      expect(await decideHits(fixture, key, -3)).toMatchObject({ statuses: [{ code: 1, limitRemaining: 6 }] });
    }
    const counted = fixture.counted();
    expect(counted["unsupported_field.is_negative_hits"]).toBe(2);
    expect(Object.keys(counted).filter((name) => name.endsWith("total_negative_hits"))).toEqual([]);
    const strict = new DeciderFixture({ configs, counter, options: { unsupportedFields: "error" } });
    const call = strict.decide({ domain: "refunds", descriptors: [hitsOf("plain", -1)] });
    expect(call.error.message).toBe("hits cannot be given back without scripts (LIMIT_SCRIPTS=off)");
  });
});

function hitsOf(key: string, hits: number) {
  return { entries: entries(`${key}=x`), hitsAddend: BigInt(Math.abs(hits)), isNegativeHits: hits < 0 };
}

function decideHits(fixture: DeciderFixture, key: string, hits: number): Promise<Decision> {
  return decide(fixture, "refunds", hitsOf(key, hits));
}

async function decide(
  fixture: DeciderFixture,
  domain: string,
  ...descriptors: readonly RequestDescriptor[]
): Promise<Decision> {
  const call = new WaitingCall();
  fixture.decider.decide({ domain, descriptors, hitsAddend: 0 }, call);
  await call.answered;
  return call.decision;
}
