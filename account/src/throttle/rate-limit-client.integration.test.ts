import { callerGroup } from "@weir/common/callers/caller-group";
import { readFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { once } from "node:events";
import { ServerCredentials } from "@grpc/grpc-js";
import {
  RateLimitResponse_Code as Code,
  RateLimitResponse_RateLimit_Unit as Unit,
} from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { eventually } from "@weir/harness/processes/eventually";
import { writeCertificates } from "@weir/harness/servers/certificate-files";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { RateLimitServer, RESET_SECONDS } from "@weir/harness/servers/rate-limit-server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { addressCheck, loginCheck } from "./limits.ts";
import { RateLimitClient, type RateLimitClientOptions } from "./rate-limit-client.ts";

/** Half a second into a minute, two minutes before the end of an hour. */
const NOW_MS = Date.UTC(2026, 0, 1, 12, 58, 0, 500);

const LOGIN = loginCheck({ group: callerGroup(), account: "aaaa", accountAndAddress: "bbbb", device: undefined });
const ADDRESS = addressCheck("login", callerGroup("203.0.113.7"));

let server: RateLimitServer;
let client: RateLimitClient | undefined;

beforeEach(async () => {
  server = new RateLimitServer({ "route_login.account_ip": 1, "route_login.account": 1, "route_login.ip": 100 });
  await server.start();
});

afterEach(() => {
  client?.close();
  server.stop();
});

function connect(options: Partial<RateLimitClientOptions> = {}): RateLimitClient {
  const defaults = { target: server.target, domain: "account", timeoutMs: 10_000, tls: undefined };
  client = new RateLimitClient({ clock: () => NOW_MS }, { ...defaults, ...options });
  client.connect();
  return client;
}

describe("RateLimitClient", () => {
  it("sends one descriptor per entry, each below its route", async () => {
    await connect({ domain: "people" }).ask(LOGIN);
    expect(server.requests).toEqual(["people: (route, login)(account_ip, bbbb) (route, login)(account, aaaa)"]);
  });

  it("returns the decision, and the seconds until the window ends", async () => {
    const asking = connect();
    expect(await asking.ask(LOGIN)).toEqual({ decision: { isAllowed: true, headers: [] }, unknownKeys: [] });
    expect((await asking.ask(LOGIN)).decision).toEqual({
      isAllowed: false,
      key: "account_ip",
      retryAfterSeconds: RESET_SECONDS,
      headers: [],
    });
  });

  it.each([
    { what: "of the descriptor with the longest wait", resets: [5n, 1800n], expected: ["account", 1800] },
    { what: "of the only one that is over", resets: [5n, undefined], expected: ["account_ip", 5] },
    { what: "of a second at least", resets: [0n, undefined], expected: ["account_ip", 1] },
  ] as const)("returns the wait $what", async ({ resets, expected }) => {
    server.behaviour = {
      overallCode: Code.OVER_LIMIT,
      statuses: resets.map((seconds) => ({
        code: seconds === undefined ? Code.OK : Code.OVER_LIMIT,
        durationUntilReset: { seconds: seconds ?? 3000n, nanos: 0 },
      })),
    };
    const { decision } = await connect().ask(LOGIN);
    expect(decision).toMatchObject({ key: expected[0], retryAfterSeconds: expected[1] });
  });

  it.each([
    { unit: Unit.MINUTE, retryAfterSeconds: 60 },
    { unit: Unit.HOUR, retryAfterSeconds: 120 },
    { unit: Unit.UNKNOWN, retryAfterSeconds: 1 },
  ])(
    "waits until the end of the unit $unit when the server does not say how long",
    async ({ unit, retryAfterSeconds }) => {
      server.behaviour = {
        overallCode: Code.OVER_LIMIT,
        statuses: [{ code: Code.OVER_LIMIT, currentLimit: { requestsPerUnit: 1, unit } }],
      };
      expect((await connect().ask(ADDRESS)).decision).toMatchObject({ retryAfterSeconds });
    },
  );

  it("passes on headers of limits only", async () => {
    server.behaviour = {
      overallCode: Code.OK,
      statuses: [{ code: Code.OK }],
      responseHeadersToAdd: [
        { key: "RateLimit-Remaining", value: "4" },
        { key: "x-ratelimit-limit", value: "5, 5;w=60" },
        { key: "Set-Cookie", value: "__Host-accessToken=x" },
        { key: "ratelimit-reset", value: "1\r\nX: y" },
      ],
    };
    expect((await connect().ask(ADDRESS)).decision.headers).toEqual([
      ["RateLimit-Remaining", "4"],
      ["x-ratelimit-limit", "5, 5;w=60"],
    ]);
  });

  it("takes `unlimited: true` for a limit", async () => {
    server.behaviour = { overallCode: Code.OK, statuses: [{ code: Code.OK, limitRemaining: 0xffff_ffff }] };
    expect((await connect().ask(ADDRESS)).unknownKeys).toEqual([]);
  });

  it("names keys for which the server has no limit", async () => {
    expect((await connect().ask(addressCheck("register", callerGroup("203.0.113.7")))).unknownKeys).toEqual([
      "ip",
      "ip_day",
    ]);
  });

  it.each([
    { what: "no decision", behaviour: { statuses: [{ code: Code.OK }] } },
    { what: "fewer decisions than descriptors", behaviour: { overallCode: Code.OK, statuses: [] } },
  ])("rejects $what", async ({ behaviour }) => {
    server.behaviour = behaviour;
    await expect(connect().ask(ADDRESS)).rejects.toMatchObject({ reason: "invalid" });
  });

  it("rejects an error, silence, a refused connection, and calls after close", async () => {
    server.behaviour = "internal";
    await expect(connect().ask(ADDRESS)).rejects.toMatchObject({
      reason: "error",
      message: "Cannot ask the rate limit service: 13 INTERNAL: a fault",
    });
    client?.close();
    await expect(client?.ask(ADDRESS)).rejects.toMatchObject({ reason: "unavailable" });
    server.behaviour = "silent";
    await expect(connect({ timeoutMs: 50 }).ask(ADDRESS)).rejects.toMatchObject({ reason: "deadline" });
    client?.close();
    server.stop();
    await expect(connect().ask(ADDRESS)).rejects.toMatchObject({ reason: "unavailable" });
  });

  it("opens a new connection when it is told to, so that a dead one is left", async () => {
    const sockets: Socket[] = [];
    const blackHole = createServer((socket) => void sockets.push(socket.resume())).listen(0, "127.0.0.1");
    await once(blackHole, "listening");
    const address = blackHole.address();
    const asking = connect({ target: `127.0.0.1:${typeof address === "object" ? address?.port : ""}`, timeoutMs: 50 });
    await expect(asking.ask(ADDRESS)).rejects.toMatchObject({ reason: "deadline" });
    asking.connect();
    await eventually("a second connection", () => expect(sockets.length).toBeGreaterThan(1));
    for (const socket of sockets) socket.destroy();
    blackHole.close();
  });

  it("finds a server that comes back", async () => {
    const asking = connect();
    await asking.ask(ADDRESS);
    const { port } = server;
    server.stop();
    await eventually("the loss to be noticed", () => expect(asking.ask(ADDRESS)).rejects.toThrow());
    server = new RateLimitServer();
    await server.start(`127.0.0.1:${port}`);
    await eventually("an answer", () => asking.ask(ADDRESS));
  });

  it("calls over mutual TLS, and only a server of its authority", async () => {
    const folder = makeTemporaryFolder();
    try {
      const { ca, serverCert, serverKey, clientCert, clientKey } = await writeCertificates(folder.path);
      server.stop();
      server = new RateLimitServer({ "route_login.ip": 1 });
      const pair = { cert_chain: readFileSync(serverCert), private_key: readFileSync(serverKey) };
      await server.start("127.0.0.1:0", ServerCredentials.createSsl(readFileSync(ca), [pair], true));
      const paths = { caPath: ca, certPath: clientCert, keyPath: clientKey };
      await connect({ tls: { paths, serverName: undefined } }).ask(ADDRESS);
      client?.close();
      const strangers = connect({ tls: { paths: {}, serverName: undefined } });
      await expect(strangers.ask(ADDRESS)).rejects.toMatchObject({ reason: "unavailable" });
      client?.close();
      const misnamed = connect({ tls: { paths, serverName: "other.example" } });
      await expect(misnamed.ask(ADDRESS)).rejects.toMatchObject({ reason: "unavailable" });
    } finally {
      folder.remove();
    }
  });
});
