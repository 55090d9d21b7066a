// The service as a process over real key-value stores: waiting for them at the start, health, where
// counts are kept, and that no password is logged.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { reservePort } from "@weir/harness/processes/reserve-ports";
import { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { type RedisServer, startRedisServer, until } from "../counters/kvstore/redis-server.suite.ts";
import { clearOfMidnight, FREE_PORTS } from "./started-program.suite.ts";

/** How long a test waits for something to happen, in milliseconds. */
const WAIT_MAX_MS = 60_000;

const RULES = `domain: d
descriptors:
  - {key: day, rate_limit: {unit: day, requests_per_unit: 3}}
  - {key: second, rate_limit: {unit: second, requests_per_unit: 1000}}
`;

describe("weir-ratelimit over a key-value store", () => {
  let folder: string;
  let child: ChildProcess | undefined;
  let stderr = "";
  let exited: Promise<number | string | null>;
  const servers: RedisServer[] = [];

  beforeEach(async () => {
    await clearOfMidnight();
    folder = await mkdtemp(join(tmpdir(), "weir-kvstore-"));
    await mkdir(join(folder, "config"));
    await writeFile(join(folder, "config", "rules.yaml"), RULES);
  });

  afterEach(async () => {
    child?.kill("SIGKILL");
    if (child !== undefined) await exited;
    child = undefined;
    for (const server of servers.splice(0)) await server.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** Starts the service; settings of the store are added. */
  function start(env: Readonly<Record<string, string>>): ChildProcess {
    const common = {
      BACKEND_TYPE: "redis",
      RUNTIME_ROOT: folder,
      SHUTDOWN_DRAIN: "0",
      REDIS_SOCKET_TYPE: "tcp",
      KVSTORE_COMMAND_TIMEOUT: "8s",
    };
    const program = spawn(
      process.execPath,
      ["--conditions=source", fileURLToPath(new URL("../main.ts", import.meta.url))],
      {
        env: { PATH: process.env["PATH"] ?? "", ...FREE_PORTS, ...common, ...env },
        stdio: ["ignore", "ignore", "pipe"],
      },
    );
    child = program;
    stderr = "";
    program.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
    exited = new Promise((resolve) => program.on("close", (code, signal) => resolve(code ?? signal)));
    return program;
  }

  async function startServer(args: readonly string[] = []): Promise<RedisServer> {
    const server = await startRedisServer({ args });
    servers.push(server);
    return server;
  }

  async function port(what: string): Promise<number> {
    const pattern = new RegExp(`Listening for ${what} on [^" ]*:(\\d+)`);
    await until(() => pattern.test(stderr) || child?.exitCode !== null, WAIT_MAX_MS, `it listens for ${what}`);
    const found = pattern.exec(stderr);
    if (found === null) throw new Error(`It does not listen for ${what}:\n${stderr}`);
    return Number(found[1]);
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
      expect(await exited).toBe(1);
      expect(stderr).toContain(`Timed out waiting for the counter store ${url(place)} after 4000 ms: `);
      expect(stderr).toContain("connection refused");
    },
  );

  it("waits for its store with only the debug listener open, and serves when the store is there", async () => {
    const server = await startServer();
    await server.kill();
    start({ REDIS_URL: server.url, REDIS_STARTUP_INITIAL_INTERVAL: "20ms", REDIS_STARTUP_MAX_INTERVAL: "50ms" });
    const debug = await port("debug");
    await until(() => stderr.includes("Cannot reach the counter store, trying again"), WAIT_MAX_MS, "it tries");
    expect(await health(debug)).toBe(500);
    expect(stderr).not.toMatch(/Listening for (?:gRPC|HTTP)/);
    await server.start();
    expect(await ask(await port("HTTP"), "day")).toBe(200);
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
      const program = start({ REDIS_TYPE: type, REDIS_URL: `${prefix}127.0.0.1:${await reservePort()}` });
      await until(() => stderr.includes("trying again"), WAIT_MAX_MS, "it tries");
      program.kill(signal);
      expect(await exited).toBe(0);
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
      for (const address of [server.url, `127.0.0.1:${await reservePort()}`]) {
        start({ ...settings, REDIS_URL: url(address), REDIS_AUTH: "", REDIS_SENTINEL_AUTH: "" });
        expect(await exited).toBe(1);
        expect(stderr).toContain(address);
        expect(stderr).not.toMatch(/hunter|2@/);
      }
    },
  );

  it("follows the connections with its health when KVSTORE_HEALTH_CHECK_ACTIVE_CONNECTION is on, and answers by its failure mode meanwhile", async () => {
    const server = await startServer();
    start({
      REDIS_URL: server.url,
      REDIS_HEALTH_CHECK_ACTIVE_CONNECTION: "true",
      BACKEND_FAILURE_MODE: "deny",
      REDIS_POOL_SIZE: "3",
    });
    const http = await port("HTTP");
    expect([await health(http), await ask(http, "day")]).toEqual([200, 200]);
    await server.kill();
    await until(async () => (await health(http)) === 500, WAIT_MAX_MS, "it is unhealthy");
    expect(await ask(http, "day")).toBe(429);
    await server.start();
    await until(async () => (await health(http)) === 200, WAIT_MAX_MS, "it is healthy");
    await until(async () => (await ask(http, "day")) === 200, WAIT_MAX_MS, "it counts");
  });

  it("stays healthy when its store is away and KVSTORE_HEALTH_CHECK_ACTIVE_CONNECTION is off", async () => {
    const server = await startServer();
    start({ REDIS_URL: server.url });
    const http = await port("HTTP");
    await server.kill();
    await until(async () => (await ask(http, "day")) === 503, WAIT_MAX_MS, "calls fail");
    expect(await health(http)).toBe(200);
  });

  it("keeps counts under the prefix, those of seconds on a server of their own over a unix socket", async () => {
    const [main, perSecond] = [await startServer(), await startServer(["--requirepass", "sesame"])];
    start({
      REDIS_URL: main.url,
      REDIS_PERSECOND: "true",
      REDIS_PERSECOND_SOCKET_TYPE: "unix",
      REDIS_PERSECOND_URL: perSecond.socketPath,
      REDIS_PERSECOND_AUTH: "sesame",
      REDIS_PIPELINE_WINDOW: "150us",
      CACHE_KEY_PREFIX: "prefix:",
    });
    const http = await port("HTTP");
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
