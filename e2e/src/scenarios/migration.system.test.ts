// Follows docs/migrating.md: a deployment of envoyproxy/ratelimit behind Envoy is taken over and given
// back under load, then its rule files become resources. Counters are kept all the time.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ProcessGroup } from "@weir/dev/processes/process-group";
import { STACK_HOST } from "@weir/dev/setup/ports";
import { eventually } from "@weir/harness/processes/eventually";
import { reservePorts } from "@weir/harness/processes/reserve-ports";
import { startRedis } from "@weir/harness/servers/redis";
import type { StoreServer } from "@weir/harness/servers/store-server";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readReplies } from "../conformance/differential/redis-replies.ts";
import type { Envoy } from "@weir/harness/envoy/envoy";
import { findEnvoyRatelimit } from "@weir/harness/servers/envoy-ratelimit";
import { startWeir } from "@weir/harness/weir/weir";
import { Guide } from "@weir/harness/pages/guide";
import { type Env, launcher, runCommand } from "@weir/harness/processes/programs";
import { startRollingEnvoy, untilHealthy } from "@weir/harness/pages/rolling-envoy";
import { startProcess } from "@weir/harness/processes/start-process";
import { spend, startLoad } from "@weir/harness/weir/traffic";
import { startUpstream, type Upstream } from "@weir/harness/servers/upstream";

const GUIDE = new Guide("migrating.md");

/** Longest wait for a program to serve, in milliseconds, on a busy machine. */
const READY_TIMEOUT_MS = 60_000;

/** Weir drains for 5 s. */
const STOP_GRACE_MS = 40_000;

/** Time limit of a test that rolls both pods, in milliseconds. */
const ROLL_TIMEOUT_MS = 240_000;

/** Answers before a step counts as taken under load. */
const LOAD_ANSWERS = 50;

/** What a pod needs to connect to a control plane; the rest has defaults that fit. */
const CONNECTION_SETTINGS = [
  "CONFIG_GRPC_XDS_CLIENT_TLS_CERT",
  "CONFIG_GRPC_XDS_CLIENT_TLS_KEY",
  "CONFIG_GRPC_XDS_NODE_ID",
  "CONFIG_GRPC_XDS_SERVER_TLS_CACERT",
  "CONFIG_GRPC_XDS_SERVER_URL",
];

/** The last four of ten requests of a user, and one more. */
const FOUR_LEFT = [200, 200, 200, 200, 429];

/** One pod: its environment, which both programs get, and what runs. */
interface PodPlace {
  readonly env: Env;
  process: ProcessGroup | undefined;
}

describe("docs/migrating.md", () => {
  const folder = makeTemporaryFolder();
  const pods: PodPlace[] = [];
  let redis: StoreServer | undefined;
  let upstream: Upstream | undefined;
  let envoy: Envoy | undefined;
  let before: Awaited<ReturnType<typeof seen>>;

  beforeAll(async () => {
    [redis, upstream] = [await startRedis(folder.path), await startUpstream()];
    const page = GUIDE.env("BACKEND_TYPE");
    const rules = join(folder.path, page["RUNTIME_SUBDIRECTORY"]!, "config");
    mkdirSync(rules, { recursive: true });
    writeFileSync(join(rules, "shop.yaml"), GUIDE.block("yaml", "domain: shop"));
    // Patience for a busy machine, which only Weir reads.
    const here = { ...page, REDIS_URL: redis.address, RUNTIME_ROOT: folder.path, KVSTORE_COMMAND_TIMEOUT: "20s" };
    for (const _ of [1, 2]) {
      const pod: PodPlace = { env: { ...here, ...(await listeners()) }, process: undefined };
      pods.push(pod);
      await start(pod, findEnvoyRatelimit());
    }
    const [first, second] = pods.map(({ env }) => Number(env["GRPC_PORT"]));
    envoy = await startRollingEnvoy(GUIDE, {
      folder: folder.path,
      domain: "shop",
      podPorts: [first!, second!],
      upstreamPort: upstream.port,
    });
  });

  afterAll(async () => {
    await envoy?.stop();
    for (const { process } of pods) process?.kill();
    await upstream?.stop();
    await redis?.stop();
    folder.remove();
  });

  it("finds nothing wrong with the rule files beforehand", async () => {
    expect(await run('weir check "')).toMatchObject({ code: 0 });
  });

  it(
    "replaces envoyproxy/ratelimit by Weir under load: no failed request, 4 of 10 left",
    async () => {
      expect(await spend(as("ada"), 6)).toEqual(Array<number>(6).fill(200));
      before = await seen(pods[0]!);
      await roll(launcher("weir-ratelimit"), "to-weir", "bob");
      expect(await spend(as("ada"), 5)).toEqual(FOUR_LEFT);
    },
    ROLL_TIMEOUT_MS,
  );

  it("has rules, health, /json and metrics where they were", async () => {
    const after = await seen(pods[0]!);
    expect(before.metrics).not.toEqual([]);
    expect(after).toEqual({ ...before, metrics: expect.arrayContaining([...before.metrics]) as unknown });
  });

  it(
    "replaces Weir by envoyproxy/ratelimit under load: no failed request, 4 of 10 left",
    async () => {
      expect(await spend(as("grace"), 6)).toEqual(Array<number>(6).fill(200));
      await roll(findEnvoyRatelimit(), "back", "carol");
      expect(await spend(as("grace"), 5)).toEqual(FOUR_LEFT);
    },
    ROLL_TIMEOUT_MS,
  );

  it("moves the rules to resources: same decisions, and the same keys in Redis", async () => {
    expect(await spend(as("edsger"), 6)).toEqual(Array<number>(6).fill(200));
    const keys = await redisKeys();
    expect(await run("weir convert")).toMatchObject({ code: 0 });
    const flow = await startWeir(folder.path);
    try {
      const { CONFIG_TYPE, ...connection } = GUIDE.env("CONFIG_TYPE");
      // The values of this machine are those of the local stack, under these names and no other ones.
      expect(Object.keys(connection).toSorted()).toEqual(CONNECTION_SETTINGS);
      const env = { ...GUIDE.env("BACKEND_TYPE"), CONFIG_TYPE: CONFIG_TYPE!, REDIS_URL: redis!.address };
      const pod = await flow.startPod({ ...env, USE_PUSHSTATS: "false", USE_STATSD: "false" });
      const statuses: number[] = [];
      while (statuses.length < FOUR_LEFT.length)
        statuses.push(await pod.ask("shop", { path: "/checkout", user: "edsger" }));
      expect(statuses).toEqual(FOUR_LEFT);
    } finally {
      await flow.stop();
    }
    expect(await redisKeys()).toEqual(keys);
  });

  function as(user: string): { readonly url: string; readonly user: string } {
    return { url: `${envoy!.url}/checkout`, user };
  }

  /** Runs the block of commands that begins with `start`. */
  function run(start: string): ReturnType<typeof runCommand> {
    const { RUNTIME_ROOT, RUNTIME_SUBDIRECTORY } = pods[0]!.env;
    const env = { PATH: `${dirname(launcher("weir"))}:/usr/bin:/bin`, RUNTIME_ROOT, RUNTIME_SUBDIRECTORY };
    return runCommand(`set -e\n${GUIDE.block("sh", start)}`, { cwd: folder.path, env });
  }

  /** Replaces one pod after the other; `user` has ten requests while both programs run. */
  async function roll(program: string, load: string, user: string): Promise<void> {
    const traffic = startLoad(as(load));
    try {
      for (const [index, pod] of pods.entries()) {
        await traffic.answers(LOAD_ANSWERS);
        await pod.process!.stop("SIGTERM", STOP_GRACE_MS);
        await start(pod, program);
        await untilHealthy(envoy!, pods.length);
        await traffic.answers(LOAD_ANSWERS);
        if (index === 0) expect(await spend(as(user), 11)).toEqual([...Array<number>(10).fill(200), 429]);
      }
    } finally {
      expect(await traffic.stop()).toEqual({});
    }
  }

  async function redisKeys(): Promise<readonly string[]> {
    const [keys] = (await readReplies(redis!.port, [["KEYS", "*"]])) as [string[]];
    return keys.toSorted();
  }
});

/** Starts a program with the environment of the pod and waits until it is healthy. */
async function start(pod: PodPlace, program: string): Promise<void> {
  pod.process = await startProcess({ name: "pod", command: program, env: { PATH: "/usr/bin:/bin", ...pod.env } });
  await pod.process.waitUntilReady(`http://${STACK_HOST}:${pod.env["PORT"]}/healthcheck`, READY_TIMEOUT_MS);
}

/** Listeners on free ports of this machine. */
async function listeners(): Promise<Env> {
  const [http, grpc, debug, metrics] = await reservePorts(4);
  const hosts = { HOST: STACK_HOST, GRPC_HOST: STACK_HOST, DEBUG_HOST: STACK_HOST };
  return {
    ...hosts,
    PORT: String(http),
    GRPC_PORT: String(grpc),
    DEBUG_PORT: String(debug),
    PROMETHEUS_ADDR: `${STACK_HOST}:${metrics}`,
    STATS_FLUSH_INTERVAL: "100ms",
  };
}

/** What dashboards and probes read: the series of rules without values, and the texts of the others. */
async function seen({ env }: PodPlace): Promise<{
  readonly health: string;
  readonly rules: string;
  readonly json: unknown;
  readonly metrics: readonly string[];
}> {
  const at = (port: string, path: string): string => `http://${STACK_HOST}:${env[port]}${path}`;
  const entries = [
    { key: "path", value: "/checkout" },
    { key: "user", value: "dashboard" },
  ];
  const body = JSON.stringify({ domain: "shop", descriptors: [{ entries }], hitsAddend: 11 });
  const answer = await fetch(at("PORT", "/json"), { method: "POST", body });
  const { overallCode } = (await answer.json()) as { readonly overallCode: string };
  const metrics = await eventually("the metrics of the rule", async () => {
    const page = await (await fetch(`http://${env["PROMETHEUS_ADDR"]}/metrics`)).text();
    const series = [...page.matchAll(/^(ratelimit_service_rate_limit_\w+\{[^}]*\}) /gm)].map(([, name = ""]) => name);
    expect(series.join("\n")).toContain("over_limit");
    return series.toSorted();
  });
  return {
    health: await (await fetch(at("PORT", "/healthcheck"))).text(),
    rules: await (await fetch(at("DEBUG_PORT", "/rlconfig"))).text(),
    json: { status: answer.status, overallCode },
    metrics,
  };
}
