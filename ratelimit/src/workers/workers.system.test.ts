// The service with workers as processes over a real Redis: its answers, how connections are
// distributed, what a lost worker costs, statistics, configuration, certificates, start and stop.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "node:tls";

import { createAuthority } from "@weir/certificates/authority";
import { credentials } from "@grpc/grpc-js";
import { rateLimitConfig, ScriptedAdsServer } from "@weir/harness/ads/ads-server";
import { eventually } from "@weir/harness/processes/eventually";
import { isRunning } from "@weir/harness/processes/processes";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { clearOfMidnight } from "../startup/started-program.suite.ts";
import { type TestClient, WorkersFixture, type WorkersService } from "./workers.suite.ts";

/** Starting processes from their source takes seconds. */
const TIMEOUT_MS = 120_000;

const RULES = `domain: d
descriptors:
  - { key: tight, rate_limit: { unit: day, requests_per_unit: 7 } }
  - { key: user, rate_limit: { unit: day, requests_per_unit: 1000000 } }
  - { key: detailed, detailed_metric: true, rate_limit: { unit: day, requests_per_unit: 100 } }
`;

let fixture: WorkersFixture;

beforeAll(async () => {
  await clearOfMidnight();
  fixture = await WorkersFixture.open(RULES);
}, TIMEOUT_MS);

afterAll(async () => {
  await fixture.close();
}, TIMEOUT_MS);

describe("weir-ratelimit with three workers", { timeout: TIMEOUT_MS }, () => {
  let service: WorkersService;
  let clients: readonly TestClient[];

  beforeAll(async () => {
    service = await fixture.start({ WORKERS: "3", LOCAL_CACHE_SIZE_IN_BYTES: "100000" });
    clients = Array.from({ length: 9 }, () => fixture.client(service.grpcAddress));
    for (const client of clients) await client.ask("user", "first");
  }, TIMEOUT_MS);

  it("distributes connections evenly", async () => {
    await eventually("even connections", () => expect(service.connections()).toEqual([3, 3, 3]));
  });

  it("answers as one process does, whichever worker decides", async () => {
    const single = await fixture.start({ CACHE_KEY_PREFIX: "single:" });
    const client = fixture.client(single.grpcAddress);
    for (let call = 0; call < 30; call++) {
      const [key, value] = [["tight", "user", "detailed", "unknown"][call % 4] ?? "", `v${call % 3}`];
      const expected = await client.ask(key, value);
      const answer = await (clients[call % clients.length] ?? client).ask(key, value);
      for (const { statuses } of [expected, answer]) for (const status of statuses) delete status.durationUntilReset;
      expect(answer).toEqual(expected);
    }
    await single.process.end("SIGTERM");
  });

  it("shows the sum of all workers as its statistics", async () => {
    const before = await service.statistic("ratelimit.service.rate_limit.d.user.total_hits");
    const served = await service.statistic("ratelimit_server.ShouldRateLimit.total_requests");
    for (let round = 0; round < 5; round++) {
      for (const client of clients) {
        await client.ask("user", "sum");
        await client.ask("detailed", "some value");
      }
    }
    // On the first look: the page asks the workers.
    expect(await service.statistic("ratelimit.service.rate_limit.d.user.total_hits")).toBe(before + 45);
    expect(await service.statistic("ratelimit.service.rate_limit.d.detailed_some value.total_hits")).toBe(45);
    expect(await service.statistic("ratelimit_server.ShouldRateLimit.total_requests")).toBe(served + 90);
    expect(await service.statistic("ratelimit.http2.open_connections")).toBe(9);
    expect(await service.statistic("ratelimit.workers.running")).toBe(3);
  });

  it("keeps serving when a worker is killed under load, replaces it, and makes connections even again", async () => {
    let isOver = false;
    const results = clients.map(async (client) => {
      const outcome = { answered: 0, failed: 0 };
      while (!isOver) {
        await client.ask("user", "load").then(
          () => (outcome.answered += 1),
          () => (outcome.failed += 1),
        );
      }
      return outcome;
    });
    const [victim = 0] = service.workers();
    process.kill(victim, "SIGKILL");
    await eventually("the replacement", async () => {
      expect(await service.statistic("ratelimit.workers.restarts")).toBe(1);
      expect(await service.statistic("ratelimit.workers.running")).toBe(3);
    });
    expect(service.workers()).not.toContain(victim);
    await eventually("even connections", () => expect(service.connections()).toEqual([3, 3, 3]));
    isOver = true;
    const outcomes = await Promise.all(results);
    // The clients of the others noticed nothing; those of the lost one connected again.
    expect(outcomes.filter(({ failed }) => failed === 0).length).toBeGreaterThanOrEqual(6);
    expect(outcomes.every(({ answered }) => answered > 0)).toBe(true);
    expect(service.process.errors()).toContain("A worker ended, starting another");
  });

  it("ends its workers when it is killed itself", async () => {
    const workers = service.workers();
    expect(workers).toHaveLength(3);
    await service.process.end("SIGKILL");
    await eventually("the end of the workers", () => expect(workers.filter(isRunning)).toEqual([]));
  });
});

describe("weir-ratelimit with two workers", { timeout: TIMEOUT_MS }, () => {
  it("serves with both when it is the built program, and stops", async () => {
    const service = await fixture.start({ WORKERS: "2" }, { isBuilt: true });
    const clients = [fixture.client(service.grpcAddress), fixture.client(service.grpcAddress)];
    for (const client of clients) expect((await client.ask("user", "built")).overallCode).toBe(1);
    await eventually("even connections", () => expect(service.connections()).toEqual([1, 1]));
    expect(await service.statistic("ratelimit.service.rate_limit.d.user.total_hits")).toBe(2);
    expect(await service.process.end("SIGTERM")).toBe(0);
  });

  it("drains: running calls are answered after SIGTERM, then every process ends", async () => {
    const service = await fixture.start({ WORKERS: "2", KVSTORE_COMMAND_TIMEOUT: "30s" });
    const clients = [fixture.client(service.grpcAddress), fixture.client(service.grpcAddress)];
    for (const client of clients) await client.ask("user", "drain");
    await eventually("even connections", () => expect(service.connections()).toEqual([1, 1]));
    const workers = service.workers();
    await fixture.redis.pause();
    const calls = clients.map((client) => client.ask("user", "drain"));
    // Hits are counted before the store is asked.
    const arrived = async (): Promise<void> =>
      expect(await service.statistic("ratelimit.service.rate_limit.d.user.total_hits")).toBe(4);
    await eventually("the calls", arrived);
    const stopped = service.process.end("SIGTERM");
    await eventually("the drain", () => expect(service.process.errors()).toContain("Closing the listeners"));
    fixture.redis.resume();
    expect((await Promise.all(calls)).map(({ overallCode }) => overallCode)).toEqual([1, 1]);
    expect(await stopped).toBe(0);
    expect(workers.filter(isRunning)).toEqual([]);
  });

  it("is one client of the configuration server, and ACKs when every worker has loaded", async () => {
    const server = new ScriptedAdsServer();
    await server.open();
    server.publish("v1", [rateLimitConfig("a")]);
    const service = await fixture.start({
      WORKERS: "2",
      CONFIG_TYPE: "GRPC_XDS_SOTW",
      CONFIG_GRPC_XDS_SERVER_USE_TLS: "false",
      CONFIG_GRPC_XDS_SERVER_URL: `127.0.0.1:${server.port}`,
    });
    try {
      await server.until(() => server.received.some((request) => request.kind === "ACK"));
      const clients = [fixture.client(service.grpcAddress), fixture.client(service.grpcAddress)];
      for (const client of clients) expect((await client.ask("k", "x", "a")).statuses[0]?.currentLimit).toBeDefined();
      const [stuck = 0] = service.workers();
      process.kill(stuck, "SIGSTOP");
      server.publish("v2", [rateLimitConfig("a"), rateLimitConfig("b")]);
      await eventually("v2 in the service", async () => expect(await service.page("/rlconfig")).toContain("b.k"));
      // The other worker decides over v2 while one has not loaded it.
      const codes = async (): Promise<number> => {
        const probe = fixture.client(service.grpcAddress);
        const { statuses } = await probe.ask("k", "y", "b");
        return statuses.filter(({ currentLimit }) => currentLimit !== undefined).length;
      };
      expect(service.connections()).toHaveLength(2);
      expect(server.received.filter((request) => request.version === "v2")).toEqual([]);
      process.kill(stuck, "SIGCONT");
      await server.until(() => server.received.some(({ kind, version }) => kind === "ACK" && version === "v2"));
      expect(await codes()).toBe(1);
      expect(server.received.filter(({ kind }) => kind === "subscribed")).toHaveLength(1);
      expect(server.violations).toEqual([]);
      // A worker that is started anew has the rules before it has connections.
      process.kill(stuck, "SIGKILL");
      await eventually("the replacement", async () => {
        expect(await service.statistic("ratelimit.workers.restarts")).toBe(1);
        expect(await service.statistic("ratelimit.workers.running")).toBe(2);
      });
      for (let probe = 0; probe < 4; probe++) expect(await codes()).toBe(1);
    } finally {
      await service.process.end("SIGTERM");
      server.close();
    }
  });

  it("serves TLS with certificates that reload in every worker", async () => {
    const now = new Date();
    const authority = await createAuthority({ commonName: "test", now, validDays: 1 });
    const [certPath, keyPath] = [join(fixture.redis.folder, "server.pem"), join(fixture.redis.folder, "server.key")];
    const issue = async (commonName: string): Promise<void> => {
      const pair = await authority.issue({ commonName, dnsNames: ["localhost"], usage: "server", now, validDays: 1 });
      await writeFile(keyPath, pair.keyPem);
      await writeFile(certPath, pair.certPem);
    };
    await issue("first");
    const service = await fixture.start({
      WORKERS: "2",
      GRPC_SERVER_USE_TLS: "true",
      GRPC_SERVER_TLS_CERT: certPath,
      GRPC_SERVER_TLS_KEY: keyPath,
    });
    const trusted = credentials.createSsl(Buffer.from(authority.certPem));
    const names = async (): Promise<readonly string[]> => {
      const sockets = Array.from({ length: 2 }, () =>
        connect({
          port: service.grpcPort,
          host: "127.0.0.1",
          ca: authority.certPem,
          servername: "localhost",
          ALPNProtocols: ["h2"],
        }),
      );
      await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once("secureConnect", resolve))));
      const found = sockets.map((socket) => String(socket.getPeerCertificate().subject.CN));
      for (const socket of sockets) socket.destroy();
      return found;
    };
    for (let call = 0; call < 3; call++)
      expect((await fixture.client(service.grpcAddress, trusted).ask("user", "tls")).overallCode).toBe(1);
    expect(await names()).toEqual(["first", "first"]);
    await issue("second");
    process.kill(service.process.pid, "SIGHUP");
    await eventually("the new certificate", async () => expect(await names()).toEqual(["second", "second"]));
    expect(await readFile(certPath, "utf8")).toContain("CERTIFICATE");
    await service.process.end("SIGTERM");
  });

  it("serves a unix socket", async () => {
    const path = join(fixture.redis.folder, "grpc.sock");
    const service = await fixture.start({ WORKERS: "2", GRPC_UDS: path });
    for (let call = 0; call < 3; call++)
      expect((await fixture.client(`unix:${path}`).ask("user", "unix")).overallCode).toBe(1);
    expect(await service.statistic("ratelimit.http2.connections")).toBe(3);
    expect(await service.process.end("SIGTERM")).toBe(0);
  });
});
