// Measures processor time and commands per count over a Redis on the last processor, 512 calls in
// flight. Start it with `taskset -c 0`; `--quick` measures a tenth.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { silentLog } from "@weir/common/log/log";
import { Secret } from "@weir/common/settings/secret";
import { TurnEnd } from "@weir/common/turn/turn-end";
import { Redis } from "ioredis";
import { StatisticsStore } from "../../statistics/statistics-store.ts";
import type { CountBatch, CountedCheck, Counter } from "../counter.ts";
import type { StoreError } from "../store-error.ts";
import { createKvstoreCounter } from "./kvstore-counter.ts";
import { createSingleDeployment } from "./single/single-deployment.ts";

/** Calls in flight, as 8 connections of 64 streams have them. */
const IN_FLIGHT = 512;

/** Counts before the clock runs, and in each of the measured rounds, of which the median counts. */
const WARM_UP = 300_000;
const ROUND = process.argv.includes("--quick") ? 30_000 : 300_000;
const ROUNDS = 5;

/** Different keys per case. */
const CASES = [
  { name: "100,000 keys", keys: 100_000 },
  { name: "1,000,000 keys", keys: 1_000_000 },
  { name: "one hot key", keys: 1 },
];

/** Attempts to reach a server that was just started, and the wait between them in milliseconds. */
const ATTEMPTS = 100;
const ATTEMPT_WAIT_MS = 50;

/** Start of the window, in seconds since the epoch. */
const WINDOW_START = 4_000_000_200;

/** Counts until the number of counts is reached, one call at a time; many of them are in flight. */
class Caller implements CountBatch {
  checks: CountedCheck[] = [];
  readonly deadlineMs = undefined;
  pending = 0;
  readonly #load: Load;

  constructor(load: Load) {
    this.#load = load;
  }

  counted(): void {
    this.#load.next(this);
  }

  failed(error: StoreError): void {
    throw error;
  }
}

/** The number of the next key, so that rounds differ. */
let nextKey = 0;

/** A number of counts over a number of keys. */
class Load {
  readonly #counter: Counter;
  readonly #keys: number;
  #left: number;
  readonly #done = Promise.withResolvers<void>();

  constructor(counter: Counter, keys: number, counts: number) {
    this.#counter = counter;
    this.#keys = keys;
    this.#left = counts + IN_FLIGHT;
  }

  /** Begins the counts, and resolves when all are done. */
  run(): Promise<void> {
    for (let number = 0; number < IN_FLIGHT; number++) this.next(new Caller(this));
    return this.#done.promise;
  }

  /** A caller has its answer: it counts again. */
  next(caller: Caller): void {
    this.#left -= 1;
    if (this.#left === 0) this.#done.resolve();
    if (this.#left < IN_FLIGHT) return;
    // Each key is a new string, as a decision makes it. The factor is prime: no order is repeated.
    const user = (nextKey * 7919) % this.#keys;
    nextKey += 1;
    const key = `benchmark_user_user-${user}@example.com_path_/api/v1/orders_${WINDOW_START}`;
    caller.checks = [{ key, windowStartSeconds: WINDOW_START, windowSeconds: 3600, addend: 1, after: 0 }];
    this.#counter.count(caller);
  }
}

function createCounter(path: string): Counter {
  const server = {
    type: "single" as const,
    socketType: "unix" as const,
    url: new Secret(path),
    auth: undefined,
    sentinelAuth: undefined,
    tls: undefined,
    poolSize: 10,
    pipeline: { windowMs: 0, limit: 0 },
    clusterPipelineParallelism: 1,
    connectTimeoutMs: 10_000,
  };
  return createKvstoreCounter(
    {
      log: silentLog(),
      statistics: new StatisticsStore({ maxDynamicKeys: 10 }),
      clock: Date.now,
      turn: new TurnEnd(),
      random: Math.random,
      connections: () => undefined,
      createDeployment: createSingleDeployment,
    },
    {
      main: server,
      perSecond: undefined,
      commandTimeoutMs: 10_000,
      expiryJitterMaxSeconds: 300,
      startup: { initialMs: ATTEMPT_WAIT_MS, maxMs: ATTEMPT_WAIT_MS, maxElapsedMs: ATTEMPTS * ATTEMPT_WAIT_MS },
    },
  );
}

/** Processor time in microseconds per count, and commands per count, of one round. */
async function measureRound(
  counter: Counter,
  keys: number,
  redis: Redis,
): Promise<{ cpuUs: number; commands: number }> {
  const commandsBefore = await commandsOf(redis);
  const before = process.cpuUsage();
  await new Load(counter, keys, ROUND).run();
  const { user, system } = process.cpuUsage(before);
  return { cpuUs: (user + system) / ROUND, commands: ((await commandsOf(redis)) - commandsBefore) / ROUND };
}

async function commandsOf(redis: Redis): Promise<number> {
  return Number(/total_commands_processed:(\d+)/.exec(await redis.info("stats"))?.[1]);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function startRedis(folder: string, path: string): ChildProcess {
  const args = ["--port", "0", "--unixsocket", path, "--save", "", "--appendonly", "no", "--dir", folder];
  return spawn("taskset", ["-c", `${cpus().length - 1}`, "redis-server", ...args], { stdio: "ignore" });
}

async function main(): Promise<void> {
  if (availableParallelism() > 1) print("Not pinned: start it with taskset -c 0");
  const folder = await mkdtemp(join(tmpdir(), "weir-benchmark-"));
  const path = join(folder, "redis.sock");
  const server = startRedis(folder, path);
  const counter = createCounter(path);
  try {
    await counter.start?.();
    const redis = new Redis(path);
    for (const { name, keys } of CASES) {
      await new Load(counter, keys, WARM_UP).run();
      const rounds = [];
      for (let round = 0; round < ROUNDS; round++) rounds.push(await measureRound(counter, keys, redis));
      const cpuUs = median(rounds.map((round) => round.cpuUs)).toFixed(2);
      const commands = median(rounds.map((round) => round.commands)).toFixed(2);
      print(`${name.padEnd(16)} ${cpuUs} µs CPU per count, ${commands} commands`);
    }
    redis.disconnect();
  } finally {
    await counter.stop?.();
    server.kill();
    await once(server, "exit");
    await rm(folder, { recursive: true });
  }
}

await main();
