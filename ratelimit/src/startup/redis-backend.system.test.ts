// The service as a process over real key-value stores: waiting for them at the start, health, where
// counts are kept, and that no password is logged.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { reservePort } from "@weir/harness/processes/reserve-ports";
import type { Program } from "@weir/harness/processes/start-process";
import { Redis } from "ioredis";
import { until } from "@weir/harness/processes/eventually";
import { startRedis } from "@weir/harness/servers/redis";
import type { StoreServer } from "@weir/harness/servers/store-server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { clearOfMidnight, FREE_PORTS, portOf, startService } from "./started-program.suite.ts";

/** How long a test waits for something to happen, in milliseconds. */
const WAIT_MAX_MS = 60_000;

const RULES = `domain: d
descriptors:
  - {key: day, rate_limit: {unit: day, requests_per_unit: 3}}
  - {key: second, rate_limit: {unit: second, requests_per_unit: 1000}}
`;

describe("weir-ratelimit over a key-value store", () => {
  let folder: string;
  let program: Program | undefined;
  const servers: StoreServer[] = [];

  beforeEach(async () => {
    await clearOfMidnight();
    folder = await mkdtemp(join(tmpdir(), "weir-redis-"));
    await mkdir(join(folder, "config"));
    await writeFile(join(folder, "config", "rules.yaml"), RULES);
  });

  afterEach(async () => {
    await program?.end();
    for (const server of servers.splice(0)) await server.stop();
    await rm(folder, { recursive: true, force: true });
  });

  /** Starts the service; settings of the store are added. */
  function start(env: Readonly<Record<string, string>>): Program {
    const common = {
      BACKEND_TYPE: "redis",
      RUNTIME_ROOT: folder,
      SHUTDOWN_DRAIN: "0",
      REDIS_SOCKET_TYPE: "tcp",
      KVSTORE_COMMAND_TIMEOUT: "8s",
    };
    program = startService({ ...FREE_PORTS, ...common, ...env });
    return program;
  }

  async function startServer(args: readonly string[] = []): Promise<StoreServer> {
    const server = await startRedis(undefined, { flags: args });
    servers.push(server);
    return server;
  }

  /** The status of a rate limit request over HTTP. */
  async function ask(httpPort: number, key: string): Promise<number> {
    const body = JSON.stringify({ domain: "d", descriptors: [{ entries: [{ key, value: "v" }] }] });
    const response = await fetch(`http://127.0.0.1:${httpPort}/json`, {
      method: "POST",
      body,
      signal: AbortSignal.timeout(WAIT_MAX_MS),
    });
    await response.arrayBuffer();
    return response.status;
  }

  async function health(ofPort: number): Promise<number> {
    return (await fetch(`http://127.0.0.1:${ofPort}/healthcheck`)).status;
  }

  it.each([
    { type: "SINGLE", url: (place: string) => place },
    { type: "Sentinel", url: (place: string) => `mymaster,${place}` },
    { type: "cluster", url: (place: string) => place },
  ])(
    "case 119: exits with 1 when a store of the type $type refuses connections for longer than it may wait",
    async ({ type, url }) => {
      const place = `127.0.0.1:${await reservePort()}`;
      start({
        REDIS_TYPE: type,
        REDIS_URL: url(place),
        REDIS_STARTUP_INITIAL_INTERVAL: "20ms",
        REDIS_STARTUP_MAX_ELAPSED_TIME: "4s",
      });
      expect(await program?.code).toBe(1);
      expect(program?.errors()).toContain(`Timed out waiting for the counter store ${url(place)} after 4000 ms: `);
      expect(program?.errors()).toContain("connection refused");
    },
  );

  it("waits for its store with only the debug listener open, and serves when the store is there", async () => {
    const server = await startServer();
    await server.kill();
    start({ REDIS_URL: server.address, REDIS_STARTUP_INITIAL_INTERVAL: "20ms", REDIS_STARTUP_MAX_INTERVAL: "50ms" });
    const debug = await portOf(program!, "debug");
    await until(
      () => program!.errors().includes("Cannot reach the counter store, trying again"),
      WAIT_MAX_MS,
      "it tries",
    );
    expect(await health(debug)).toBe(500);
    expect(program?.errors()).not.toMatch(/Listening for (?:gRPC|HTTP)/);
    await server.restart();
    expect(await ask(await portOf(program!, "HTTP"), "day")).toBe(200);
    expect(await health(debug)).toBe(200);
  });

  it.each([
    { signal: "SIGTERM" as const, type: "single", prefix: "" },
    { signal: "SIGINT" as const, type: "single", prefix: "" },
    { signal: "SIGTERM" as const, type: "sentinel", prefix: "mymaster," },
    { signal: "SIGTERM" as const, type: "cluster", prefix: "" },
  ])(
    "case 119: ends with 0 at $signal while it waits for a store of the type $type",
    async ({ signal, type, prefix }) => {
      start({ REDIS_TYPE: type, REDIS_URL: `${prefix}127.0.0.1:${await reservePort()}` });
      await until(() => program!.errors().includes("trying again"), WAIT_MAX_MS, "it tries");
      expect(await program?.end(signal)).toBe(0);
    },
  );

  it.each([
    { type: "single", url: (place: string) => `redis://foo:hunter@2@${place}` },
    { type: "sentinel", url: (place: string) => `mymaster,redis://foo:hunter@2@${place},redis://:hunter2@${place}` },
    { type: "cluster", url: (place: string) => `redis://foo:hunter@2@${place},redis://foo:hunter@2@${place}` },
  ])(
    "case 127: logs no password when a store of the type $type is unreachable or rejects it",
    async ({ type, url }) => {
      const server = await startServer(["--requirepass", "other"]);
      const settings = {
        REDIS_TYPE: type,
        REDIS_STARTUP_INITIAL_INTERVAL: "20ms",
        REDIS_STARTUP_MAX_ELAPSED_TIME: "3s",
        LOG_LEVEL: "debug",
      };
      for (const address of [server.address, `127.0.0.1:${await reservePort()}`]) {
        start({ ...settings, REDIS_URL: url(address), REDIS_AUTH: "", REDIS_SENTINEL_AUTH: "" });
        expect(await program?.code).toBe(1);
        expect(program?.errors()).toContain(address);
        expect(program?.errors()).not.toMatch(/hunter|2@/);
      }
    },
  );

  it("follows the connections with its health when KVSTORE_HEALTH_CHECK_ACTIVE_CONNECTION is on, and answers by its failure mode meanwhile", async () => {
    const server = await startServer();
    start({
      REDIS_URL: server.address,
      REDIS_HEALTH_CHECK_ACTIVE_CONNECTION: "true",
      BACKEND_FAILURE_MODE: "deny",
      REDIS_POOL_SIZE: "3",
    });
    const http = await portOf(program!, "HTTP");
    expect([await health(http), await ask(http, "day")]).toEqual([200, 200]);
    await server.kill();
    await until(async () => (await health(http)) === 500, WAIT_MAX_MS, "it is unhealthy");
    expect(await ask(http, "day")).toBe(429);
    await server.restart();
    await until(async () => (await health(http)) === 200, WAIT_MAX_MS, "it is healthy");
    await until(async () => (await ask(http, "day")) === 200, WAIT_MAX_MS, "it counts");
  });

  it("stays healthy when its store is away and KVSTORE_HEALTH_CHECK_ACTIVE_CONNECTION is off", async () => {
    const server = await startServer();
    start({ REDIS_URL: server.address });
    const http = await portOf(program!, "HTTP");
    await server.kill();
    await until(async () => (await ask(http, "day")) === 503, WAIT_MAX_MS, "calls fail");
    expect(await health(http)).toBe(200);
  });

  it("refuses limits that need scripts where its user may not run any, and counts them with LIMIT_SCRIPTS=off", async () => {
    const server = await startServer();
    const client = new Redis(server.port, "127.0.0.1");
    await client.acl("SETUSER", "plain", "on", ">secret", "~*", "+@all", "-@scripting");
    client.disconnect();
    const bucket =
      "domain: d\ndescriptors:\n  - {key: k, rate_limit: {unit: day, requests_per_unit: 2, algorithm: token_bucket}}\n";
    await writeFile(join(folder, "config", "rules.yaml"), bucket);
    const env = { REDIS_URL: server.address, REDIS_AUTH: "plain:secret" };
    await start(env).find(/rules\.yaml: .*Redis refuses the script .*NOPERM.*, or set LIMIT_SCRIPTS=off to count/);
    await program?.end();
    const http = await portOf(start({ ...env, LIMIT_SCRIPTS: "off" }), "HTTP");
    expect([await ask(http, "k"), await ask(http, "k"), await ask(http, "k")]).toEqual([200, 200, 429]);
  });

  it("keeps counts under the prefix, those of seconds on a server of their own over a unix socket", async () => {
    const [main, perSecond] = [await startServer(), await startServer(["--requirepass", "sesame"])];
    start({
      REDIS_URL: main.address,
      REDIS_PERSECOND: "true",
      REDIS_PERSECOND_SOCKET_TYPE: "unix",
      REDIS_PERSECOND_URL: perSecond.socketPath,
      REDIS_PERSECOND_AUTH: "sesame",
      REDIS_PIPELINE_WINDOW: "150us",
      CACHE_KEY_PREFIX: "prefix:",
    });
    const http = await portOf(program!, "HTTP");
    expect([await ask(http, "day"), await ask(http, "day"), await ask(http, "second")]).toEqual([200, 200, 200]);
    const clients = [
      new Redis(main.port, "127.0.0.1"),
      new Redis({ port: perSecond.port, host: "127.0.0.1", password: "sesame" }),
    ];
    try {
      const keys = await Promise.all(clients.map((client) => client.keys("*")));
      expect(keys.map((found) => found.map((key) => key.replace(/_\d+$/, "")))).toEqual([
        ["prefix:d_day_v"],
        ["prefix:d_second_v"],
      ]);
      expect(await clients[0]?.get(keys[0]?.[0] ?? "")).toBe("2");
    } finally {
      for (const client of clients) client.disconnect();
    }
  });
});
