// The Redis backend when a real redis-server fails: away, silent, slow, cut off, read-only, full,
// locked, or with values that are no counts. Every call is answered within its time, and counting
// works again by itself.
import { setTimeout as wait } from "node:timers/promises";
import { createLog } from "@weir/common/log/log";
import { Secret } from "@weir/common/settings/secret";
import { Redis } from "ioredis";
import { until } from "@weir/harness/processes/eventually";
import { type CuttingProxy, startCuttingProxy } from "@weir/harness/servers/cutting-proxy";
import { startRedis } from "@weir/harness/servers/redis";
import type { StoreServer } from "@weir/harness/servers/store-server";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { check, count, read, WaitingBatch } from "../../counter.suite.ts";
import {
  COMMAND_TIMEOUT_MS,
  DEADLINE_MS,
  PATIENT,
  SHORT_START,
  SLACK_MS,
  TestedCounters,
  timeFailure,
} from "../redis-counter.suite.ts";
import { reservePort } from "@weir/harness/processes/reserve-ports";
import { createSingleDeployment } from "./single-deployment.ts";

const counters = new TestedCounters(createSingleDeployment);
afterEach(() => counters.stop());

describe("count() when the server fails", () => {
  let server: StoreServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());

  it("count() answers within the time limit when the server hangs, and works again when it resumes", async () => {
    const { counter, statistics } = await counters.start(server.address);
    await server.pause();
    try {
      const { error, tookMs } = await timeFailure(counter);
      expect(error).toMatchObject({
        code: "STORE_TIMEOUT",
        message: `Cannot count on ${server.address}: no answer within ${COMMAND_TIMEOUT_MS} ms`,
      });
      expect(tookMs).toBeGreaterThan(COMMAND_TIMEOUT_MS - 20);
      expect(tookMs).toBeLessThan(COMMAND_TIMEOUT_MS + SLACK_MS);
      expect(statistics.counter("ratelimit.redis_pool.cx_local_close").value).toBe(1);
      const next = await timeFailure(counter); // Now a connection is under way, which hangs too.
      expect(next.error).toMatchObject({ code: "STORE_UNAVAILABLE" });
      expect(next.tookMs).toBeLessThan(COMMAND_TIMEOUT_MS + SLACK_MS);
    } finally {
      server.resume();
    }
    await until(() => count(counter, check("resumed")).then(Boolean, () => false), DEADLINE_MS, "counting works again");
  });

  it("count() obeys a caller's deadline that is shorter than the time limit", async () => {
    const { counter } = await counters.start(server.address, { options: PATIENT });
    const patient = new WaitingBatch([check("patient")]);
    await server.pause();
    try {
      counter.count(patient);
      const deadlineMs = performance.now() + 50;
      const { error } = await timeFailure(counter, new WaitingBatch([check("hasty")], deadlineMs));
      expect(error).toMatchObject({ code: "DEADLINE_EXCEEDED" });
      expect(performance.now()).toBeGreaterThanOrEqual(deadlineMs - 1); // Timers may fire a little early.
      expect(patient.isAnswered).toBe(false);
    } finally {
      server.resume();
    }
    expect(await patient.counts).toEqual([1]);
  });

  it("count() obeys a deadline that has passed already", async () => {
    const { counter } = await counters.start(server.address, { options: PATIENT });
    await server.pause();
    try {
      const { error, tookMs } = await timeFailure(counter, new WaitingBatch([check("past")], performance.now() - 1000));
      expect(error).toMatchObject({ code: "DEADLINE_EXCEEDED" });
      expect(tookMs).toBeLessThan(SLACK_MS);
    } finally {
      server.resume();
    }
  });

  it("case 121: count() fails the calls on their way when the server is killed, and works again when it is back", async () => {
    const { counter, active } = await counters.start(server.address, { options: { commandTimeoutMs: SLACK_MS / 2 } });
    await count(counter, check("before"));
    await server.pause(); // So that the call is surely on its way when the server dies.
    const onItsWay = timeFailure(counter);
    await new Promise((resolve) => setImmediate(resolve));
    await server.kill();
    expect((await onItsWay).error).toMatchObject({ code: "STORE_UNAVAILABLE", transient: true });
    expect(active.at(-1)).toBe(0);
    await until(
      async () => (await timeFailure(counter)).tookMs < 20,
      DEADLINE_MS,
      "calls fail immediately while the server is away",
    );
    await server.restart();
    await until(() => count(counter, check("after")).then(Boolean, () => false), DEADLINE_MS, "counting works again");
    expect(active.at(-1)).toBe(1);
  });

  it("count() warns once of a reason, not once per connection and attempt, while all connections of a pool are refused", async () => {
    const lines: string[] = [];
    const log = createLog({ level: "warn", format: "json", write: (line) => lines.push(line) });
    const startMs = performance.now();
    const { counter, active } = await counters.start(server.address, {
      server: { poolSize: 5 },
      deps: { log, monotonicMs: () => startMs },
    });
    await until(() => active.at(-1) === 5, DEADLINE_MS, "all connections work");
    await server.kill();
    const warnings = (text: string): number => lines.filter((line) => line.includes(text)).length;
    await until(
      () => warnings("Cannot reach the counter store, trying again") > 0,
      DEADLINE_MS,
      "a connection is refused",
    );
    await wait(500); // Each connection tries two times or more meanwhile; the clock of the backend is stopped.
    expect(warnings("Lost the connection to the counter store")).toBe(1);
    expect(warnings("Cannot reach the counter store, trying again")).toBe(1);
    await server.restart();
    await counter.stop?.();
  });

  it("count() bridges an absence that is shorter than the time limit", async () => {
    const { counter, active } = await counters.start(server.address, { options: PATIENT });
    await server.kill();
    await until(() => active.at(-1) === 0, DEADLINE_MS, "the loss is seen");
    const waiting = count(counter, check("bridge"));
    await server.restart();
    expect(await waiting).toEqual([1]);
  });

  it("stop() fails the calls on their way", async () => {
    const { counter } = await counters.start(server.address, { options: PATIENT });
    await server.pause();
    try {
      const onItsWay = timeFailure(counter);
      await counter.stop?.();
      expect((await onItsWay).error).toMatchObject({
        code: "STORE_UNAVAILABLE",
        message: `Cannot count on ${server.address}: the backend is stopping`,
      });
      expect((await timeFailure(counter)).error).toMatchObject({ code: "STORE_UNAVAILABLE" });
    } finally {
      server.resume();
    }
  });

  it("count() makes a new connection when the server became a read-only replica", async () => {
    const { counter, statistics } = await counters.start(server.address, { options: PATIENT });
    const redis = new Redis(server.port, "127.0.0.1");
    await redis.replicaof("127.0.0.1", `${await reservePort()}`);
    const { error } = await timeFailure(counter);
    expect(error).toMatchObject({
      message: `Cannot count on ${server.address}: READONLY You can't write against a read only replica.`,
    });
    await redis.replicaof("NO", "ONE");
    await until(() => count(counter, check("primary")).then(Boolean, () => false), DEADLINE_MS, "counting works again");
    expect(statistics.counter("ratelimit.redis_pool.cx_total").value).toBeGreaterThan(1);
    redis.disconnect();
  });

  it("count() waits longer and longer between connections to a server that stays read-only", async () => {
    const { counter, statistics } = await counters.start(server.address);
    const redis = new Redis(server.port, "127.0.0.1");
    await redis.replicaof("127.0.0.1", `${await reservePort()}`);
    const connections = statistics.counter("ratelimit.redis_pool.cx_total");
    // Four connections are three waits of at most 125, 250 and 500 ms, each of at least half of
    // that.
    const beganMs = performance.now();
    await until(
      async () => {
        await timeFailure(counter);
        return connections.value >= 4;
      },
      DEADLINE_MS,
      "the fourth connection",
    );
    expect(performance.now() - beganMs).toBeGreaterThan(400);
    await redis.replicaof("NO", "ONE");
    redis.disconnect();
  });
});

describe("count() when the way to the server fails", () => {
  let server: StoreServer;
  let proxy: CuttingProxy;
  beforeAll(async () => {
    server = await startRedis();
    proxy = await startCuttingProxy(server.port);
  });
  afterAll(async () => {
    await proxy.close();
    await server.stop();
  });

  it("count() waits for replies that are slow, but within the time limit", async () => {
    const { counter, statistics } = await counters.start(proxy.address, { options: PATIENT });
    proxy.delay(150);
    const beganMs = performance.now();
    expect(await count(counter, check("slow", 2))).toEqual([2]);
    expect(performance.now() - beganMs).toBeGreaterThan(140);
    proxy.restore();
    expect(statistics.counter("ratelimit.redis_pool.cx_total").value).toBe(1);
  });

  it("count() answers within the time limit when replies are slower, and works again when they are not", async () => {
    const { counter } = await counters.start(proxy.address);
    proxy.delay(COMMAND_TIMEOUT_MS + SLACK_MS);
    const { error, tookMs } = await timeFailure(counter);
    expect(error).toMatchObject({
      code: "STORE_TIMEOUT",
      message: `Cannot count on ${proxy.address}: no answer within ${COMMAND_TIMEOUT_MS} ms`,
    });
    expect(tookMs).toBeLessThan(COMMAND_TIMEOUT_MS + SLACK_MS);
    proxy.restore();
    await until(
      () => count(counter, check("fast again")).then(Boolean, () => false),
      DEADLINE_MS,
      "counting works again",
    );
  });

  it.each([1, 2, 3])(
    "count() fails and sends nothing twice when the connection ends after %i bytes of a reply",
    async (bytes) => {
      const { counter } = await counters.start(proxy.address, { options: PATIENT });
      proxy.cutAnswer(bytes);
      const { error, tookMs } = await timeFailure(counter, new WaitingBatch([check(`cut-${bytes}`, 5)]));
      expect(error).toMatchObject({ code: "STORE_UNAVAILABLE", transient: true });
      expect(tookMs).toBeLessThan(COMMAND_TIMEOUT_MS + SLACK_MS);
      await until(() => count(counter, check("whole")).then(Boolean, () => false), DEADLINE_MS, "counting works again");
      expect(await count(counter, check(`cut-${bytes}`, 1))).toEqual([6]);
      const redis = new Redis(server.port, "127.0.0.1");
      await until(async () => (await redis.ttl(`cut-${bytes}_4000000200`)) > 0, DEADLINE_MS, "the key expires");
      redis.disconnect();
    },
  );
});

describe("count() when the expiry of a key may be lost", () => {
  let server: StoreServer;
  let proxy: CuttingProxy;
  let redis: Redis;
  beforeAll(async () => {
    server = await startRedis();
    proxy = await startCuttingProxy(server.port);
    redis = new Redis(server.port, "127.0.0.1");
  });
  afterAll(async () => {
    redis.disconnect();
    await proxy.close();
    await server.stop();
  });

  it("count() sends the expiry after all when the connection ends behind the increment", async () => {
    const { counter } = await counters.start(proxy.address, { options: PATIENT });
    proxy.cutRequestAt = "*3\r\n$6\r\nexpire";
    expect(await count(counter, check("behind"))).toEqual([1]); // The reply to the increment has arrived.
    expect(await redis.get("behind_4000000200")).toBe("1");
    // The key is never counted again, and must not live indefinitely.
    await until(async () => (await redis.ttl("behind_4000000200")) > 0, DEADLINE_MS, "the key expires");
  });

  it("count() sends the expiry again when the server may be another one, which received the increment only", async () => {
    const { counter, active } = await counters.start(proxy.address, { options: PATIENT });
    expect(await count(counter, check("received"))).toEqual([1]);
    await redis.persist("received_4000000200");
    const { length } = active;
    await redis.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    await until(() => active.length >= length + 2, DEADLINE_MS, "there is another connection");
    expect(await count(counter, check("received"))).toEqual([2]);
    expect(await redis.ttl("received_4000000200")).toBeGreaterThan(0);
  });
});

describe("count() when the server refuses", () => {
  let server: StoreServer;
  let redis: Redis;
  beforeAll(async () => {
    server = await startRedis();
    redis = new Redis(server.port, "127.0.0.1");
  });
  afterAll(async () => {
    redis.disconnect();
    await server.stop();
  });

  it.each([
    {
      what: "a list",
      key: "list",
      make: () => redis.lpush("list_4000000200", "x"),
      text: "WRONGTYPE Operation against a key holding the wrong kind of value",
    },
    {
      what: "a text",
      key: "text",
      make: () => redis.set("text_4000000200", "abc"),
      text: "ERR value is not an integer or out of range",
    },
    {
      what: "the largest number",
      key: "full",
      make: () => redis.set("full_4000000200", "9223372036854775807"),
      text: "ERR increment or decrement would overflow",
    },
  ])(
    "count() fails immediately with '$text' when the key has $what, and only for that key",
    async ({ key, make, text }) => {
      const { counter, statistics } = await counters.start(server.address, { options: PATIENT });
      await make();
      const [bad, good] = await Promise.allSettled([count(counter, check(key)), count(counter, check(`other-${key}`))]);
      expect(bad).toMatchObject({
        status: "rejected",
        reason: { code: "STORE_UNAVAILABLE", message: `Cannot count on ${server.address}: ${text}` },
      });
      expect(good).toEqual({ status: "fulfilled", value: [1] });
      await redis.del(`${key}_4000000200`);
      expect(await count(counter, check(key))).toEqual([1]);
      expect(statistics.counter("ratelimit.redis_pool.cx_total").value).toBe(1);
    },
  );

  it.each([
    { what: "a list", key: "read-list", make: () => redis.lpush("read-list_4000000200", "x"), text: "WRONGTYPE" },
    {
      what: "a text",
      key: "read-text",
      make: () => redis.set("read-text_4000000200", "abc"),
      text: "ERR value is not an integer or out of range",
    },
  ])("read() fails with '$text' when the key has $what", async ({ key, make, text }) => {
    const { counter } = await counters.start(server.address, { options: PATIENT });
    await make();
    await expect(read(counter, check(key))).rejects.toThrow(text);
    expect(await read(counter, check("nothing"))).toEqual([0]);
  });

  it("count() fails while the server is out of memory, and works again by itself on the same connection", async () => {
    const { counter, statistics } = await counters.start(server.address, { options: PATIENT });
    await redis.config("SET", "maxmemory-policy", "noeviction");
    await redis.config("SET", "maxmemory", "1");
    const { error, tookMs } = await timeFailure(counter);
    expect(error).toMatchObject({
      message: `Cannot count on ${server.address}: OOM command not allowed when used memory > 'maxmemory'.`,
    });
    expect(tookMs).toBeLessThan(COMMAND_TIMEOUT_MS + SLACK_MS);
    await redis.config("SET", "maxmemory", "0");
    expect(await count(counter, check("room"))).toEqual([1]);
    expect(statistics.counter("ratelimit.redis_pool.cx_total").value).toBe(1);
  });

  it("case 120: count() fails while the password is another one, and works again when it is right", async () => {
    await redis.config("SET", "requirepass", "first");
    const { counter } = await counters.start(server.address, { server: { auth: new Secret("first") } });
    await redis.config("SET", "requirepass", "second");
    await redis.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    await until(
      async () => {
        const { error, tookMs } = await timeFailure(counter);
        if (tookMs > COMMAND_TIMEOUT_MS + SLACK_MS) throw new Error(`A call took ${tookMs} ms`);
        return (
          error instanceof Error &&
          error.message.endsWith("WRONGPASS invalid username-password pair or user is disabled.")
        );
      },
      DEADLINE_MS,
      "calls fail with the server's words",
    );
    await redis.config("SET", "requirepass", "first");
    await until(
      () => count(counter, check("unlocked")).then(Boolean, () => false),
      DEADLINE_MS,
      "counting works again",
    );
    await redis.config("SET", "requirepass", "");
  });

  it("count() makes new connections while the user may not increment, and works again when it may", async () => {
    await redis.call("ACL", "SETUSER", "weir", "on", ">pass", "~*", "+@all");
    const { counter } = await counters.start(server.address, {
      server: { auth: new Secret("weir:pass") },
      options: PATIENT,
    });
    await redis.call("ACL", "SETUSER", "weir", "-incrby");
    const { error } = await timeFailure(counter);
    expect(error).toMatchObject({ message: expect.stringContaining("NOPERM") });
    await redis.call("ACL", "SETUSER", "weir", "+incrby");
    await until(
      () => count(counter, check("permitted")).then(Boolean, () => false),
      DEADLINE_MS,
      "counting works again",
    );
  });

  it("start() waits until the server has loaded its data", async () => {
    const loading = await startRedis(undefined, {
      flags: ["--loading-process-events-interval-bytes", "1024", "--key-load-delay", "5000"], // Microseconds: 50 s for all.
    });
    const client = new Redis(loading.port, "127.0.0.1");
    for (let index = 0; index < 10_000; index += 100) {
      await client.mset(
        Object.fromEntries(Array.from({ length: 100 }, (_, offset) => [`key-${index + offset}`, "x".repeat(50)])),
      );
    }
    await client.save();
    client.disconnect();
    await loading.kill();
    await loading.restart();
    try {
      const hasty = counters.create(loading.address, { options: SHORT_START });
      await expect(hasty.counter.start?.()).rejects.toThrow("LOADING Redis is loading the dataset in memory");
      const fast = new Redis(loading.port, "127.0.0.1", { enableReadyCheck: false });
      await fast.config("SET", "key-load-delay", "0");
      fast.disconnect();
      const { counter } = await counters.start(loading.address, {
        options: { startup: { initialMs: 20, maxMs: 100, maxElapsedMs: 0 } },
      });
      expect(await count(counter, check("loaded"))).toEqual([1]);
    } finally {
      await loading.stop();
    }
  });
});
