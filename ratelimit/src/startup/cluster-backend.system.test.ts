// The program with its counters in a real Redis cluster that wants a password, TLS and client
// certificates, and those per second on a single Redis: asked over gRPC as a proxy asks it.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import {
  type RateLimitResponse,
  RateLimitResponse_Code as Code,
} from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import type { Program } from "@weir/harness/processes/start-process";
import { until } from "@weir/harness/processes/eventually";
import { startRedis } from "@weir/harness/servers/redis";
import type { StoreServer } from "@weir/harness/servers/store-server";
import { writeCertificates } from "@weir/harness/servers/certificate-files";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { type ClusterServers, startCluster } from "../counters/redis/cluster/cluster-servers.suite.ts";
import { hashSlot } from "../counters/redis/cluster/hash-slot.ts";
import { callRateLimit, clearOfMidnight, FREE_PORTS, portOf, startService, WAIT } from "./started-program.suite.ts";

const PASSWORD = "open:sesame";

const MINUTE_MS = 60_000;

/** How often a flow may begin again because its window ended in the middle of it. */
const ATTEMPTS_MAX = 5;

const FILES = {
  "basic.yaml": "domain: basic\ndescriptors:\n- {key: key1, rate_limit: {unit: second, requests_per_unit: 50}}\n",
  "another.yaml": `domain: another
descriptors:
- {key: key2, rate_limit: {unit: minute, requests_per_unit: 20}}
- {key: key3, rate_limit: {unit: hour, requests_per_unit: 10}}
- {key: day, rate_limit: {unit: day, requests_per_unit: 1000}}
`,
};

let folder: string;
let cluster: ClusterServers;
let perSecond: StoreServer;
let program: Program;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "weir-cluster-backend-"));
  await mkdir(join(folder, "config"));
  for (const [name, text] of Object.entries(FILES)) await writeFile(join(folder, "config", name), text);
  const tls = await writeCertificates(folder);
  [cluster, perSecond] = await Promise.all([startCluster({ password: PASSWORD, tls }), startRedis()]);
  program = startService({
    ...FREE_PORTS,
    USE_PUSHSTATS: "false",
    DISABLE_STATS: "true",
    RUNTIME_ROOT: folder,
    RUNTIME_WATCH_ROOT: "false",
    SHUTDOWN_DRAIN: "0",
    BACKEND_TYPE: "redis",
    KVSTORE_TYPE: "cluster",
    KVSTORE_URL: `${cluster.node(0).server.address},${cluster.node(2).server.address}`,
    KVSTORE_AUTH: `default:${PASSWORD}`,
    KVSTORE_TLS: "true",
    KVSTORE_TLS_CACERT: tls.ca,
    KVSTORE_TLS_CLIENT_CERT: tls.clientCert,
    KVSTORE_TLS_CLIENT_KEY: tls.clientKey,
    KVSTORE_POOL_SIZE: "2",
    KVSTORE_PIPELINE_WINDOW: "150us",
    KVSTORE_COMMAND_TIMEOUT: "12s",
    KVSTORE_HEALTH_CHECK_ACTIVE_CONNECTION: "true",
    KVSTORE_PERSECOND: "true",
    KVSTORE_PERSECOND_SOCKET_TYPE: "tcp",
    KVSTORE_PERSECOND_URL: perSecond.address,
  });
});

afterAll(async () => {
  await program.end();
  await Promise.all([cluster.close(), perSecond.stop()]);
  await rm(folder, { recursive: true, force: true });
});

async function decide(
  domain: string,
  ...entries: readonly (readonly [key: string, value: string])[]
): Promise<RateLimitResponse> {
  return await callRateLimit(await portOf(program, "gRPC"), domain, ...entries);
}

/** Runs a flow again with other values when a minute ended in the middle of it. */
async function withinMinute<Result>(flow: (value: string) => Promise<Result>): Promise<Result> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const minute = Math.floor(Date.now() / MINUTE_MS);
    const result = await flow(`attempt-${attempt}`);
    if (Math.floor(Date.now() / MINUTE_MS) === minute) return result;
  }
  throw new Error("Every attempt ended in another minute than it began in");
}

async function statistic(name: string): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${await portOf(program, "debug")}/stats`);
  return Number(new RegExp(`^${name.replaceAll(".", "\\.")}: (\\d+)$`, "m").exec(await response.text())?.[1]);
}

describe("weir-ratelimit on a cluster with a password and TLS, and a per-second server (case 200)", () => {
  it("case 193: it answers OK with one status without a limit when the domain is unknown", async () => {
    const { overallCode, statuses } = await decide("foo", ["key1", "foo"]);
    expect([overallCode, statuses.length, statuses[0]?.currentLimit]).toEqual([Code.OK, 1, undefined]);
  });

  it("case 194: it answers OK with 49 of 50 per second left, and counts that on the per-second server", async () => {
    const { overallCode, statuses } = await decide("basic", ["key1", "foo"]);
    expect([overallCode, statuses[0]?.limitRemaining, statuses[0]?.currentLimit?.requestsPerUnit]).toEqual([
      Code.OK,
      49,
      50,
    ]);
    expect(await statistic("ratelimit.service.rate_limit.basic.key1.total_hits")).toBe(1);
    expect(await statistic("ratelimit.redis_per_second_pool.cx_active")).toBe(10);
  });

  it("case 195: it lets 20 of 25 calls a minute pass", async () => {
    const answers = await withinMinute(async (value) => {
      const seen: (readonly [Code | undefined, number | undefined])[] = [];
      for (let call = 0; call < 25; call++) {
        const { overallCode, statuses } = await decide("another", ["key2", value]);
        seen.push([overallCode, statuses[0]?.limitRemaining]);
      }
      return seen;
    });
    const passed = Array.from({ length: 20 }, (_, call) => [Code.OK, 19 - call]);
    expect(answers).toEqual([...passed, ...Array.from({ length: 5 }, () => [Code.OVER_LIMIT, 0])]);
  });

  it("case 196: it answers OVER_LIMIT from the 11th call on for the key per hour, and counts the other key on", async () => {
    const answers = await withinMinute(async (value) => {
      const seen: (readonly [Code, Code | undefined, number | undefined])[] = [];
      for (let call = 0; call < 15; call++) {
        const { overallCode, statuses } = await decide("another", ["key2", `both-${value}`], ["key3", `both-${value}`]);
        seen.push([overallCode, statuses[1]?.code, statuses[0]?.limitRemaining]);
      }
      return seen;
    });
    const expected = Array.from({ length: 15 }, (_, call) => [
      call < 10 ? Code.OK : Code.OVER_LIMIT,
      call < 10 ? Code.OK : Code.OVER_LIMIT,
      19 - call,
    ]);
    expect(answers).toEqual(expected);
  });

  it("case 197: the time until reset of a key per day grows less", async () => {
    const reset = async (): Promise<number> =>
      Number((await decide("another", ["day", "reset"])).statuses[0]?.durationUntilReset?.seconds);
    await clearOfMidnight();
    const first = await reset();
    await until(async () => (await reset()) < first, WAIT.timeout, "the time until reset is shorter");
  });

  it("counting continues when slots move, and every node has its share", async () => {
    await clearOfMidnight();
    const windowStart = Math.floor(Date.now() / 86_400_000) * 86_400;
    const suffix = `_${windowStart}`;
    const values = [0, 1, 2].map((index) =>
      cluster.keyOn(index, "another_day_moved", suffix).slice("another_day_".length),
    );
    const calls = async (): Promise<readonly (number | undefined)[]> =>
      (await decide("another", ...values.map((value) => ["day", value] as const))).statuses.map(
        ({ limitRemaining }) => limitRemaining,
      );
    expect(await calls()).toEqual([999, 999, 999]);
    for (const [index, value] of values.entries()) {
      const key = `another_day_${value}${suffix}`;
      expect(await cluster.node(index).client.get(key)).toBe("1");
      await cluster.moveSlot(hashSlot(key), cluster.node(index), cluster.node((index + 1) % 3));
    }
    expect(await calls()).toEqual([998, 998, 998]);
    expect(await cluster.node(1).client.get(`another_day_${values[0]}${suffix}`)).toBe("2");
    expect(await statistic("ratelimit.redis_pool.cx_active")).toBe(6); // Two to each of three nodes.
    expect(await statistic("ratelimit.service.call.should_rate_limit.redis_error")).toBe(0);
  });

  it("health follows the connections: well while a node is left, unwell without any", async () => {
    const healthcheck = async (): Promise<number> =>
      (await fetch(`http://127.0.0.1:${await portOf(program, "HTTP")}/healthcheck`)).status;
    expect(await healthcheck()).toBe(200);
    await cluster.node(0).server.kill();
    await until(
      async () => (await statistic("ratelimit.redis_pool.cx_active")) === 4,
      WAIT.timeout,
      "the loss is seen",
    );
    expect(await healthcheck()).toBe(200);
    for (const index of [1, 2]) await cluster.node(index).server.kill();
    await until(async () => (await healthcheck()) === 500, WAIT.timeout, "it is unwell");
    await Promise.all(cluster.nodes.map(({ server }) => server.restart()));
    await until(async () => (await healthcheck()) === 200, WAIT.timeout, "it is well again");
    await until(
      () => decide("another", ["day", "recovered"]).then(Boolean, () => false),
      WAIT.timeout,
      "it counts again",
    );
    expect(await program.end("SIGTERM")).toBe(0);
  });
});
