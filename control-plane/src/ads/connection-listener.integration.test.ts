// Tests of connection-listener.ts with real clients that do something wrong: what the log and the
// counter say of each.
import { once } from "node:events";
import { connect as connectPlain, type Socket } from "node:net";
import { connect as connectTls, type ConnectionOptions } from "node:tls";

import { createAuthority } from "@weir/certificates/authority";
import { createLog, silentLog } from "@weir/common/log/log";
import { TlsFiles } from "@weir/common/tls/tls-files";
import { ScriptedPod } from "@weir/harness/ads/scripted-pod";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import {
  createTestAuthority,
  createTestCertificates,
  tlsOf,
  type TestCertificates,
  type TestIdentity,
  until,
} from "./ads-client.suite.ts";
import type { AdsSecurity } from "./ads-security.ts";
import { type AdsRefusal, AdsServer, type AdsServerOptions } from "./ads-server.ts";
import { PodRegistry } from "../pods/pod-registry.ts";
import { FakePublisher } from "./stream/fake-ads-stream.suite.ts";

const DAY_MS = 86_400_000;

describe("ConnectionListener", () => {
  let certificates: TestCertificates;
  let identity: TestIdentity;
  let files: TlsFiles;
  let server: AdsServer;
  let lines: Record<string, unknown>[];
  let refusals: AdsRefusal[];
  const running: { close(): void }[] = [];

  beforeEach(async () => {
    certificates = await createTestCertificates();
    identity = await certificates.issueClient();
    files = new TlsFiles(certificates.server, { log: silentLog() });
    [lines, refusals] = [[], []];
  });

  afterEach(async () => {
    for (const client of running.splice(0)) client.close();
    await server.stop();
    files.stop();
    certificates.remove();
  });

  /** Opens the listener; answers its port. */
  async function open(
    security: AdsSecurity = { kind: "mutual-tls", files, allowedNames: [] },
    options: Partial<AdsServerOptions> = {},
  ): Promise<number> {
    const log = createLog({
      level: "debug",
      format: "json",
      write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>),
    });
    server = new AdsServer(
      {
        log,
        security,
        publisher: new FakePublisher(),
        pods: new PodRegistry({ clock: () => 0 }),
        clock: () => 0,
        refused: (reason) => refusals.push(reason),
      },
      {
        host: "127.0.0.1",
        port: 0,
        identifier: "replica-1",
        connectionAgeMaxMs: 3_600_000,
        streamsPerIdentityMax: 10_000,
        handshakeTimeoutMs: 600_000,
        snapshotMaxBytes: 1_000_000,
        ...options,
      },
    );
    await server.start();
    return server.address()?.port ?? 0;
  }

  /** Shakes hands under another address; returns the address that the listener sees. */
  async function shake(port: number, options: ConnectionOptions): Promise<string> {
    const trust = { ca: certificates.authority.certPem, servername: "localhost", ALPNProtocols: ["h2"] };
    return addressOf(connectTls({ port, host: "127.0.0.1", ...trust, ...options }));
  }

  /** Connects without TLS and sends bytes. */
  async function send(port: number, bytes: string): Promise<string> {
    const socket = connectPlain(port, "127.0.0.1");
    socket.write(bytes);
    return addressOf(socket);
  }

  /** The client's end of a connection, once there is one. */
  async function addressOf(socket: Socket): Promise<string> {
    socket.on("error", () => undefined);
    running.push({ close: () => socket.destroy() });
    await once(socket, "connect");
    return `127.0.0.1:${socket.localPort ?? 0}`;
  }

  async function expectTold(peer: string, kind: AdsRefusal, reason: string | RegExp): Promise<void> {
    const told = (): Record<string, unknown> | undefined =>
      lines.find((line) => line["@message"] === "A client could not connect to ADS");
    await until(`the line; there are ${JSON.stringify(lines)}`, () => told() !== undefined);
    expect(told()).toMatchObject({ level: "warning", peer });
    expect(told()?.["reason"]).toEqual(typeof reason === "string" ? reason : expect.stringMatching(reason));
    expect(refusals).toEqual([kind]);
  }

  it("names a client that shows no certificate", async () => {
    const peer = await shake(await open(), {});
    await expectTold(
      peer,
      "no-certificate",
      "it showed no certificate; clients need one of an authority in ADS_TLS_CLIENT_CACERT",
    );
  });

  it("names a client whose certificate another authority has signed", async () => {
    const { certPem, keyPem } = await certificates.issueClient(["ratelimit"], await createTestAuthority());
    const peer = await shake(await open(), { cert: certPem, key: keyPem });
    const reason = "its certificate is not accepted: no authority in ADS_TLS_CLIENT_CACERT has signed it";
    await expectTold(peer, "untrusted-certificate", reason);
  });

  it("names a client whose certificate has expired", async () => {
    const now = new Date(Date.now() - 5 * DAY_MS);
    const old = await certificates.authority.issue({
      commonName: "pod",
      dnsNames: ["ratelimit"],
      usage: "client",
      now,
      validDays: 1,
    });
    const peer = await shake(await open(), { cert: old.certPem, key: old.keyPem });
    await expectTold(
      peer,
      "untrusted-certificate",
      "its certificate is not accepted: it, or an authority above it, has expired",
    );
  });

  it("names a client whose certificate is one for servers", async () => {
    const now = new Date();
    const pair = await certificates.authority.issue({
      commonName: "x",
      dnsNames: ["ratelimit"],
      usage: "server",
      now,
      validDays: 1,
    });
    const peer = await shake(await open(), { cert: pair.certPem, key: pair.keyPem });
    await expectTold(
      peer,
      "untrusted-certificate",
      "its certificate is not accepted: it is not for TLS clients (extended key usage)",
    );
  });

  it("names a client that does not accept the server's certificate", async () => {
    const other = await createAuthority({ commonName: "another authority", now: new Date(), validDays: 2 });
    const peer = await shake(await open(), { cert: identity.certPem, key: identity.keyPem, ca: other.certPem });
    await expectTold(
      peer,
      "broken-off",
      "it broke the TLS handshake off; it may not accept the certificate of this control plane",
    );
  });

  it.each([
    { what: "offers other protocols than HTTP/2", options: { ALPNProtocols: ["http/1.1"] } },
    { what: "offers no protocol", options: { ALPNProtocols: undefined } },
  ])("names a client that $what", async ({ options }) => {
    const peer = await shake(await open(), {
      cert: identity.certPem,
      key: identity.keyPem,
      ...(options as ConnectionOptions),
    });
    await expectTold(peer, "no-http2", "it does not offer HTTP/2 (ALPN h2), which gRPC needs");
  });

  it.each([
    { what: "gRPC in plaintext", bytes: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" },
    { what: "HTTP", bytes: "GET / HTTP/1.1\r\n\r\n" },
  ])("names a client that speaks $what to the port for TLS", async ({ bytes }) => {
    const peer = await send(await open(), bytes);
    await expectTold(peer, "no-tls", "it speaks no TLS, and this listener requires it");
  });

  it("names a client that does not finish the handshake, and closes its connection", async () => {
    const port = await open(undefined, { handshakeTimeoutMs: 300 });
    const socket = connectPlain(port, "127.0.0.1");
    let isClosed = false;
    socket.on("close", () => (isClosed = true));
    const peer = await addressOf(socket);
    await expectTold(peer, "timeout", "it did not finish the TLS handshake in time");
    await until("the end", () => isClosed);
  });

  it("says nothing above debug of a probe that only opens a connection", async () => {
    const port = await open();
    const socket = connectPlain(port, "127.0.0.1");
    const peer = await addressOf(socket);
    socket.destroy();
    await until("the line", () => lines.length > 0);
    expect(lines).toEqual([
      expect.objectContaining({ level: "debug", "@message": "A client opened a connection and closed it", peer }),
    ]);
    expect(refusals).toEqual([]);
  });

  it("names a client that speaks TLS to the port for plaintext", async () => {
    const port = await open({ kind: "plaintext" });
    const peer = await shake(port, {});
    await expectTold(
      peer,
      "no-http2",
      "it speaks no HTTP/2 in plaintext; with ADS_PLAINTEXT=true clients must not use TLS",
    );
  });

  it("writes no more than five lines in a second, and counts every failure", async () => {
    const port = await open();
    const startedMs = performance.now();
    for (let count = 0; count < 40; count += 1) await send(port, "GET / HTTP/1.1\r\n\r\n");
    await until("all failures", () => refusals.length === 40);
    const seconds = Math.ceil((performance.now() - startedMs) / 1000);
    const told = lines.filter((line) => line["@message"] === "A client could not connect to ADS");
    expect(told.length).toBeGreaterThan(0);
    expect(told.length).toBeLessThanOrEqual(5 * (seconds + 1));
  });

  it("counts a pod with no name that is allowed, and shortens its names in the log", async () => {
    const port = await open({ kind: "mutual-tls", files, allowedNames: ["ratelimit"] });
    const names = Array.from({ length: 300 }, (_, index) => `pod-${index}.example.test`);
    const pod = new ScriptedPod(port, { tls: tlsOf(await certificates.issueClient(names)) });
    running.push(pod);
    pod.request();
    const shown =
      "pod-0.example.test, pod-1.example.test, pod-2.example.test, pod-3.example.test, pod-4.example.test and 295 more";
    expect(await pod.ended()).toEqual({
      code: 7,
      details: `no name in the client certificate is allowed here, its names are: ${shown}`,
    });
    expect(refusals).toEqual(["name-not-allowed"]);
    expect(lines).toContainEqual(
      expect.objectContaining({
        "@message": "Refused a pod, no name in its certificate is among ADS_ALLOWED_SANS",
        names: shown,
      }),
    );
  });

  it("refuses a stream too many, reports it, and takes another when one has gone", async () => {
    const port = await open({ kind: "plaintext" }, { streamsMax: 1 });
    const [first, second] = [new ScriptedPod(port), new ScriptedPod(port)];
    running.push(first, second);
    first.request();
    await until("the first stream", () => server.streams() === 1);
    second.request();
    expect(await second.ended()).toEqual({ code: 8, details: "this replica has 1 streams already" });
    expect(refusals).toEqual(["too-many-streams"]);
    expect(lines).toContainEqual(
      expect.objectContaining({
        level: "warning",
        "@message": "Refused a call on the port for pods, the replica has its maximum of streams",
        streams: 1,
      }),
    );
    first.close();
    await until("the end of the first", () => server.streams() === 0);
    const third = new ScriptedPod(port);
    running.push(third);
    third.request();
    await until("the third stream", () => server.streams() === 1);
  });

  it("writes no more than five lines in a second of clients that break the protocol", async () => {
    const port = await open({ kind: "plaintext" });
    const clients = Array.from({ length: 20 }, () => new ScriptedPod(port));
    running.push(...clients);
    const startedMs = performance.now();
    for (const client of clients) client.request({ type: "" });
    for (const client of clients) await client.ended();
    const seconds = Math.ceil((performance.now() - startedMs) / 1000);
    const told = lines.filter((line) => line["@message"] === "Ended an ADS stream, the client violated the protocol");
    expect(told.length).toBeGreaterThan(0);
    expect(told.length).toBeLessThanOrEqual(5 * (seconds + 1));
  });

  it("ends connections in a handshake when it stops", async () => {
    const port = await open();
    const socket = connectPlain(port, "127.0.0.1");
    let isClosed = false;
    socket.on("close", () => (isClosed = true));
    await addressOf(socket);
    await server.stop();
    await until("the end", () => isClosed);
  });
});
