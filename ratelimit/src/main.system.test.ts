import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { createServer as createHttpServer, type Server as HttpServer } from "node:http";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { status } from "@grpc/grpc-js";
import {
  RateLimitResponse_Code as Code,
  RateLimitResponse_RateLimit_Unit as Unit,
} from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { rateLimitConfig, ScriptedAdsServer } from "@weir/harness/ads/ads-server";
import { reservePort } from "@weir/harness/processes/reserve-ports";
import type { Program } from "@weir/harness/processes/start-process";
import { until } from "@weir/harness/processes/eventually";
import { type MemcachedServer, startMemcached } from "@weir/harness/servers/memcached";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { callRateLimit, clearOfMidnight, FREE_PORTS, portOf, startService } from "./startup/started-program.suite.ts";

/** How long a test waits for something to happen, in milliseconds. */
const WAIT_MAX_MS = 60_000;

/** Tells at the end what time of the processor the program took. */
const TELL_PROCESSOR_TIME = `
  import { writeSync } from "node:fs";
  process.on("exit", () => {
    const { user, system } = process.cpuUsage();
    writeSync(2, "processor time " + Math.round((user + system) / 1000) + " ms\\n");
  });`;

describe("weir-ratelimit", () => {
  let folder: string;
  const programs: Program[] = [];
  let blocker: Server | undefined;
  let ads: ScriptedAdsServer | undefined;
  let collector: HttpServer | undefined;
  let memcached: MemcachedServer | undefined;

  beforeEach(async () => {
    await clearOfMidnight();
    folder = await mkdtemp(join(tmpdir(), "weir-main-"));
    await mkdir(join(folder, "config"));
  });

  afterEach(async () => {
    for (const program of programs.splice(0)) await program.end();
    blocker?.close();
    ads?.close();
    collector?.close();
    await memcached?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  function run(env: Readonly<Record<string, string>>, ...args: readonly string[]): Program {
    const program = startService(env, args);
    programs.push(program);
    return program;
  }

  function service(env: Readonly<Record<string, string>> = {}): Program {
    return run({
      ...FREE_PORTS,
      BACKEND_TYPE: "memory",
      RUNTIME_ROOT: folder,
      RUNTIME_WATCH_ROOT: "false",
      SHUTDOWN_DRAIN: "0",
      ...env,
    });
  }

  async function writeRules(domain: string, requestsPerDay: number): Promise<void> {
    await replaceRules(
      `domain: ${domain}\ndescriptors: [{key: k, rate_limit: {unit: day, requests_per_unit: ${requestsPerDay}}}]\n`,
    );
  }

  /** Puts a file there in one step, so that no reader sees a part of it. */
  async function replaceRules(text: string): Promise<void> {
    await writeFile(join(folder, "rules.next"), text);
    await rename(join(folder, "rules.next"), join(folder, "config", "rules.yaml"));
  }

  async function ask(port: number, domain: string, value = "v"): Promise<number> {
    const body = JSON.stringify({ domain, descriptors: [{ entries: [{ key: "k", value }] }] });
    const response = await fetch(`http://127.0.0.1:${port}/json`, { method: "POST", body });
    await response.body?.cancel();
    return response.status;
  }

  async function textAt(port: number, path: string): Promise<string> {
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    return `${response.status} ${await response.text()}`;
  }

  it("limits over JSON and gRPC together, and ends with 0 at SIGTERM", async () => {
    await writeRules("d", 3);
    const program = service();
    const port = await portOf(program, "HTTP");
    expect([await ask(port, "d"), await ask(port, "d")]).toEqual([200, 200]);
    const grpc = await portOf(program, "gRPC");
    expect(await callRateLimit(grpc, "d", ["k", "v"])).toMatchObject({
      overallCode: Code.OK,
      statuses: [
        {
          code: Code.OK,
          currentLimit: { requestsPerUnit: 3, unit: Unit.DAY },
          limitRemaining: 0,
          durationUntilReset: { seconds: expect.any(BigInt) },
        },
      ],
    });
    expect(await callRateLimit(grpc, "d", ["k", "v"])).toMatchObject({ overallCode: Code.OVER_LIMIT });
    expect(await ask(port, "d")).toBe(429);
    expect(await ask(port, "d", "another")).toBe(200);
    program.child.kill("SIGTERM");
    expect(await program.code).toBe(0);
  });

  it("takes an edited file, keeps the old rules when it is broken, and says where (case 198)", async () => {
    await writeRules("d", 1);
    const program = service();
    const port = await portOf(program, "HTTP");
    const debug = await portOf(program, "debug");
    expect([await ask(port, "d"), await ask(port, "d")]).toEqual([200, 429]);
    await writeRules("d", 2);
    await expect
      .poll(() => ask(port, "d", "fresh").then(() => textAt(debug, "/rlconfig")), { timeout: WAIT_MAX_MS })
      .toContain("requests_per_unit=2,");
    await replaceRules("domain: d\ndescriptors:\n  - key: k\n    rate_limt: {}\n");
    await program.find(/rules\.yaml: config error, unknown key 'rate_limt'/);
    await program.find(/line=4 column=5/);
    expect(await textAt(debug, "/rlconfig")).toBe(
      "200 d.k: unit=DAY requests_per_unit=2, shadow_mode: false, quota_mode: false\n",
    );
    expect(await textAt(debug, "/stats")).toContain("ratelimit.service.config_load_error: 1\n");
  });

  it("waits for its first configuration with only the debug listener open, and can be ended meanwhile", async () => {
    await replaceRules("domain: ''\n");
    const program = service();
    const debug = await portOf(program, "debug");
    await program.find(/rules\.yaml: config file cannot have empty domain/);
    expect(await textAt(debug, "/healthcheck")).toBe("500 ");
    expect(await textAt(debug, "/rlconfig")).toBe("200 ");
    expect(program.errors()).not.toContain("Listening for gRPC");
    await writeRules("d", 1);
    expect(await ask(await portOf(program, "HTTP"), "d")).toBe(200);
    expect(await textAt(debug, "/healthcheck")).toBe("200 OK");
  });

  it.each(["SIGTERM", "SIGINT"] as const)(
    "ends with 0 at %s while it waits for its first configuration",
    async (signal) => {
      await rm(join(folder, "config"), { recursive: true });
      const program = service();
      await program.find(/Cannot read the rule files/);
      program.child.kill(signal);
      expect(await program.code).toBe(0);
    },
  );

  it("answers UNAVAILABLE without a configuration when it is forced to start (case 155)", async () => {
    await rm(join(folder, "config"), { recursive: true });
    const program = service({ FORCE_START_WITHOUT_INITIAL_CONFIG: "true" });
    expect(await ask(await portOf(program, "HTTP"), "d")).toBe(503);
    await expect(callRateLimit(await portOf(program, "gRPC"), "d", ["k", "v"])).rejects.toMatchObject({
      code: status.UNAVAILABLE,
      details: "no rate limit configuration loaded",
    });
    expect(await textAt(await portOf(program, "HTTP"), "/healthcheck")).toBe("200 OK");
  });

  it("loads over ADS, accepts, rejects with the text, and comes back after the server was away", async () => {
    ads = new ScriptedAdsServer();
    await ads.open();
    ads.publish("v1", [rateLimitConfig("d")]);
    const program = service({
      CONFIG_TYPE: "GRPC_XDS_SOTW",
      CONFIG_GRPC_XDS_SERVER_URL: `127.0.0.1:${ads.port}`,
      CONFIG_GRPC_XDS_SERVER_USE_TLS: "false",
      CONFIG_GRPC_XDS_NODE_ID: "gateway/pod-7",
      XDS_CLIENT_BACKOFF_INITIAL_INTERVAL: "50ms",
      XDS_CLIENT_BACKOFF_MAX_INTERVAL: "200ms",
      CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL: "50ms",
      LOG_LEVEL: "info",
    });
    const port = await portOf(program, "HTTP");
    expect([await ask(port, "d"), await ask(port, "d")]).toEqual([200, 429]);
    ads.publish("v2", [rateLimitConfig("d"), rateLimitConfig("d")]);
    await ads.until(() => ads?.received.at(-1)?.kind === "NACK");
    expect(ads.received.at(-1)).toEqual({
      kind: "NACK",
      version: "v2",
      keeps: "v1",
      reason: "resource-d: duplicate domain 'd' in config file",
    });
    ads.close();
    await program.find(/Lost the configuration server, retrying/);
    expect(await ask(port, "d")).toBe(429);
    await ads.open();
    ads.publish("v3", [rateLimitConfig("other")]);
    await ads.until(() => ads?.received.at(-1)?.version === "v3" && ads.received.at(-1)?.kind === "ACK");
    expect(await ask(port, "other")).toBe(200);
    expect(ads.node?.id).toBe("gateway/pod-7");
    expect(ads.violations).toEqual([]);
  });

  it("turns unhealthy at SIGTERM and stays open for SHUTDOWN_DRAIN (case 177)", async () => {
    await writeRules("d", 5);
    const program = service({ SHUTDOWN_DRAIN: "10s" });
    const port = await portOf(program, "HTTP");
    expect(await textAt(port, "/healthcheck")).toBe("200 OK");
    program.child.kill("SIGTERM");
    await expect.poll(() => textAt(port, "/healthcheck"), { timeout: 8000, interval: 10 }).toBe("500 ");
    expect(await ask(port, "d")).toBe(200);
    expect(await program.code).toBe(0);
  });

  it("reads its files again at SIGHUP and lives on", async () => {
    await writeRules("d", 5);
    const program = service({ RUNTIME_WATCH_ROOT: "true" });
    const debug = await portOf(program, "debug");
    await portOf(program, "HTTP");
    await writeRules("d", 6);
    program.child.kill("SIGHUP");
    await expect.poll(() => textAt(debug, "/rlconfig"), { timeout: WAIT_MAX_MS }).toContain("requests_per_unit=6");
  });

  it("counts in memcached, lets calls pass while it is away, and has written every count when it stops", async () => {
    memcached = await startMemcached();
    await writeRules("cached", 2);
    const program = service({
      BACKEND_TYPE: "memcache",
      MEMCACHE_HOST_PORT: memcached.address,
      ALTSTORE_TIMEOUT: "8s",
      KVSTORE_HEALTH_CHECK_ACTIVE_CONNECTION: "true",
    });
    const [http, debug] = [await portOf(program, "HTTP"), await portOf(program, "debug")];
    expect(await ask(http, "cached", "two words")).toBe(400); // memcached takes no such key.
    expect(await ask(http, "cached", "gone")).toBe(200);
    await memcached.kill();
    for (let hit = 0; hit < 3; hit++) expect(await ask(http, "cached")).toBe(200);
    await until(async () => (await textAt(http, "/healthcheck")).startsWith("500"), WAIT_MAX_MS, "it is unhealthy");
    expect(await textAt(debug, "/stats")).toMatch(/^ratelimit\.service\.backend_failure\.allow: 3$/m);
    await memcached.restart();
    await until(async () => (await textAt(http, "/healthcheck")).startsWith("200"), WAIT_MAX_MS, "it is healthy");
    expect([await ask(http, "cached"), await ask(http, "cached")]).toEqual([200, 200]);
    program.child.kill("SIGTERM");
    expect(await program.code).toBe(0);
    expect(await memcached.get(`cached_k_v_${Math.floor(Date.now() / 86_400_000) * 86_400}`)).toBe("2");
  });

  it("names the nodes that it cannot reach, and exits with 1 when it may not wait longer", async () => {
    const address = `127.0.0.1:${await reservePort()}`;
    const program = service({
      BACKEND_TYPE: "altstore",
      ALTSTORE_HOST_PORT: address,
      KVSTORE_STARTUP_MAX_ELAPSED_TIME: "4s",
    });
    expect(await program.code).toBe(1);
    expect(program.errors()).toContain(`Cannot reach the alternative store ${address}: connection refused`);
  });

  it("case 138: exits with 1 when the SRV record of its nodes cannot be found", async () => {
    const program = service({ BACKEND_TYPE: "memcache", MEMCACHE_SRV: "_memcache._tcp.weir.invalid" });
    expect(await program.code).toBe(1);
    expect(program.errors()).toContain("Unable to fetch servers from SRV _memcache._tcp.weir.invalid");
  });

  it("names every invalid setting in one message, without a stack, and exits with 1", async () => {
    const program = service({ PORT: "http", BACKEND_TYPE: "sqlite", NEAR_LIMIT_RATIO: "2" });
    expect(await program.code).toBe(1);
    expect(program.errors()).toContain('PORT="http": allowed is a port number');
    expect(program.errors()).toContain(
      'BACKEND_TYPE="sqlite": allowed is one of kvstore, redis, altstore, memcache, memory',
    );
    expect(program.errors()).toContain('NEAR_LIMIT_RATIO="2"');
    expect(program.errors()).not.toContain("    at ");
  });

  it.each([
    ["PORT", "HTTP"],
    ["GRPC_PORT", "gRPC"],
    ["DEBUG_PORT", "debug"],
  ])("names %s when that port is in use, and exits with 1", async (setting, what) => {
    const taken = createServer();
    blocker = taken;
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    const address = taken.address();
    const port = typeof address === "object" ? (address?.port ?? 0) : 0;
    await writeRules("d", 1);
    const program = service({ [setting]: String(port) });
    expect(await program.code).toBe(1);
    expect(program.errors()).toContain(
      `Cannot listen for ${what} on 127.0.0.1:${port}: the port is in use; set ${setting} to another one`,
    );
  });

  it("names a certificate file that is missing, and exits with 1", async () => {
    const program = service({
      GRPC_SERVER_USE_TLS: "true",
      GRPC_SERVER_TLS_CERT: "/nowhere/cert.pem",
      GRPC_SERVER_TLS_KEY: "/nowhere/key.pem",
    });
    expect(await program.code).toBe(1);
    expect(program.errors()).toContain("/nowhere/cert.pem");
  });

  it("answers --help with its settings and --version, each in half a second", async () => {
    // Half a second on a machine that does nothing else; what counts is the time of the processor,
    // of which others can take nothing away.
    const help = run(
      { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(TELL_PROCESSOR_TIME)}` },
      "--help",
    );
    expect(await help.code).toBe(0);
    expect(Number(/^processor time (\d+) ms$/m.exec(help.errors())?.[1])).toBeLessThan(1000);
    expect(help.output()).toContain("GRPC_PORT");
    expect(help.output()).toContain("REDIS_URL");
    const version = run({}, "--version");
    expect([await version.code, version.output()]).toEqual([
      0,
      expect.stringMatching(/^weir-ratelimit \d+\.\d+\.\d+\n$/),
    ]);
  });

  it("serves what it counts for scraping when USE_PULLSTATS is true", async () => {
    await writeRules("d", 1);
    const program = service({ USE_PULLSTATS: "true", PULLSTATS_ADDR: "127.0.0.1:0" });
    const port = await portOf(program, "HTTP");
    await ask(port, "d");
    await ask(port, "d");
    const metrics = await textAt(await portOf(program, "statistics"), "/metrics");
    expect(metrics).toContain('ratelimit_service_rate_limit_over_limit{domain="d",key1="k"} 1\n');
    expect(metrics).toContain('ratelimit_service_rate_limit_total_hits{domain="d",key1="k"} 2\n');
  });

  it("exports a span per decision that continues the caller's trace, over both transports (case 167)", async () => {
    await writeRules("d", 5);
    const received: Buffer[] = [];
    collector = createHttpServer((request, response) => {
      request.on("data", (chunk: Buffer) => received.push(chunk));
      request.on("end", () => response.end());
    });
    await new Promise<void>((resolve) => collector?.listen(0, "127.0.0.1", resolve));
    const address = collector.address();
    const program = service({
      TRACING_ENABLED: "true",
      TRACING_SERVICE_NAME: "weir-under-test",
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${typeof address === "object" ? (address?.port ?? 0) : 0}`,
    });
    const port = await portOf(program, "HTTP");
    const traceId = "0af7651916cd43dd8448eb211c80319c";
    const body = JSON.stringify({ domain: "d", descriptors: [{ entries: [{ key: "k", value: "traced" }] }] });
    const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-01` };
    expect((await fetch(`http://127.0.0.1:${port}/json`, { method: "POST", body, headers })).status).toBe(200);
    await callRateLimit(await portOf(program, "gRPC"), "d", ["k", "dialled"]);
    program.child.kill("SIGTERM");
    expect(await program.code).toBe(0);
    const sent = Buffer.concat(received);
    expect(sent.includes(Buffer.from(traceId, "hex"))).toBe(true);
    for (const text of ["weir-under-test", "ShouldRateLimit Execution", "[k=traced]", "[k=dialled]"])
      expect(sent.includes(text)).toBe(true);
  });
});
