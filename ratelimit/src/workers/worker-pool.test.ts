// The pool over workers that obey the protocol when a test tells them to.
import { EventEmitter } from "node:events";
import { Socket } from "node:net";

import { createLog } from "@weir/common/log/log";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { Health } from "../health/health.ts";
import { StatisticsStore } from "../statistics/statistics-store.ts";
import type { FromWorker, ToWorker } from "./messages.ts";
import { StoreHealth } from "./store-health.ts";
import { WorkerPool } from "./worker-pool.ts";
import { type WorkerChild, WorkerProcess } from "./worker-process.ts";

/** A process that records what it receives. */
class FakeChild extends EventEmitter implements WorkerChild {
  readonly pid = 4711;
  connected = true;
  readonly received: ToWorker[] = [];
  readonly sockets: Socket[] = [];

  send(message: ToWorker, socket: Socket | undefined, _options: object, sent: (error: Error | null) => void): boolean {
    this.received.push(message);
    if (socket !== undefined) this.sockets.push(socket);
    sent(null);
    return true;
  }

  kill(): boolean {
    this.end(null, "SIGKILL");
    return true;
  }

  /** Sends a message to the service. */
  report(message: FromWorker): void {
    this.emit("message", message);
  }

  end(code: number | null, signal: string | null): void {
    this.connected = false;
    this.emit("exit", code, signal);
  }

  kinds(): readonly string[] {
    return this.received.map(({ kind }) => kind);
  }
}

let children: FakeChild[];
let lines: string[];
let store: StatisticsStore;
let health: Health;
let pool: WorkerPool;

/** A pool of so many workers, not started. */
function open(workers: number, connectionsMax = 100): WorkerPool {
  const log = createLog({ level: "info", format: "text", write: (line) => lines.push(line) });
  return new WorkerPool(
    {
      ...{ store, health, log, storeHealth: new StoreHealth(health) },
      startWorker(index, listener) {
        const child = new FakeChild();
        children.push(child);
        return new WorkerProcess(index, listener, child);
      },
    },
    { workers, connectionsMax },
  );
}

async function start(workers: number, connectionsMax?: number): Promise<WorkerPool> {
  const started = open(workers, connectionsMax);
  const starting = started.start();
  for (const child of children) child.report({ kind: "ready" });
  await starting;
  return started;
}

/** Resolves to true if a promise is settled after the reactions that are due. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  promise.then(
    () => (settled = true),
    () => (settled = true),
  );
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  return settled;
}

beforeEach(() => {
  vi.useFakeTimers();
  children = [];
  lines = [];
  store = new StatisticsStore({ maxDynamicKeys: 10 });
  health = new Health({ withConfig: false, withActiveConnection: true });
});

afterEach(() => {
  vi.useRealTimers();
});

describe("WorkerPool", () => {
  it("start() resolves when every worker is ready", async () => {
    pool = open(2);
    const starting = pool.start();
    children[0]?.report({ kind: "ready" });
    expect(await isSettled(starting)).toBe(false);
    children[1]?.report({ kind: "ready" });
    await starting;
    expect(children.map((child) => child.received)).toEqual([
      [{ kind: "start", index: 0, workers: 2, isHealthy: false }],
      [{ kind: "start", index: 1, workers: 2, isHealthy: false }],
    ]);
  });

  it("start() fails when a worker ends before it is ready", async () => {
    pool = open(2);
    const starting = pool.start();
    children[0]?.report({ kind: "ready" });
    children[1]?.end(1, null);
    await expect(starting).rejects.toMatchObject({
      code: "WORKER_FAILED",
      message: "Cannot start a worker: it ended with exit code 1",
    });
    expect(children).toHaveLength(2);
  });

  it("load() resolves when every worker has loaded this set or a later one", async () => {
    pool = await start(2);
    const [first, second] = [pool.load([]), pool.load([])];
    children[0]?.report({ kind: "loaded", id: 2 });
    children[1]?.report({ kind: "loaded", id: 1 });
    expect([await isSettled(first), await isSettled(second)]).toEqual([true, false]);
    children[1]?.report({ kind: "loaded", id: 2 });
    await second;
  });

  it("load() gives a later set to one worker after the other, and the first set to all", async () => {
    pool = await start(2);
    const loads = (): readonly number[] =>
      children.map((child) => child.kinds().filter((kind) => kind === "load").length);
    const first = pool.load([]);
    expect(loads()).toEqual([1, 1]);
    for (const child of children) child.report({ kind: "loaded", id: 1 });
    await first;
    const second = pool.load([]);
    expect([await isSettled(second), loads()]).toEqual([false, [2, 1]]);
    children[0]?.report({ kind: "loaded", id: 2 });
    expect([await isSettled(second), loads()]).toEqual([false, [2, 2]]);
    children[1]?.report({ kind: "loaded", id: 2 });
    await second;
  });

  it("load() does not wait for a worker that ends, and its replacement loads before it has connections", async () => {
    pool = await start(2);
    const loading = pool.load([]);
    children[0]?.report({ kind: "loaded", id: 1 });
    children[1]?.end(null, "SIGKILL");
    await loading;
    await vi.advanceTimersByTimeAsync(100);
    const replacement = children[2];
    expect(replacement?.received.map(({ kind }) => kind)).toEqual(["start", "load"]);
    replacement?.report({ kind: "ready" });
    for (let connection = 0; connection < 3; connection++) pool.give(new Socket());
    expect(replacement?.sockets).toHaveLength(0);
    replacement?.report({ kind: "loaded", id: 1 });
    pool.give(new Socket());
    expect(replacement?.sockets).toHaveLength(1);
  });

  it("load() ends a worker that does not load in time", async () => {
    pool = await start(2);
    const loading = pool.load([]);
    children[0]?.report({ kind: "loaded", id: 1 });
    await vi.advanceTimersByTimeAsync(30_000);
    await loading;
    expect(lines.join("\n")).toContain("A worker did not load the rules in time, ending it");
    expect(children[1]?.connected).toBe(false);
    expect(children[0]?.connected).toBe(true);
  });

  it("replaces a worker that keeps ending after longer and longer waits, and counts it", async () => {
    pool = await start(1);
    const waits: number[] = [];
    for (let time = 0; time < 9; time++) {
      const before = children.length;
      children.at(-1)?.end(1, null);
      let waitedMs = 0;
      for (; children.length === before; waitedMs += 100) await vi.advanceTimersByTimeAsync(100);
      waits.push(waitedMs);
    }
    expect(waits).toEqual([100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
    expect(store.counter("ratelimit.workers.restarts").value).toBe(9);
    // One that has run for a minute ends by chance.
    await vi.advanceTimersByTimeAsync(60_000);
    children.at(-1)?.end(1, null);
    await vi.advanceTimersByTimeAsync(100);
    expect(children).toHaveLength(11);
  });

  it("give() closes the connection when no worker may have more", async () => {
    pool = await start(2, 1);
    const sockets = [new Socket(), new Socket(), new Socket()];
    for (const socket of sockets) pool.give(socket);
    expect(children.map(({ sockets: given }) => given.length)).toEqual([1, 1]);
    expect(sockets.map(({ destroyed }) => destroyed)).toEqual([false, false, true]);
    expect(lines.join("\n")).toContain("Refused connections, open ones are served");
    children[1]?.report({ kind: "connections", closed: 1, shed: 0 });
    pool.give(new Socket());
    expect(children[1]?.sockets).toHaveLength(2);
  });

  it("closes the surplus of the others when a worker was replaced, for as long as there is one", async () => {
    pool = await start(2);
    for (let connection = 0; connection < 8; connection++) pool.give(new Socket());
    children[1]?.end(null, "SIGKILL");
    for (let connection = 0; connection < 4; connection++) pool.give(new Socket());
    await vi.advanceTimersByTimeAsync(100);
    const [busy, , replacement] = children;
    replacement?.report({ kind: "ready" });
    expect(busy?.received.at(-1)).toEqual({ kind: "shed", connections: 4 });
    busy?.report({ kind: "connections", closed: 0, shed: 4 });
    for (let connection = 0; connection < 4; connection++) pool.give(new Socket());
    expect(replacement?.sockets).toHaveLength(4);
    busy?.report({ kind: "connections", closed: 4, shed: 0 });
    const messages = busy?.received.length;
    await vi.advanceTimersByTimeAsync(20_000);
    expect(busy?.received).toHaveLength(messages ?? 0);
  });

  it("asks for statistics when they are read, and waits for no worker longer than a second", async () => {
    pool = await start(2);
    const collecting = store.collect();
    expect(children.map((child) => child.received.at(-1))).toEqual([
      { kind: "refresh", id: 1 },
      { kind: "refresh", id: 1 },
    ]);
    const report = { counters: [["calls", 3]], dynamicCounters: [], rules: [], gauges: [], timers: [] } as const;
    children[0]?.report({ kind: "statistics", report });
    children[0]?.report({ kind: "refreshed", id: 1 });
    expect(await isSettled(collecting)).toBe(false);
    await vi.advanceTimersByTimeAsync(1000);
    await collecting;
    expect(store.counter("calls").value).toBe(3);
  });

  it("passes on health, and is unhealthy while a worker has no connection to the store", async () => {
    pool = await start(1);
    health.set("start", true);
    expect(children[0]?.received.at(-1)).toEqual({ kind: "health", isHealthy: true });
    children[0]?.report({ kind: "store", isConnected: false });
    expect(health.isHealthy()).toBe(false);
    expect(children[0]?.received.at(-1)).toEqual({ kind: "health", isHealthy: false });
  });

  it("drain() and stop() wait for every worker, and replace none", async () => {
    pool = await start(2);
    const draining = pool.drain();
    children[0]?.report({ kind: "drained" });
    expect(await isSettled(draining)).toBe(false);
    children[1]?.end(null, "SIGSEGV");
    await draining;
    const stopping = pool.stop();
    expect(children[0]?.kinds().at(-1)).toBe("stop");
    expect(await isSettled(stopping)).toBe(false);
    children[0]?.end(0, null);
    await stopping;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(children).toHaveLength(2);
  });
});
