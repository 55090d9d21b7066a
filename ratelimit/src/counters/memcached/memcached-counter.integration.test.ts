// The memcached backend against real memcached servers: the common suite, what is stored, ways to
// connect, and every fault a node can have.
import { Resolver } from "node:dns/promises";
import { connect as connectTcp, createServer as createTcpServer, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { createAuthority } from "@weir/certificates/authority";
import { silentLog } from "@weir/common/log/log";
import fc from "fast-check";
import { until } from "@weir/harness/processes/eventually";
import { type MemcachedServer, startMemcached } from "@weir/harness/servers/memcached";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { StatisticsStore } from "../../statistics/statistics-store.ts";
import { check, count, describeCounter, read, WaitingBatch } from "../counter.suite.ts";
import { MemcachedCounter } from "./memcached-counter.ts";
import { DnsServer, type SrvRecord } from "./dns-server.suite.ts";
import { reservePort } from "@weir/harness/processes/reserve-ports";
import { nodeIndex } from "./node-list.ts";
import type { MemcachedCounterOptions } from "./options.ts";
import type { ResolveSrv } from "./srv-record.ts";

/**
 * The time limit of calls that meet no fault, in milliseconds: none of them may fail because the
 * machine is busy.
 */
const PATIENT_MS = 30_000;

/** The time limit of calls that nothing answers, and what a busy machine may add to it. */
const TIMEOUT_MS = 2000;
const SLACK_MS = 10_000;
const HASTY = { timeoutMs: TIMEOUT_MS };

/**
 * The time for a start that must fail, in milliseconds: enough for one attempt to fail on a busy
 * machine.
 */
const START_MS = 4000;

/** Longest wait for a condition, in milliseconds. */
const DEADLINE_MS = 40_000;

interface CounterChoices {
  readonly options?: Partial<MemcachedCounterOptions>;
  readonly random?: () => number;
  readonly resolveSrv?: ResolveSrv;
}

const openCounters: MemcachedCounter[] = [];

/** A counter that is stopped after the test, with what it reported. */
function createCounter(addresses: readonly string[], choices: CounterChoices = {}) {
  const { options, random = () => 0, resolveSrv = () => Promise.reject(new Error("no SRV in this test")) } = choices;
  const statistics = new StatisticsStore({ maxDynamicKeys: 10 });
  const reachable: number[] = [];
  const counter = new MemcachedCounter(
    {
      log: silentLog(),
      statistics,
      allowedFailures: statistics.counter("allowed"),
      clock: Date.now,
      monotonicMs: () => performance.now(),
      random,
      resolveSrv,
      reachable: (nodes) => reachable.push(nodes),
    },
    {
      nodes: { kind: "list", addresses },
      tls: undefined,
      maxConnections: 2,
      timeoutMs: PATIENT_MS,
      expiryJitterMaxSeconds: 0,
      unread: "zero",
      startMaxElapsedMs: PATIENT_MS,
      ...options,
    },
  );
  openCounters.push(counter);
  return { counter, statistics, reachable };
}

async function startCounter(addresses: readonly string[], choices: CounterChoices = {}) {
  const created = createCounter(addresses, choices);
  await created.counter.start();
  return created;
}

/** How long a call took, and what it was answered. */
async function time(counter: MemcachedCounter, batch: WaitingBatch) {
  const beganMs = performance.now();
  counter.count(batch);
  const answer: unknown = await batch.counts.catch((reason: unknown) => reason);
  return { answer, tookMs: performance.now() - beganMs };
}

/** A key of which node `index` of `count` has the counter. */
function keyOn(index: number, of: number): string {
  const key = Array.from({ length: 1000 }, (_, number) => `spread-${number}`).find(
    (name) => nodeIndex(check(name).key, of) === index,
  );
  if (key === undefined) throw new Error("No key found");
  return key;
}

let servers: MemcachedServer[];
let addresses: string[];
beforeAll(async () => {
  servers = await Promise.all([startMemcached(), startMemcached(), startMemcached()]);
  addresses = servers.map(({ address }) => address);
});
afterEach(async () => {
  for (const counter of openCounters.splice(0)) await counter.stop();
});
afterAll(() => Promise.all(servers.map((server) => server.stop())));

function server(index: number): MemcachedServer {
  const found = servers[index];
  if (found === undefined) throw new Error(`There is no server ${index}`);
  return found;
}

describeCounter(
  "memcached with three nodes",
  async () => {
    const nodes = await Promise.all([startMemcached(), startMemcached(), startMemcached()]);
    const { counter } = createCounter(
      nodes.map(({ address }) => address),
      {},
    );
    openCounters.pop(); // The suite stops it itself.
    return {
      counter,
      settle: () => counter.drain(),
      close: async () => {
        await Promise.all(nodes.map((node) => node.stop()));
      },
    };
  },
  { countsAtOnce: false, takesAnyKey: false },
);

describeCounter(
  "memcached over a unix socket",
  async () => {
    const node = await startMemcached(undefined, { listensOn: "socket" });
    const { counter } = createCounter([node.socketPath], { options: { maxConnections: 1 } });
    openCounters.pop();
    return { counter, settle: () => counter.drain(), close: () => node.stop() };
  },
  { countsAtOnce: false, takesAnyKey: false },
);

describe("count() on nodes", () => {
  it("count() stores plain numbers on the node that CRC32 of the key chooses", async () => {
    const { counter } = await startCounter(addresses);
    for (const index of [0, 1, 2]) {
      const one = check(keyOn(index, 3), 7);
      expect(await count(counter, one)).toEqual([7]);
      await counter.drain();
      const stored = await Promise.all(servers.map((each) => each.get(one.key)));
      expect(stored).toEqual([0, 1, 2].map((each) => (each === index ? "7" : undefined)));
    }
  });

  it("count() gives a node that is listed twice two shares", async () => {
    const { counter, reachable } = await startCounter([addresses[0] ?? "", addresses[1] ?? "", addresses[0] ?? ""]);
    const one = check(keyOn(2, 3));
    const before = Number((await server(0).get(one.key)) ?? 0);
    await count(counter, one);
    await counter.drain();
    expect(await server(0).get(one.key)).toBe(String(before + 1));
    await until(() => reachable.at(-1) === 2, DEADLINE_MS, "both nodes are reachable");
  });

  it.each([
    { name: "case 135", jitterMax: 3600, draw: 100 / 3600, windowSeconds: 1, ttl: 101 },
    { name: "case 137", jitterMax: 0, draw: 0.99, windowSeconds: 60, ttl: 60 },
    { name: "a month with jitter", jitterMax: 300, draw: 0.999, windowSeconds: 2_592_000, ttl: 2_592_299 },
    { name: "a year", jitterMax: 300, draw: 0.5, windowSeconds: 31_536_000, ttl: 31_536_150 },
  ])("$name: count() lets a new key live $ttl s", async ({ jitterMax, draw, windowSeconds, ttl }) => {
    const { counter } = await startCounter(addresses, {
      options: { expiryJitterMaxSeconds: jitterMax },
      random: () => draw,
    });
    const one = check(`ttl-${windowSeconds}`, 1, 4_000_000_200, windowSeconds);
    await count(counter, one);
    await counter.drain();
    const left = Number(await server(nodeIndex(one.key, 3)).secondsToLive(one.key));
    expect(left).toBeGreaterThan(ttl - 5);
    expect(left).toBeLessThanOrEqual(ttl + 1); // memcached's clock ticks once a second.
  });

  it("case 136: count() loses nothing when two pods add the same new key", async () => {
    const pods = await Promise.all(Array.from({ length: 8 }, () => startCounter(addresses)));
    for (let round = 0; round < 20; round++)
      await Promise.all(pods.map(({ counter }) => count(counter, check(`race-${round}`, 3))));
    await Promise.all(pods.map(({ counter }) => counter.drain()));
    const stored = Array.from({ length: 20 }, (_, round) => check(`race-${round}`).key);
    expect(await Promise.all(stored.map((key) => server(nodeIndex(key, 3)).get(key)))).toEqual(stored.map(() => "24"));
  });

  it("case 142: count() counts what it asks and what is answered", async () => {
    const { counter, statistics } = await startCounter(addresses);
    await count(counter, check("stats"), check("stats"), check("stats-other"));
    await counter.drain();
    await count(counter, check("stats"), check("stats"), check("stats-other"));
    await counter.drain();
    const value = (name: string): number => statistics.counter(`ratelimit.memcache.${name}`).value;
    expect([value("keys_requested"), value("keys_found")]).toEqual([6, 2]);
    expect([value("multiget.__code=success"), value("multiget.__code=error")]).toEqual([2, 0]);
    expect([
      value("increment.__code=success"),
      value("increment.__code=miss"),
      value("increment.__code=error"),
    ]).toEqual([2, 2, 0]);
    expect([value("add.__code=success"), value("add.__code=not_stored"), value("add.__code=error")]).toEqual([2, 0, 0]);
  });

  it.each([{ value: "abc" }, { value: "x".repeat(100_000) }, { value: "" }])(
    "case 143: count() counts from 0 when the stored value is no number",
    async ({ value }) => {
      const { counter, statistics } = await startCounter(addresses);
      const one = check(`text-${value.length}`, 2);
      await server(nodeIndex(one.key, 3)).set(one.key, value);
      expect(await count(counter, one, check("other"))).toEqual([2, expect.any(Number)]);
      await counter.drain();
      expect(statistics.counter("ratelimit.memcache.increment.__code=error").value).toBe(1);
      expect(await server(nodeIndex(one.key, 3)).get(one.key)).toBe(value === "" ? undefined : value);
    },
  );

  it("count() continues from a value that was changed under it", async () => {
    const { counter } = await startCounter(addresses);
    const one = check("changed");
    const node = server(nodeIndex(one.key, 3));
    await count(counter, one);
    await counter.drain();
    await node.set(one.key, "41");
    expect(await count(counter, one)).toEqual([42]);
    await counter.drain();
    await node.ask("flush_all");
    expect(await count(counter, one)).toEqual([1]);
    await counter.drain();
    expect(await node.get(one.key)).toBe("1");
  });

  it.each([
    { name: "a space", key: "with space", problem: "must hold no space and no control character" },
    { name: "a command in it", key: "x\r\nflush_all\r\nget y", problem: "must hold no space and no control character" },
    { name: "more than 250 bytes", key: "x".repeat(250), problem: "is longer than 250 bytes, it has 261" },
  ])("case 143: count() refuses a call and increments nothing when a key has $name", async ({ key, problem }) => {
    const { counter } = await startCounter(addresses);
    const fine = check("fine-next-to-illegal");
    await expect(count(counter, fine, check(key))).rejects.toMatchObject({
      code: "STORE_KEY_INVALID",
      message: expect.stringContaining(`the key ${problem}; it is "`) as string,
    });
    await counter.drain();
    expect(await server(nodeIndex(fine.key, 3)).get(fine.key)).toBeUndefined();
  });

  it("count() counts a key of exactly 250 bytes", async () => {
    const { counter } = await startCounter(addresses);
    const longest = check("y".repeat(239));
    expect(Buffer.byteLength(longest.key)).toBe(250);
    expect(await count(counter, longest)).toEqual([1]);
    await counter.drain();
    expect(await server(nodeIndex(longest.key, 3)).get(longest.key)).toBe("1");
  });

  it("count() sends a key once per turn, and one increment for all calls of a turn", async () => {
    const { counter, statistics } = await startCounter([addresses[0] ?? ""]);
    await server(0).set(check("merge").key, "10");
    const [gets, increments] = [await server(0).stat("get_hits"), await server(0).stat("incr_hits")];
    const calls = [1, 2, 3].map((addend) => count(counter, check("merge", addend)));
    expect(await Promise.all(calls)).toEqual([[11], [12], [13]]);
    await counter.drain();
    expect((await server(0).stat("get_hits")) - gets).toBe(1);
    expect((await server(0).stat("incr_hits")) - increments).toBe(1);
    expect(await server(0).get(check("merge").key)).toBe("16");
    expect(statistics.counter("ratelimit.memcache.multiget.__code=success").value).toBe(3);
  });

  it("count() opens no more connections than allowed, however much there is to do", async () => {
    const before = await server(0).stat("total_connections");
    const { counter } = await startCounter([addresses[0] ?? ""], { options: { maxConnections: 3 } });
    for (let round = 0; round < 10; round++) {
      const turn = (batch: number) =>
        count(counter, ...Array.from({ length: 1000 }, (_, index) => check(`busy-${round}-${batch}-${index}`)));
      await Promise.all([turn(0), new Promise((resolve) => setImmediate(resolve)).then(() => turn(1))]);
    }
    const opened = (await server(0).stat("total_connections")) - before - 1; // One is the question itself.
    expect(opened).toBeGreaterThan(1);
    expect(opened).toBeLessThanOrEqual(3);
  });

  it("stop() awaits the increments on their way", async () => {
    const { counter } = await startCounter(addresses);
    const checks = Array.from({ length: 300 }, (_, index) => check(`stop-${index}`));
    await count(counter, ...checks);
    await counter.stop();
    const stored = await Promise.all(checks.map(({ key }) => server(nodeIndex(key, 3)).get(key)));
    expect(stored).toEqual(checks.map(() => "1"));
    await expect(count(counter, check("late"))).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  });
});

describe("count() when a node fails", () => {
  let fragile: MemcachedServer;
  let list: string[];
  beforeAll(async () => {
    fragile = await startMemcached();
    list = [fragile.address, addresses[1] ?? "", addresses[2] ?? ""];
  });
  afterAll(() => fragile.stop());

  it("case 131: count() counts from 0 what it cannot read, keeps the rest, and tries to increment", async () => {
    const { counter, statistics, reachable } = await startCounter(list);
    const [dead, alive] = [check(keyOn(0, 3)), check(keyOn(1, 3))];
    await server(1).set(alive.key, "5");
    await until(() => reachable.at(-1) === 3, DEADLINE_MS, "all nodes are reachable");
    await fragile.kill();
    await until(() => reachable.at(-1) === 2, DEADLINE_MS, "the loss is seen");
    expect(await count(counter, dead, alive)).toEqual([1, 6]);
    await counter.drain();
    expect(await server(1).get(alive.key)).toBe("6");
    const value = (name: string): number => statistics.counter(name).value;
    expect([
      value("ratelimit.memcache.multiget.__code=error"),
      value("ratelimit.memcache.keys_found"),
      value("allowed"),
    ]).toEqual([1, 0, 1]);
    expect(value("ratelimit.memcache.increment.__code=error")).toBe(1);
    await fragile.restart();
    await until(() => reachable.at(-1) === 3, DEADLINE_MS, "the node is back");
    expect(await count(counter, dead)).toEqual([1]);
    await counter.drain();
    expect(await count(counter, dead)).toEqual([2]);
  });

  it("count() answers immediately while a node is away", async () => {
    const { counter, reachable } = await startCounter(list);
    await until(() => reachable.at(-1) === 3, DEADLINE_MS, "all nodes are reachable");
    await fragile.kill();
    const dead = check(keyOn(0, 3));
    await until(
      async () => (await time(counter, new WaitingBatch([dead]))).tookMs < 20,
      DEADLINE_MS,
      "calls are answered immediately",
    );
    await fragile.restart();
  });

  it("read() fails when a node is away, also where calls count from 0 then", async () => {
    const { counter, reachable, statistics } = await startCounter(list);
    await until(() => reachable.at(-1) === 3, DEADLINE_MS, "all nodes are reachable");
    await fragile.kill();
    await until(() => reachable.at(-1) === 2, DEADLINE_MS, "the loss is seen");
    const keys = [check(keyOn(0, 3)), check(keyOn(1, 3))];
    await expect(read(counter, ...keys)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    expect(statistics.counter("allowed").value).toBe(0);
    await fragile.restart();
  });

  it("count() fails the whole call when that is asked for", async () => {
    const { counter, statistics } = await startCounter(list, { options: { unread: "failure" } });
    await fragile.kill();
    const alive = check(keyOn(2, 3));
    const before = await server(2).get(alive.key);
    const { answer } = await time(counter, new WaitingBatch([check(keyOn(0, 3)), alive]));
    expect(answer).toMatchObject({ code: "STORE_UNAVAILABLE", transient: true });
    await counter.drain();
    expect(await server(2).get(alive.key)).toBe(before);
    expect(statistics.counter("allowed").value).toBe(0);
    await fragile.restart();
  });

  it("count() answers within the time limit when a node hangs, and works again when it resumes", async () => {
    const { counter, reachable } = await startCounter(list, { options: HASTY });
    await until(() => reachable.at(-1) === 3, DEADLINE_MS, "all nodes are reachable");
    const [hanging, alive] = [check(keyOn(0, 3)), check(keyOn(1, 3), 0)];
    const before = Number(await server(1).get(alive.key));
    await fragile.pause();
    try {
      const { answer, tookMs } = await time(counter, new WaitingBatch([hanging, alive]));
      expect(answer).toEqual([1, before]);
      expect(tookMs).toBeGreaterThan(TIMEOUT_MS - 20);
      expect(tookMs).toBeLessThan(TIMEOUT_MS + SLACK_MS);
      await until(() => reachable.at(-1) === 2, DEADLINE_MS, "the silence is seen");
      await until(
        async () => (await time(counter, new WaitingBatch([hanging]))).tookMs < 20,
        DEADLINE_MS,
        "calls no longer wait",
      );
    } finally {
      fragile.resume();
    }
    await until(() => reachable.at(-1) === 3, DEADLINE_MS, "the node is back");
  });

  it("count() answers by the caller's deadline", async () => {
    const { counter, reachable } = await startCounter(list, { options: { unread: "failure" } });
    await until(() => reachable.at(-1) === 3, DEADLINE_MS, "all nodes are reachable");
    await fragile.pause();
    try {
      const deadlineMs = performance.now() + 50;
      const { answer, tookMs } = await time(counter, new WaitingBatch([check(keyOn(0, 3))], deadlineMs));
      expect(answer).toMatchObject({ code: "DEADLINE_EXCEEDED" });
      expect(performance.now()).toBeGreaterThanOrEqual(deadlineMs - 1); // Timers may fire a little early.
      expect(tookMs).toBeLessThan(SLACK_MS);
    } finally {
      fragile.resume();
    }
  });

  it("stop() ends within bounds when a node hangs", async () => {
    const { counter } = await startCounter([fragile.address], { options: HASTY });
    await fragile.pause();
    try {
      const waiting = time(counter, new WaitingBatch([check("hanging")]));
      const beganMs = performance.now();
      await counter.stop();
      expect(performance.now() - beganMs).toBeLessThan(5 * TIMEOUT_MS + SLACK_MS);
      expect((await waiting).answer).toMatchObject({ code: "STORE_UNAVAILABLE" });
    } finally {
      fragile.resume();
    }
  });
});

/** A node that presents itself well and then answers each chunk with what `reply` makes. */
async function startFake(
  reply: (chunk: string) => Uint8Array | string,
): Promise<{ readonly address: string; readonly close: () => void }> {
  const sockets = new Set<Socket>();
  const fake = createTcpServer((socket) => {
    sockets.add(socket.on("error", () => undefined).on("close", () => sockets.delete(socket)));
    socket.on("data", (chunk) => {
      const text = String(chunk);
      socket.write(text === "version\r\n" ? "VERSION 1\r\n" : reply(text));
    });
  });
  await new Promise<void>((resolve) => fake.listen(0, "127.0.0.1", resolve));
  return {
    address: `127.0.0.1:${(fake.address() as { port: number }).port}`,
    close: () => {
      for (const socket of sockets) socket.destroy();
      fake.close();
    },
  };
}

describe("count() on a node that answers nonsense", () => {
  it("count() answers every call in time when the answers are random", async () => {
    const random = fc.sample(
      fc.oneof(
        fc.uint8Array({ minLength: 1, maxLength: 200 }),
        fc
          .array(
            fc.constantFrom(
              "END\r\n",
              "VALUE nonsense_4000000200 0 1\r\n7\r\n",
              "VALUE nonsense_4000000200 0 9\r\n7\r\n",
              "12\r\n",
              "STORED\r\n",
              "NOT_FOUND\r\n",
              "NOT_STORED\r\n",
              "ERROR\r\n",
            ),
            { minLength: 1, maxLength: 4 },
          )
          .map((lines) => lines.join("")),
      ),
      { seed: 11_211, numRuns: 150 },
    );
    let at = 0;
    const fake = await startFake(() => random[at++ % random.length] ?? "");
    const { counter } = await startCounter([fake.address], { options: { timeoutMs: 100 } });
    const began = performance.now();
    for (let round = 0; round < 60; round++) {
      const [first] = (await time(counter, new WaitingBatch([check("nonsense")]))).answer as readonly number[];
      expect([1, 8, 13]).toContain(first);
    }
    expect(performance.now() - began).toBeLessThan(60 * (100 + SLACK_MS));
    await counter.stop();
    fake.close();
  });

  it("count() understands answers that come byte by byte", async () => {
    const fake = createTcpServer((socket) => {
      const upstream = connectTcp(Number(addresses[0]?.split(":")[1]), "127.0.0.1");
      for (const each of [socket.setNoDelay(true), upstream]) each.on("error", () => undefined);
      socket.pipe(upstream);
      upstream.on("data", (chunk) => {
        for (const byte of Buffer.from(chunk)) socket.write(Uint8Array.of(byte));
      });
      socket.on("close", () => upstream.destroy());
    });
    await new Promise<void>((resolve) => fake.listen(0, "127.0.0.1", resolve));
    const { counter } = await startCounter([`127.0.0.1:${(fake.address() as { port: number }).port}`]);
    for (const expected of [1, 2, 3]) {
      expect(await count(counter, check("bytes"), check("bytes-other"))).toEqual([expected, expected]);
      await counter.drain();
    }
    await counter.stop();
    fake.close();
  });

  it.each([
    { where: "its first line", answer: "VALUE cut_40", whole: undefined },
    { where: "its value", answer: "VALUE KEY 0 2\r\n1", whole: undefined },
    { where: "what follows the value", answer: "VALUE KEY 0 2\r\n12\r\nEN", whole: [13] },
  ])(
    "count() is not waited for when the node goes away within $where, and counts again when it is back",
    async ({ answer, whole }) => {
      let isCut = true;
      const replyTo = (line: string): string => {
        if (line === "version") return "VERSION 1\r\n";
        return line.startsWith("get ") ? `VALUE ${line.slice(4)} 0 1\r\n4\r\nEND\r\n` : "5\r\n";
      };
      const fake = createTcpServer((socket) => {
        socket
          .on("error", () => undefined)
          .on("data", (chunk) => {
            for (const line of String(chunk).split("\r\n").slice(0, -1)) {
              if (isCut && line.startsWith("get ")) socket.end(answer.replace("KEY", line.slice(4)));
              else if (socket.writable) socket.write(replyTo(line));
            }
          });
      });
      await new Promise<void>((resolve) => fake.listen(0, "127.0.0.1", resolve));
      const address = `127.0.0.1:${(fake.address() as { port: number }).port}`;
      const { counter } = await startCounter([address], { options: { unread: "failure" } });
      const cut = await time(counter, new WaitingBatch([check("cut")]));
      expect(cut.answer).toEqual(whole ?? expect.objectContaining({ code: "STORE_UNAVAILABLE", transient: true }));
      expect(cut.tookMs).toBeLessThan(SLACK_MS);
      isCut = false;
      await until(
        async () => Array.isArray((await time(counter, new WaitingBatch([check("cut")]))).answer),
        DEADLINE_MS,
        "it counts again",
      );
      expect((await time(counter, new WaitingBatch([check("cut")]))).answer).toEqual([5]);
      await counter.stop();
      fake.close();
    },
  );

  it("count() says that it loses increments while the node answers errors, and counts on when it no longer does", async () => {
    let isBroken = true;
    const fake = await startFake((text) =>
      text.startsWith("get") ? "END\r\n" : isBroken ? "SERVER_ERROR out of memory\r\n" : "5\r\n",
    );
    const { counter, statistics } = await startCounter([fake.address]);
    await count(counter, check("refused"));
    await counter.drain();
    isBroken = false;
    await count(counter, check("refused"));
    await counter.drain();
    const value = (code: string): number => statistics.counter(`ratelimit.memcache.increment.__code=${code}`).value;
    expect([value("error"), value("success")]).toEqual([1, 1]);
    await counter.stop();
    fake.close();
  });
});

describe("start()", () => {
  it("start() succeeds when one node of two answers", async () => {
    const { counter } = await startCounter([`127.0.0.1:${await reservePort()}`, addresses[0] ?? ""]);
    expect(await count(counter, check(keyOn(1, 2), 0))).toEqual([expect.any(Number)]);
  });

  it("start() fails naming the refusals when the time for it is over", async () => {
    const port = await reservePort();
    const { counter } = createCounter([`127.0.0.1:${port}`], { options: { startMaxElapsedMs: START_MS } });
    await expect(counter.start()).rejects.toThrow(
      `Timed out waiting for the alternative store after ${START_MS} ms: Cannot reach the alternative store 127.0.0.1:${port}: connection refused`,
    );
  });

  it("start() ends immediately when stop() comes meanwhile", async () => {
    const { counter } = createCounter([`127.0.0.1:${await reservePort()}`], { options: { startMaxElapsedMs: 0 } });
    const started = counter.start();
    await counter.stop();
    await expect(started).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  });

  it("start() does not take a server of another protocol for a node", async () => {
    const sockets: Socket[] = [];
    const foreign = createTcpServer((socket) => {
      sockets.push(socket.on("error", () => undefined));
      socket.write("HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    await new Promise<void>((resolve) => foreign.listen(0, "127.0.0.1", resolve));
    const { port } = foreign.address() as { port: number };
    const { counter } = createCounter([`127.0.0.1:${port}`], { options: { startMaxElapsedMs: START_MS } });
    await expect(counter.start()).rejects.toThrow("the server does not speak memcached's protocol");
    for (const socket of sockets) socket.destroy();
    foreign.close();
  });
});

describe("start() with SRV", () => {
  const record = "_memcache._tcp.example.org";
  const answer = (address: string | undefined) => ({ name: "127.0.0.1", port: Number(address?.split(":")[1]) });
  const nodes = { kind: "srv", record, refreshMs: 0 } as const;

  it("case 138: start() fails when the record cannot be found", async () => {
    const { counter } = createCounter([], {
      options: { nodes },
      resolveSrv: () => Promise.reject(new Error("querySrv ENOTFOUND")),
    });
    await expect(counter.start()).rejects.toThrow(`Unable to fetch servers from SRV ${record}`);
  });

  it("case 141: refresh() replaces the list, and keeps the old one when the lookup fails", async () => {
    let resolve: ResolveSrv = () => Promise.resolve([answer(addresses[0]), answer(addresses[1])]);
    const { counter, reachable } = await startCounter([], { options: { nodes }, resolveSrv: (name) => resolve(name) });
    const sorted = [addresses[0], addresses[1]].toSorted();
    expect(counter.addresses).toEqual(sorted);
    await count(counter, check("before-refresh"));
    resolve = () => Promise.reject(new Error("querySrv ESERVFAIL"));
    await counter.refresh();
    expect(counter.addresses).toEqual(sorted);
    resolve = () => Promise.resolve([answer(addresses[2])]);
    await counter.refresh();
    expect(counter.addresses).toEqual([addresses[2]]);
    await until(() => reachable.at(-1) === 1, DEADLINE_MS, "the new node is reachable");
    const one = check("after-refresh");
    await count(counter, one);
    await counter.drain();
    expect(await server(2).get(one.key)).toBe("1");
  });

  it("cases 138, 139 and 141: start() asks a name server, refresh() takes its new answer and keeps the old one when there is none", async () => {
    const dns = new DnsServer();
    await dns.start();
    const resolver = new Resolver({ timeout: 10_000, tries: 2 });
    resolver.setServers([dns.address]);
    const target = (address: string | undefined): SrvRecord => ({
      target: "localhost",
      port: Number(address?.split(":")[1]),
    });
    const choices = { options: { nodes }, resolveSrv: (name: string) => resolver.resolveSrv(name) };
    await expect(createCounter([], choices).counter.start()).rejects.toThrow(
      `Unable to fetch servers from SRV ${record}`,
    );
    dns.records.set(record, [target(addresses[1]), target(addresses[0])]);
    const { counter } = await startCounter([], choices);
    const named = addresses.map((address) => address.replace("127.0.0.1", "localhost"));
    expect(counter.addresses).toEqual([named[0], named[1]].toSorted());
    dns.records.clear();
    await counter.refresh();
    expect(counter.addresses).toHaveLength(2);
    dns.records.set(record, [target(addresses[2])]);
    await counter.refresh();
    expect(counter.addresses).toEqual([named[2]]);
    const one = check("after-lookup");
    await count(counter, one);
    await counter.drain();
    expect(await server(2).get(one.key)).toBe("1");
    expect(new Set(dns.questions)).toEqual(new Set([record]));
    dns.close();
  });

  it("case 141: start() looks the nodes up again and again when that is asked for", async () => {
    let lookups = 0;
    const resolveSrv = () => Promise.resolve([answer(addresses[lookups++ % 2])]);
    const { counter } = await startCounter([], { options: { nodes: { ...nodes, refreshMs: 20 } }, resolveSrv });
    await until(() => counter.addresses[0] === addresses[1], DEADLINE_MS, "the second list is active");
  });
});

describe("start() over TLS", () => {
  let ca: Buffer;
  let client: { cert: Buffer; key: Buffer };
  let port: number;
  let close: () => void;
  beforeAll(async () => {
    const now = new Date();
    const authority = await createAuthority({ commonName: "test", now, validDays: 1 });
    const pair = await authority.issue({
      commonName: "memcached",
      dnsNames: ["localhost"],
      usage: "server",
      now,
      validDays: 1,
    });
    const clientPair = await authority.issue({ commonName: "weir", usage: "client", now, validDays: 1 });
    ca = Buffer.from(authority.certPem);
    client = { cert: Buffer.from(clientPair.certPem), key: Buffer.from(clientPair.keyPem) };
    // A proxy ends it, because not every memcached is built with TLS, and this one can ask for the
    // client's certificate.
    const proxy = createTlsServer(
      { cert: pair.certPem, key: pair.keyPem, ca: authority.certPem, requestCert: true },
      (socket) => {
        const upstream = connectTcp(Number(addresses[0]?.split(":")[1]), "127.0.0.1");
        for (const each of [socket, upstream]) each.on("error", () => undefined);
        socket.pipe(upstream).pipe(socket);
      },
    );
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    ({ port } = proxy.address() as { port: number });
    close = () => void proxy.close();
  });
  afterAll(() => close());

  it("start() succeeds when the names and both certificates fit", async () => {
    const { counter } = await startCounter([`localhost:${port}`], {
      options: { tls: { material: () => ({ ...client, ca }), skipHostnameVerification: false } },
    });
    expect(await count(counter, check("tls"))).toEqual([1]);
  });

  it("start() fails when the host name does not fit, and succeeds when that is not verified", async () => {
    const tls = { material: () => ({ ...client, ca }), skipHostnameVerification: false };
    const failing = createCounter([`127.0.0.1:${port}`], { options: { tls, startMaxElapsedMs: START_MS } });
    await expect(failing.counter.start()).rejects.toThrow(/does not match certificate's altnames/);
    const { counter } = await startCounter([`127.0.0.1:${port}`], {
      options: { tls: { ...tls, skipHostnameVerification: true } },
    });
    expect(await count(counter, check("tls-skip"))).toEqual([1]);
  });

  it.each([
    { name: "the chain is not trusted", material: () => client },
    { name: "the server wants a certificate of the client", material: () => ({ ca }) },
    {
      name: "the certificates cannot be read",
      material: () => ({ cert: Buffer.from("nonsense"), key: Buffer.from("nonsense") }),
    },
  ])("start() fails when $name, though the host name is not verified", async ({ material }) => {
    const tls = { material, skipHostnameVerification: true };
    const { counter } = createCounter([`localhost:${port}`], { options: { tls, startMaxElapsedMs: START_MS } });
    await expect(counter.start()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  });
});
