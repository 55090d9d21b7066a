// Cells in a real redis-server: merged calls, the script that is lost, the clock of the server, and its expiry.
import { setTimeout as wait } from "node:timers/promises";
import { createLog } from "@weir/common/log/log";
import { Secret } from "@weir/common/settings/secret";
import { startRedis } from "@weir/harness/servers/redis";
import type { StoreServer } from "@weir/harness/servers/store-server";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { bucketRule, cellRule, countCell, CountedCellOnce } from "../../cells.suite.ts";
import { check, WaitingBatch } from "../../counter.suite.ts";
import { PATIENT, TestedCounters } from "../redis-counter.suite.ts";
import { createSingleDeployment } from "./single-deployment.ts";

const MINUTE = bucketRule(10, 60);
const PERMISSIONS = ["+@all", "-time"];

const counters = new TestedCounters(createSingleDeployment, PATIENT);
afterEach(() => counters.stop());

let server: StoreServer;
let redis: Redis;
beforeAll(async () => {
  server = await startRedis();
  redis = new Redis({ port: server.port, host: "127.0.0.1" });
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

/** How many commands of a kind the server has answered. */
async function answered(command: string): Promise<number> {
  const statistics = await redis.info("commandstats");
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(statistics)?.[1] ?? 0);
}

describe("count() in a cell", () => {
  it("count() merges the calls of a turn: those that fit pass, in order, by one command", async () => {
    const { counter } = await counters.start(server.address);
    const nowMs = Date.now();
    await countCell(counter, MINUTE, { key: "other", nowMs, hits: 1 });
    const before = await answered("evalsha");
    const calls = Array.from({ length: 7 }, () => new CountedCellOnce(MINUTE, { key: "merged", nowMs, hits: 3 }));
    for (const call of calls) counter.count(call);
    await Promise.all(calls.map((call) => call.answered));
    expect(calls.map(({ passes }) => passes)).toEqual([true, true, true, false, false, false, false]);
    expect(calls.map(({ room }) => Math.round(room))).toEqual([7, 4, 1, 1, 1, 1, 1]);
    expect((await answered("evalsha")) - before).toBe(1);
  });

  it.each([
    { algorithms: ["token_bucket"], leaked: [6, 306], windows: 0 },
    { algorithms: ["sliding_window"], leaked: [0, 0], windows: 2 },
    { algorithms: ["token_bucket", "fixed_window"], leaked: [6, 306], windows: 1 },
  ])("count() lets the key of $algorithms live for one to two minutes when it is whole", async (row) => {
    const { counter } = await counters.start(server.address);
    const rule = cellRule(100, 600, ...row.algorithms);
    const key = `expiry${rule.keyEnd}`;
    for (const [index, hits] of [1, 50].entries()) {
      await countCell(counter, rule, { key: "expiry", nowMs: Date.now(), hits });
      const ended = row.windows * 600 - ((Date.now() / 1000) % 600);
      const seconds = (await redis.pttl(key)) / 1000 - Math.max(row.leaked[index] ?? 0, ended);
      expect(seconds).toBeGreaterThan(110);
      expect(seconds).toBeLessThanOrEqual(121);
    }
    // Late enough for one more: the call leaves it.
    await redis.expire(key, 5000);
    await countCell(counter, rule, { key: "expiry", nowMs: Date.now(), hits: 1 });
    expect(await redis.ttl(key)).toBeGreaterThan(4900);
  });

  it.each([
    { how: "by scripts", choices: {} },
    { how: "without scripts", choices: { options: { usesScripts: false } } },
  ])("read() creates no key, and leaves the keys that exist with their expiry, $how", async ({ choices }) => {
    await redis.flushall();
    const { counter } = await counters.start(server.address, choices);
    const nowMs = Date.now();
    const rules = [[], ["sliding_window"], ["token_bucket"], ["fixed_window", "sliding_window"]].map((algorithms) =>
      algorithms.length === 0 ? undefined : cellRule(10, 600, ...algorithms),
    );
    const calls = () =>
      rules.map((rule, index) =>
        rule === undefined
          ? new WaitingBatch([check("plain", 3, 0, 600)])
          : new CountedCellOnce(rule, { key: `cell-${index}`, nowMs, hits: 3 }),
      );
    const answersOf = async (asked: ReturnType<typeof calls>): Promise<readonly number[]> =>
      await Promise.all(
        asked.map(async (call) => {
          if (call instanceof WaitingBatch) return 10 - ((await call.counts)[0] ?? 0);
          await call.answered;
          return Math.floor(call.room + 0.1);
        }),
      );
    const readAll = async (): Promise<readonly number[]> => {
      const asked = calls();
      for (const call of asked) counter.read(call);
      return await answersOf(asked);
    };
    expect(await readAll()).toEqual([10, 10, 10, 10]);
    expect(await redis.keys("*")).toEqual([]);
    const counted = calls();
    for (const call of counted) counter.count(call);
    await answersOf(counted);
    const keys = (await redis.keys("*")).toSorted();
    expect(keys.length).toBeGreaterThanOrEqual(rules.length);
    for (const key of keys) await redis.expire(key, 5000);
    const stored = await Promise.all(keys.map((key) => redis.getBuffer(key)));
    expect(await readAll()).toEqual([7, 7, 7, 7]);
    expect((await redis.keys("*")).toSorted()).toEqual(keys);
    expect(await Promise.all(keys.map((key) => redis.getBuffer(key)))).toEqual(stored);
    for (const key of keys) expect(await redis.ttl(key)).toBeGreaterThan(4900);
  });

  it("count() sends the script again when the server has lost it, and counts each call once", async () => {
    const { counter } = await counters.start(server.address);
    const count = (): Promise<CountedCellOnce> =>
      countCell(counter, MINUTE, { key: "flushed", nowMs: Date.now(), hits: 2 });
    await count();
    await redis.script("FLUSH");
    const [one, two] = await Promise.all([count(), count()]);
    expect([one.passes, two.passes]).toEqual([true, true]);
    expect(Math.floor(two.room + 0.1)).toBe(4);
  });

  it("count() uses the clock of the server, whatever those of the pods are", async () => {
    const rule = bucketRule(20, 1);
    const pods = await Promise.all(
      [0, 10_000, 90_000].map(async (aheadMs) => ({ aheadMs, ...(await counters.start(server.address)) })),
    );
    const beganMs = performance.now();
    let passed = 0;
    while (performance.now() - beganMs < 1500) {
      for (const { counter, aheadMs } of pods) {
        const call = await countCell(counter, rule, { key: "clocks", nowMs: Date.now() + aheadMs, hits: 1 });
        if (call.passes) passed += 1;
        expect(Math.abs(call.nowMs - Date.now())).toBeLessThan(1000);
      }
      await wait(2);
    }
    const elapsedMs = performance.now() - beganMs;
    const admitted = 20 + (20 * elapsedMs) / 1000;
    expect(passed).toBeLessThanOrEqual(admitted + 1);
    // A machine that stands still for a while admits less: the bucket holds 20 at most.
    expect(passed).toBeGreaterThan(30);
  });

  it("count() uses its own clock, and says so once, when it may not read that of the server", async () => {
    await redis.acl("SETUSER", "untimed", "on", ">secret", "~*", ...PERMISSIONS);
    const lines: string[] = [];
    const log = createLog({ level: "warn", format: "text", write: (line) => void lines.push(line) });
    const { counter } = await counters.start(server.address, {
      server: { auth: new Secret("untimed:secret") },
      deps: { log },
    });
    const nowMs = Date.now() + 3_600_000;
    for (const hits of [4, 4]) {
      const call = await countCell(counter, MINUTE, { key: "untimed", nowMs, hits });
      expect([call.passes, call.nowMs]).toEqual([true, nowMs]);
    }
    expect(lines.filter((line) => line.includes("Cannot read the time of the store"))).toHaveLength(1);
  });

  it("cellsProblem() says which command the user of the store lacks, and nothing about a store that is away", async () => {
    for (const [user, permission, reason] of [
      ["unscripted", "-eval", /no permissions to run the 'eval' command/],
      ["unset", "-set", /no permissions to run the 'set' command|can't run this command/],
    ] as const) {
      await redis.acl("SETUSER", user, "on", ">secret", "~*", "+@all", permission);
      const { counter } = await counters.start(server.address, { server: { auth: new Secret(`${user}:secret`) } });
      const problem = await counter.cellsProblem?.();
      expect(problem).toMatch(reason);
      expect(problem).toMatch(
        /^Redis refuses the script that counts this limit \(.*: allow its user \+eval.*, or set LIMIT_SCRIPTS=off/,
      );
    }
    const { counter } = await counters.start(server.address);
    expect(await counter.cellsProblem?.()).toBeUndefined();
    await counter.stop?.();
    expect(await counter.cellsProblem?.()).toBeUndefined();
  });

  it("count() fails for a key that holds something else", async () => {
    const { counter } = await counters.start(server.address);
    await redis.set(`odd${MINUTE.keyEnd}`, "12");
    await expect(countCell(counter, MINUTE, { key: "odd", nowMs: Date.now(), hits: 1 })).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
    });
  });
});
