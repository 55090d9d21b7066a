// Tests the answers to callers while a real redis-server fails, for each BACKEND_FAILURE_MODE: they come
// within the bound, are counted, and are right again once the server is back.
import { silentLog } from "@weir/common/log/log";
import { Secret } from "@weir/common/settings/secret";
import { TurnEnd } from "@weir/common/turn/turn-end";
import { Redis } from "ioredis";
import { until } from "@weir/harness/processes/eventually";
import { type CuttingProxy, startCuttingProxy } from "@weir/harness/servers/cutting-proxy";
import { startRedis } from "@weir/harness/servers/redis";
import type { StoreServer } from "@weir/harness/servers/store-server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Counter } from "../counters/counter.ts";
import { createRedisCounter } from "../counters/redis/redis-counter.ts";
import { DEADLINE_MS, serverOptions, SLACK_MS } from "../counters/redis/redis-counter.suite.ts";
import { reservePort } from "@weir/harness/processes/reserve-ports";
import { createSingleDeployment } from "../counters/redis/single/single-deployment.ts";
import { configuration, descriptor, entries, limit } from "@weir/limits/rules/configuration.suite";
import { StatisticsStore } from "../statistics/statistics-store.ts";
import { WaitingCall, DeciderFixture } from "./decider.suite.ts";
import type { FailureMode } from "./decider.ts";

/** KVSTORE_COMMAND_TIMEOUT of these tests, in milliseconds: most calls of this long table wait for it. */
const COMMAND_TIMEOUT_MS = 1000;

/** The password of the server in these tests. */
const PASSWORD = "first";

let server: StoreServer;
let proxy: CuttingProxy;

/** Runs commands on the server, outside of the service. */
async function command(...commands: readonly (readonly [string, ...string[]])[]): Promise<void> {
  const redis = new Redis({ port: server.port, host: "127.0.0.1", password: PASSWORD });
  for (const [name, ...args] of commands) await redis.call(name, ...args);
  redis.disconnect();
}

/** A fault, what makes and what ends it, and how many of two calls meet it. */
interface Fault {
  readonly what: string;
  readonly failures: 1 | 2;
  /**
   * KVSTORE_COMMAND_TIMEOUT, in milliseconds, of a fault that ends calls by itself, where a short
   * one would fail the next call on a busy machine.
   */
  readonly commandTimeoutMs?: number;
  readonly begin: () => unknown;
  readonly end: () => unknown;
}

const FAULTS: readonly Fault[] = [
  { what: "is gone", failures: 2, begin: () => server.kill(), end: () => server.restart() },
  { what: "is silent", failures: 2, begin: () => server.pause(), end: () => server.resume() },
  {
    what: "is too slow",
    failures: 2,
    begin: () => proxy.delay(COMMAND_TIMEOUT_MS + SLACK_MS),
    end: () => proxy.restore(),
  },
  {
    what: "is cut off in a reply",
    failures: 1,
    commandTimeoutMs: SLACK_MS,
    begin: () => proxy.cutAnswer(2),
    end: () => undefined,
  },
  {
    what: "is a replica",
    failures: 2,
    begin: async () => command(["REPLICAOF", "127.0.0.1", `${await reservePort()}`]),
    end: () => command(["REPLICAOF", "NO", "ONE"]),
  },
  {
    what: "is out of memory",
    failures: 2,
    begin: () => command(["CONFIG", "SET", "maxmemory", "1"]),
    end: () => command(["CONFIG", "SET", "maxmemory", "0"]),
  },
  {
    what: "has another password now",
    failures: 2,
    begin: () =>
      command(
        ["ACL", "SETUSER", "default", "resetpass", ">second", `>${PASSWORD}x`],
        ["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"],
      ),
    end: async () => {
      const redis = new Redis({ port: server.port, host: "127.0.0.1", password: "second" });
      await redis.acl("SETUSER", "default", "resetpass", `>${PASSWORD}`);
      redis.disconnect();
    },
  },
  {
    what: "has a text at the key",
    failures: 2,
    begin: () => command(["SET", "domain_key_value_1200", "abc"], ["SET", "domain_shadow_value_1200", "abc"]),
    end: () => command(["DEL", "domain_key_value_1200", "domain_shadow_value_1200"]),
  },
];

async function openFixture(
  failureMode: FailureMode,
  commandTimeoutMs = COMMAND_TIMEOUT_MS,
): Promise<{ readonly fixture: DeciderFixture; readonly counter: Counter }> {
  const counter = createRedisCounter(
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
      main: serverOptions(proxy.address, { auth: new Secret(PASSWORD) }),
      perSecond: undefined,
      commandTimeoutMs,
      expiryJitterMaxSeconds: 0,
      usesScripts: true,
      startup: { initialMs: 20, maxMs: 100, maxElapsedMs: 30_000 },
    },
  );
  await counter.start?.();
  const rules = [
    descriptor({ key: "key", rateLimit: limit(1000, "minute") }),
    descriptor({ key: "shadow", rateLimit: limit(1000, "minute"), shadowMode: true }),
  ];
  return {
    fixture: new DeciderFixture({ configs: [configuration("domain", rules)], counter, options: { failureMode } }),
    counter,
  };
}

async function decide(
  fixture: DeciderFixture,
  key = "key=value",
  deadlineMs?: number,
): Promise<{ readonly call: WaitingCall; readonly tookMs: number }> {
  const call = new WaitingCall(deadlineMs);
  const beganMs = performance.now();
  fixture.decider.decide({ domain: "domain", descriptors: [{ entries: entries(key) }], hitsAddend: 0 }, call);
  await call.answered;
  return { call, tookMs: performance.now() - beganMs };
}

beforeAll(async () => {
  server = await startRedis(undefined, { flags: ["--requirepass", PASSWORD, "--maxmemory-policy", "noeviction"] });
  proxy = await startCuttingProxy(server.port);
});
afterAll(async () => {
  await proxy.close();
  await server.stop();
});

describe.each(FAULTS)("decide() when the store $what", ({ failures, commandTimeoutMs, begin, end }) => {
  it.each([
    { mode: "error" as const, outcome: { error: "STORE_UNAVAILABLE" } },
    { mode: "allow" as const, outcome: { overallCode: 1, statuses: [{ code: 1 }] } },
    {
      mode: "deny" as const,
      outcome: { overallCode: 2, statuses: [{ code: 2, limitRemaining: 0 }] },
    },
  ])(
    "case 115: decide() answers as the mode $mode says, within the time limit, counts it, and recovers",
    async ({ mode, outcome }) => {
      const { fixture, counter } = await openFixture(mode, commandTimeoutMs);
      try {
        expect((await decide(fixture)).call.decision.overallCode).toBe(1);
        await begin();
        try {
          const { call, tookMs } = await decide(fixture);
          expect(tookMs).toBeLessThan(COMMAND_TIMEOUT_MS + SLACK_MS);
          expect(mode === "error" ? { error: call.error.code } : call.decision).toMatchObject(outcome);
          expect(fixture.counted()).toMatchObject({
            "call.should_rate_limit.redis_error": 1,
            [`backend_failure.${mode}`]: 1,
            "rate_limit.domain.key.total_hits": 2,
          });
          const second = await decide(fixture, "shadow=value");
          expect(second.tookMs).toBeLessThan(COMMAND_TIMEOUT_MS + SLACK_MS);
          expect(fixture.counted()).toMatchObject({ [`backend_failure.${mode}`]: failures });
          const isAnswered = mode !== "error" || failures === 1;
          expect(isAnswered ? second.call.decision : { error: second.call.error.code }).toMatchObject(
            isAnswered ? { overallCode: 1, statuses: [{ code: 1 }] } : { error: "STORE_UNAVAILABLE" },
          );
        } finally {
          await end();
        }
        await until(
          async () => {
            const before = fixture.counted()["call.should_rate_limit.redis_error"];
            await decide(fixture);
            return fixture.counted()["call.should_rate_limit.redis_error"] === before;
          },
          DEADLINE_MS,
          "calls are counted again",
        );
      } finally {
        await counter.stop?.();
      }
    },
  );
});

describe("decide() when the store is silent and the caller in a hurry", () => {
  it("case 118: decide() answers at the caller's deadline, not earlier", async () => {
    const { fixture, counter } = await openFixture("error", 30_000);
    await server.pause();
    try {
      const deadlineMs = performance.now() + 150;
      const { call, tookMs } = await decide(fixture, "key=value", deadlineMs);
      expect(call.error.code).toBe("DEADLINE_EXCEEDED");
      expect(performance.now()).toBeGreaterThanOrEqual(deadlineMs - 1); // Timers may fire a little early.
      expect(tookMs).toBeLessThan(10_000);
    } finally {
      server.resume();
      await counter.stop?.();
    }
  });
});
