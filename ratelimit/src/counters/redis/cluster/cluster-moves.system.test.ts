// Slots that move between the nodes of a real cluster while counting continues: redirections are
// followed, and no increment is lost or doubled.
import { until } from "@weir/harness/processes/eventually";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Counter } from "../../counter.ts";
import { bucketRule, countCell } from "../../cells.suite.ts";
import { check, count, WaitingBatch } from "../../counter.suite.ts";
import { DEADLINE_MS, TestedCounters } from "../redis-counter.suite.ts";
import { createClusterDeployment } from "./cluster-deployment.ts";
import { type ClusterNode, type ClusterServers, startCluster } from "./cluster-servers.suite.ts";
import { hashSlot } from "./hash-slot.ts";

/** The suffix that the checks of `check()` append to a key. */
const SUFFIX = "_4000000200";

/** Longest time until the connection to a node that left is ended, in milliseconds. */
const LEAVE_MAX_MS = 90_000;

// The tests prove that no call fails, however long it waits.
const counters = new TestedCounters(createClusterDeployment, { commandTimeoutMs: 15_000 });

let cluster: ClusterServers;
beforeAll(async () => {
  cluster = await startCluster();
});
afterEach(() => counters.stop());
afterAll(() => cluster.close());

/** How often a node has answered with an error of that name. */
async function errors({ client }: ClusterNode, name: "MOVED" | "ASK"): Promise<number> {
  const found = new RegExp(`errorstat_${name}:count=(\\d+)`).exec(await client.info("errorstats"));
  return Number(found?.[1] ?? 0);
}

/** A key of a slot of its own, which is the given node's, as the check's name and its slot. */
function keyOf(index: number, name: string): { readonly name: string; readonly key: string; readonly slot: number } {
  const found = cluster.keyOn(index, name, SUFFIX);
  return { name: found, key: `${found}${SUFFIX}`, slot: hashSlot(`${found}${SUFFIX}`) };
}

function read(counter: Counter, name: string): Promise<readonly number[]> {
  const batch = new WaitingBatch([check(name)]);
  counter.read(batch);
  return batch.counts;
}

describe("count() when a slot has moved", () => {
  it("count() goes to the node that MOVED names, once for all calls of a turn, and straight there afterwards", async () => {
    const { counter } = await counters.start(cluster.url);
    const [from, to] = [cluster.node(0), cluster.node(1)];
    const { name, key, slot } = keyOf(0, "moved");
    expect(await count(counter, check(name))).toEqual([1]);
    await cluster.moveSlot(slot, from, to);
    const before = await errors(from, "MOVED");
    const calls = [1, 2, 3].map((addend) => count(counter, check(name, addend)));
    expect(await Promise.all(calls)).toEqual([[2], [4], [7]]);
    expect((await errors(from, "MOVED")) - before).toBe(1);
    expect(await count(counter, check(name))).toEqual([8]);
    expect(await read(counter, name)).toEqual([8]);
    expect((await errors(from, "MOVED")) - before).toBe(1);
    expect(await to.client.get(key)).toBe("8");
  });

  it("read() goes to the node that MOVED names", async () => {
    const { counter } = await counters.start(cluster.url);
    const [from, to] = [cluster.node(1), cluster.node(2)];
    const { name, key, slot } = keyOf(1, "moved-read");
    expect(await count(counter, check(name, 5))).toEqual([5]);
    await cluster.moveSlot(slot, from, to);
    const before = await errors(from, "MOVED");
    expect(await read(counter, name)).toEqual([5]);
    expect((await errors(from, "MOVED")) - before).toBe(1);
    expect(await to.client.get(key)).toBe("5");
  });

  it("count() sets the expiry of a key whose increment was sent on", async () => {
    const { counter } = await counters.start(cluster.url);
    const { name, key, slot } = keyOf(2, "moved-new");
    await cluster.moveSlot(slot, cluster.node(2), cluster.node(0));
    expect(await count(counter, check(name))).toEqual([1]);
    expect(await cluster.node(0).client.ttl(key)).toBeGreaterThan(50);
  });
});

describe("count() in a cell when slots move", () => {
  it("count() follows the cell to another node, which lacks the script, and counts each call once", async () => {
    const { counter } = await counters.start(cluster.url);
    const rule = bucketRule(10, 3600);
    const [from, to] = [cluster.node(0), cluster.node(1)];
    const key = cluster.keyOn(0, "cell", rule.keyEnd);
    const slot = hashSlot(`${key}${rule.keyEnd}`);
    const room = async (hits: number): Promise<number> =>
      Math.round((await countCell(counter, rule, { key, nowMs: Date.now(), hits })).room);
    expect(await room(2)).toBe(8);
    await cluster.beginMove(slot, from, to);
    expect(await room(1)).toBe(7);
    await cluster.moveKeys(slot, from, to);
    expect(await room(1)).toBe(6); // Asked for at the target.
    await cluster.endMove(slot, to);
    expect(await Promise.all([room(1), room(1)])).toEqual([5, 4]);
    expect(await room(5)).toBe(4);
    expect(await to.client.exists(`${key}${rule.keyEnd}`)).toBe(1);
  });
});

describe("count() while a slot is moving", () => {
  it("count() asks the target for a key that has gone there, every time, until the slot is its own", async () => {
    const { counter } = await counters.start(cluster.url);
    const [from, to] = [cluster.node(0), cluster.node(2)];
    const { name, key, slot } = keyOf(0, "asked");
    await cluster.beginMove(slot, from, to);
    const asked = await errors(from, "ASK");
    // A new key of a moving slot is made at the target immediately, with its expiry.
    expect(await count(counter, check(name, 4))).toEqual([4]);
    expect(await Promise.all([count(counter, check(name)), count(counter, check(name))])).toEqual([[5], [6]]);
    expect(await read(counter, name)).toEqual([6]);
    // One refused INCRBY with its EXPIRE, one INCRBY of a turn (whose expiry was sent), one GET.
    expect((await errors(from, "ASK")) - asked).toBe(4);
    expect(await to.client.ttl(key).catch(String)).toMatch(/MOVED/); // Not without ASKING: the slot is still the source's.
    await cluster.endMove(slot, to);
    expect(await to.client.ttl(key)).toBeGreaterThan(50);
    expect(await count(counter, check(name))).toEqual([7]);
    expect(await to.client.get(key)).toBe("7");
  });

  it("count() counts on at the source as long as the key is there", async () => {
    const { counter } = await counters.start(cluster.url);
    const [from, to] = [cluster.node(1), cluster.node(0)];
    const { name, slot } = keyOf(1, "stays");
    expect(await count(counter, check(name))).toEqual([1]);
    await cluster.beginMove(slot, from, to);
    const asked = await errors(from, "ASK");
    expect(await count(counter, check(name))).toEqual([2]);
    expect((await errors(from, "ASK")) - asked).toBe(0);
    await cluster.moveKeys(slot, from, to);
    expect(await count(counter, check(name))).toEqual([3]);
    expect((await errors(from, "ASK")) - asked).toBe(1);
    await cluster.endMove(slot, to);
    expect(await count(counter, check(name))).toEqual([4]);
  });

  it("count() gives every number once when slots move to and fro during traffic", async () => {
    const { counter } = await counters.start(cluster.url);
    const keys = [0, 1, 2, 0, 1, 2].map((index, number) => keyOf(index, `traffic${number}`));
    const answers = new Map<string, number[]>(keys.map(({ name }) => [name, []]));
    let isMoving = true;
    /**
     * Several callers, each of which counts on with all keys, in calls of two keys on different
     * nodes.
     */
    const callers = Array.from({ length: 8 }, async (_, caller) => {
      for (let round = caller; isMoving; round++) {
        const pair = [keys[round % keys.length], keys[(round + 1) % keys.length]].flatMap((key) =>
          key === undefined ? [] : [key.name],
        );
        const counts = await count(counter, ...pair.map((name) => check(name)));
        pair.forEach((name, index) => answers.get(name)?.push(counts[index] ?? Number.NaN));
      }
    });
    const redirections = async (): Promise<number> => {
      const numbers = await Promise.all(
        cluster.nodes.map(async (node) => (await errors(node, "ASK")) + (await errors(node, "MOVED"))),
      );
      return numbers.reduce((sum, number) => sum + number, 0);
    };
    const before = await redirections();
    const owners = [0, 1, 2, 0, 1, 2];
    try {
      for (const target of [1, 2, 0, 2, 1, 0]) {
        for (const [number, { slot }] of keys.entries()) {
          const from = owners[number] ?? 0;
          if (from !== target) await cluster.moveSlot(slot, cluster.node(from), cluster.node(target));
          owners[number] = target;
        }
      }
    } finally {
      isMoving = false;
      await Promise.allSettled(callers);
    }
    await Promise.all(callers);
    expect((await redirections()) - before).toBeGreaterThan(30);
    for (const [number, { name, key }] of keys.entries()) {
      const counts = answers.get(name) ?? [];
      expect(counts.length).toBeGreaterThan(50);
      // Exactly the numbers from 1 on, each once: none was lost, none counted twice.
      expect(counts.toSorted((a, b) => a - b)).toEqual(counts.map((_, index) => index + 1));
      expect(await cluster.node(owners[number] ?? 0).client.get(key)).toBe(`${counts.length}`);
    }
  });
});

describe("nodes that come and go", () => {
  it("count() goes to a node that joins, and its connections end when it has left", async () => {
    const { counter, statistics } = await counters.start(cluster.node(0).server.address);
    const gauge = statistics.gauge("ratelimit.redis_pool.cx_active");
    await until(() => gauge.value === 3, DEADLINE_MS, "a connection to each node works");
    const from = cluster.node(0);
    const joined = await cluster.joinEmpty();
    const { name, slot } = keyOf(0, "joined");
    expect(await count(counter, check(name))).toEqual([1]);
    await cluster.moveSlot(slot, from, joined);
    expect(await count(counter, check(name))).toEqual([2]);
    expect(gauge.value).toBe(4);
    await cluster.moveSlot(slot, joined, from);
    expect(await count(counter, check(name))).toEqual([3]);
    await cluster.leave(joined);
    expect(await count(counter, check(name))).toEqual([4]);
    expect(gauge.value).toBe(4);
    await until(() => gauge.value === 3, LEAVE_MAX_MS, "the connection to the node that left has ended");
    expect(statistics.counter("ratelimit.redis_pool.cx_local_close").value).toBe(1);
    expect(await count(counter, check(name))).toEqual([5]);
  });
});
