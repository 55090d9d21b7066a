// The Redis backend on a real Redis cluster: the common suite, credentials and TLS, what goes
// where, and how a call is sent in groups. Slots that move and nodes that fail are in tests of
// their own.
import { Redis } from "ioredis";
import { until } from "@weir/harness/processes/eventually";
import { startRedis } from "@weir/harness/servers/redis";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { cellRule, countCell } from "../../cells.suite.ts";
import { check, count, describeCounter, WaitingBatch } from "../../counter.suite.ts";
import { parseAddress } from "../address.ts";
import type { Deployment, DeploymentDeps, DeploymentOptions } from "../deployment.ts";
import { DEADLINE_MS, PATIENT, serverOptions, TestedCounters } from "../redis-counter.suite.ts";
import { RedisServer } from "../server/server.ts";
import { shareAmongServers } from "../server/server-options.ts";
import { createClusterDeployment } from "./cluster-deployment.ts";
import { type ClusterServers, startCluster } from "./cluster-servers.suite.ts";

/** The suffix that the checks of `check()` append to a key. */
const SUFFIX = "_4000000200";

const counters = new TestedCounters(createClusterDeployment, PATIENT);

/** Counters that the suite stops. */
const suiteCounters = new TestedCounters(createClusterDeployment, PATIENT);

let shared: ClusterServers;
beforeAll(async () => {
  shared = await startCluster();
});
afterEach(() => counters.stop());
afterAll(() => shared.close());

describeCounter("Redis cluster", () => {
  const { counter } = suiteCounters.create(shared.url);
  return Promise.resolve({ counter, close: () => flush(shared) });
});

describeCounter("Redis cluster with groups in parallel, a pool of three, and one node known at first", () => {
  const { counter } = suiteCounters.create(shared.node(1).server.address, {
    server: { poolSize: 3, clusterPipelineParallelism: 0 },
  });
  return Promise.resolve({ counter, close: () => flush(shared) });
});

async function flush(cluster: ClusterServers): Promise<void> {
  for (const { client } of cluster.nodes) await client.flushall();
}

describe("count() on a cluster", () => {
  it("count() stores each counter on the node that has its slot, with an expiry", async () => {
    const { counter } = await counters.start(shared.url);
    const names = [0, 1, 2].map((index) => shared.keyOn(index, "where", SUFFIX));
    expect(await count(counter, ...names.map((name) => check(name)))).toEqual([1, 1, 1]);
    for (const [index, name] of names.entries()) {
      const { client } = shared.node(index);
      expect(await client.get(`${name}${SUFFIX}`)).toBe("1");
      expect(await client.ttl(`${name}${SUFFIX}`)).toBeGreaterThan(50);
    }
  });

  it("count() gathers for each node on its own when a pipeline window and a limit are set", async () => {
    const { counter, active } = await counters.start(shared.url, {
      server: { pipeline: { windowMs: 600_000, limit: 2 } }, // A window that no test outlasts.
      options: { commandTimeoutMs: 600_000 },
    });
    // Checks that wait for a connection are sent as soon as it is there.
    await until(() => active.at(-1) === 3, DEADLINE_MS, "all nodes are reached");
    const first = [0, 1].map((index) => check(shared.keyOn(0, `first-${index}`, SUFFIX)));
    const other = [0, 1].map((index) => new WaitingBatch([check(shared.keyOn(1, `other-${index}`, SUFFIX))]));
    counter.count(other[0]!);
    expect(await Promise.all(first.map((one) => count(counter, one)))).toEqual([[1], [1]]);
    expect(other[0]?.isAnswered).toBe(false); // One command waits for the window, two fill the limit of their node.
    counter.count(other[1]!);
    expect(await Promise.all(other.map(({ counts }) => counts))).toEqual([[1], [1]]);
  });

  it("count() sends to each node when the pipeline window ends", async () => {
    const { counter } = await counters.start(shared.url, { server: { pipeline: { windowMs: 50, limit: 0 } } });
    const calls = [0, 1, 2].map((index) => count(counter, check(shared.keyOn(index, "window", SUFFIX))));
    expect(await Promise.all(calls)).toEqual([[1], [1], [1]]);
  });

  it("count() fails only the calls that touch a key the cluster refuses", async () => {
    const { counter } = await counters.start(shared.url);
    const name = shared.keyOn(1, "text", SUFFIX);
    await shared.node(1).client.set(`${name}${SUFFIX}`, "abc");
    const [refused, fine] = await Promise.allSettled([count(counter, check(name)), count(counter, check("fine"))]);
    expect(refused).toMatchObject({
      reason: {
        code: "STORE_UNAVAILABLE",
        message: `Cannot count on ${shared.node(1).server.address}: ERR value is not an integer or out of range`,
      },
    });
    expect(fine).toEqual({ status: "fulfilled", value: [1] });
  });

  it.each([0, 1])(
    "count() adds a call without scripts to the counters of a list on several nodes, or to none (parallelism %i)",
    async (clusterPipelineParallelism) => {
      const { counter } = await counters.start(shared.url, {
        server: { clusterPipelineParallelism, poolSize: 3 },
        options: { usesScripts: false },
      });
      const rule = cellRule(2, 86_400, ...Array<string>(8).fill("sliding_window"));
      const key = `list-${clusterPipelineParallelism}`;
      const ask = async () => (await countCell(counter, rule, { key, nowMs: 86_400_000, hits: 1 })).passes;
      let passed = (await Promise.all(Array.from({ length: 20 }, ask))).filter(Boolean).length;
      // Calls that meet on one node in another order than on the next may reject each other.
      expect([0, 1, 2]).toContain(passed);
      await until(
        async () => {
          const keys = await Promise.all(shared.nodes.map(({ client }) => client.keys(`${key}*`)));
          const counts = shared.nodes.flatMap(({ client }, node) => (keys[node] ?? []).map((each) => client.get(each)));
          return (
            counts.length === rule.limits.length && (await Promise.all(counts)).every((text) => text === String(passed))
          );
        },
        DEADLINE_MS,
        "each counter has the calls that passed",
      );
      for (; passed < 2; passed++) expect(await ask()).toBe(true);
      expect(await ask()).toBe(false);
    },
  );

  it("start() counts the connections to all nodes together", async () => {
    const { counter, statistics, active } = await counters.start(shared.node(0).server.address, {
      server: { poolSize: 2 },
    });
    const gauge = statistics.gauge("ratelimit.redis_pool.cx_active");
    await until(() => gauge.value === 6, DEADLINE_MS, "two connections to each node work");
    expect([statistics.counter("ratelimit.redis_pool.cx_total").value, active.at(-1)]).toEqual([6, 6]);
    await counter.stop?.();
    expect([gauge.value, active.at(-1), statistics.counter("ratelimit.redis_pool.cx_local_close").value]).toEqual([
      0, 0, 6,
    ]);
  });

  it("case 91: count() uses a single per-second server next to a cluster", async () => {
    const perSecond = await startRedis();
    const pairs = new TestedCounters(
      (deps, options) =>
        options.scope === "redis_pool" ? createClusterDeployment(deps, options) : createOneServer(deps, options),
      PATIENT,
    );
    const client = new Redis(perSecond.port, "127.0.0.1");
    try {
      const { counter } = await pairs.start(shared.url, {
        perSecond: serverOptions(perSecond.address),
        options: { expiryJitterMaxSeconds: 300 }, // Or the counter of a second would expire in the test.
        deps: { random: () => 0.9 },
      });
      const names = [0, 1, 2].map((index) => shared.keyOn(index, "pair", SUFFIX));
      const checks = names.map((name) => check(name));
      expect(await count(counter, check("pair-second", 3, 4_000_000_200, 1), ...checks)).toEqual([3, 1, 1, 1]);
      expect(await count(counter, ...checks, check("pair-second", 1, 4_000_000_200, 1))).toEqual([2, 2, 2, 4]);
      expect(await client.keys("*")).toEqual(["pair-second_4000000200"]);
    } finally {
      await pairs.stop();
      client.disconnect();
      await perSecond.stop();
    }
  });
});

/** Makes the same deployment as the type "single" does; the types do not know each other. */
function createOneServer(deps: DeploymentDeps, options: DeploymentOptions): Deployment {
  const parsed = parseAddress(options.server);
  if (!parsed.ok) throw new Error(parsed.problem);
  return new RedisServer(shareAmongServers(deps, options), { ...options, address: parsed.address });
}
