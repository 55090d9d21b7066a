import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { create } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import { createAuthority } from "@weir/certificates/authority";
import { createLog, silentLog } from "@weir/common/log/log";
import { rateLimitConfig, ScriptedAdsServer } from "@weir/harness/ads/ads-server";
import { grpcMessage } from "@weir/harness/http2/http2-frames";
import { RateLimitUnit } from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import type { ConfigListener, ConfigSource } from "../config-source.ts";
import { describeConfigSource, RecordingListener } from "../config-source.suite.ts";
import type { XdsOptions } from "./xds-options.ts";
import { type ServerState, XdsSource } from "./xds-source.ts";

function options(server: ScriptedAdsServer, overrides: Partial<XdsOptions> = {}): XdsOptions {
  return {
    isIncremental: false,
    serverUrl: `127.0.0.1:${server.port}`,
    nodeId: "gateway/pod-7",
    nodeMetadata: new Map(),
    headers: new Map(),
    tls: undefined,
    messageMaxBytes: undefined,
    connectRetryMs: 20,
    backoff: { initialMs: 20, maxMs: 100, factor: 0.5, jitter: false },
    ...overrides,
  };
}

describeConfigSource("the xDS client", async (suiteListener) => {
  const fake = new ScriptedAdsServer();
  await fake.open();
  let version = 0;
  const open = (to: ConfigListener): ConfigSource =>
    new XdsSource({ listener: to, random: () => 0, log: silentLog() }, options(fake));
  return {
    source: open(suiteListener),
    another: open,
    publish: (domains) => {
      version += 1;
      fake.publish(
        `v${version}`,
        domains.map((domain) => rateLimitConfig(domain)),
      );
      return Promise.resolve();
    },
    publishGarbage: () => {
      version += 1;
      fake.publish(`v${version}`, [create(AnySchema, { typeUrl: "type.googleapis.com/x.Y" })]);
      return Promise.resolve();
    },
    close: () => {
      fake.close();
      expect(fake.violations).toEqual([]);
      return Promise.resolve();
    },
  };
});

describe("XdsSource", () => {
  let server: ScriptedAdsServer;
  let source: ConfigSource | undefined;
  let listener: RecordingListener;
  let lines: Record<string, unknown>[];
  let states: ServerState[];

  beforeEach(async () => {
    server = new ScriptedAdsServer();
    await server.open();
    listener = new RecordingListener();
    lines = [];
    states = [];
  });

  afterEach(async () => {
    await source?.stop();
    source = undefined;
    server.close();
    expect(server.violations).toEqual([]);
  });

  async function start(overrides: Partial<XdsOptions> = {}): Promise<void> {
    const log = createLog({
      level: "info",
      format: "json",
      write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>),
    });
    const onState = (state: ServerState): unknown => states.push(state);
    source = new XdsSource({ listener, random: () => 0, onState, log }, options(server, overrides));
    await source.start();
  }

  function logged(level: string): readonly Record<string, unknown>[] {
    return lines.filter((line) => line["level"] === level);
  }

  it("start() subscribes with node, metadata and headers, and ACKs what it applied (case 189)", async () => {
    server.publish("v1", [rateLimitConfig("a")]);
    await start({ nodeMetadata: new Map([["fleet", "edge"]]), headers: new Map([["Authorization", "Bearer x:y"]]) });
    await server.until(() => server.received.length === 2);
    expect(server.received).toEqual([
      { kind: "subscribed", version: "" },
      { kind: "ACK", version: "v1" },
    ]);
    expect(server.node).toMatchObject({ id: "gateway/pod-7", metadata: { fleet: "edge" } });
    expect(server.headers).toMatchObject({ authorization: "Bearer x:y" });
    expect(logged("info")).toMatchObject([
      { "@message": "Connected to the configuration server", server: `127.0.0.1:${server.port}` },
      { "@message": "Successfully loaded new configuration", version: "v1", resources: 1 },
    ]);
  });

  it("an invalid response is NACKed with the loader's text, and the last valid version stays (case 192)", async () => {
    server.publish("v1", [rateLimitConfig("a")]);
    await start();
    await server.until(() => server.received.length === 2);
    server.publish("v2", [rateLimitConfig("a"), rateLimitConfig("b", { unit: RateLimitUnit.UNKNOWN })]);
    await server.until(() => server.received.length === 3);
    expect(server.received.at(-1)).toEqual({
      kind: "NACK",
      version: "v2",
      keeps: "v1",
      reason: "resource-b: invalid rate limit unit 'UNKNOWN'",
    });
    expect(listener.domains()).toEqual(["a"]);
    expect(logged("error")).toMatchObject([
      { error: "resource-b: invalid rate limit unit 'UNKNOWN'", rejectedVersion: "v2", version: "v1" },
    ]);
    server.publish("v3", [rateLimitConfig("b")]);
    await server.until(() => server.received.length === 4);
    expect(server.received.at(-1)).toEqual({ kind: "ACK", version: "v3" });
  });

  it("two resources of one domain are NACKed (case 191)", async () => {
    server.publish("v1", [rateLimitConfig("a"), rateLimitConfig("a")]);
    await start();
    await server.until(() => server.received.length === 2);
    expect(server.received.at(-1)).toEqual({
      kind: "NACK",
      version: "v1",
      keeps: "",
      reason: "resource-a: duplicate domain 'a' in config file",
    });
  });

  it("a resource that does not decode is NACKed with the position and the reason", async () => {
    server.publish("v1", [rateLimitConfig("a"), create(AnySchema, { typeUrl: "type.googleapis.com/x.Y" })]);
    await start();
    await server.until(() => server.received.length === 2);
    expect(server.received.at(-1)).toMatchObject({
      kind: "NACK",
      reason:
        "configuration server: resource 1: its type is type.googleapis.com/x.Y, expected is type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig",
    });
    expect(listener.configs).toEqual([]);
  });

  it("a response of another type is ignored and never answered", async () => {
    server.publish("v1", [rateLimitConfig("a")]);
    await start();
    await server.until(() => server.received.length === 2);
    server.sendAll("c1", [], "type.googleapis.com/envoy.config.cluster.v3.Cluster");
    server.publish("v2", [rateLimitConfig("b")]);
    await server.until(() => server.received.length === 3);
    expect(server.received.at(-1)).toEqual({ kind: "ACK", version: "v2" });
    expect(logged("warning")).toMatchObject([{ typeUrl: "type.googleapis.com/envoy.config.cluster.v3.Cluster" }]);
  });

  it("a new stream names the last ACKed version, also when the last response was NACKed", async () => {
    server.publish("v1", [rateLimitConfig("a")]);
    await start();
    await server.until(() => server.received.length === 2);
    server.sendAll("v2", [rateLimitConfig("b", { unit: RateLimitUnit.UNKNOWN })]);
    await server.until(() => server.received.length === 3);
    server.endStreams();
    await server.until(() => server.received.length === 5);
    expect(server.received.slice(3)).toEqual([
      { kind: "subscribed", version: "v1" },
      { kind: "ACK", version: "v1" },
    ]);
    expect(logged("warning")).toMatchObject([
      { "@message": "Lost the configuration server, retrying", reason: "the server ended the stream", retryInMs: 20 },
      { "@message": "Connected to the configuration server again" },
      { "@message": "Successfully loaded new configuration", version: "v1" }, // After the NACK.
    ]);
    expect(states.map(({ isConnected }) => isConnected)).toEqual([true, true, false, true]);
  });

  it("waits grow while streams break, and start over after one that delivered a response", async () => {
    server.script = (stream) => stream.end();
    await start();
    await server.until(() => server.received.length >= 5);
    expect(
      logged("warning")
        .slice(0, 4)
        .map((line) => line["retryInMs"]),
    ).toEqual([20, 30, 45, 68]);
    server.script = (stream) => {
      server.send(stream, "v1", [rateLimitConfig("a")]);
      stream.end();
    };
    lines.length = 0;
    await listener.until(() => listener.accepted.length >= 2);
    expect(logged("warning").findLast((line) => "retryInMs" in line)).toMatchObject({ retryInMs: 20 });
  });

  it("bytes that are no response end the stream, and the client comes back", async () => {
    // A field of wire type 7, which no message can have.
    server.script = (stream) => stream.write(grpcMessage(Buffer.from([0x0f])));
    await start();
    await server.until(() => server.received.length >= 2);
    expect(logged("warning")[0]?.["reason"]).toContain("INTERNAL");
    server.script = undefined;
    server.publish("v1", [rateLimitConfig("a")]);
    await listener.until(() => listener.domains().join() === "a");
  });

  it("a server that is away is tried again until it is there, with the reason in the log", async () => {
    const { port } = server;
    server.close();
    await start();
    await waitFor(() => logged("warning").length >= 2);
    expect(logged("warning").slice(0, 2)).toMatchObject([
      {
        "@message": "Cannot connect to the configuration server, retrying",
        reason: expect.stringContaining("ECONNREFUSED"),
        retryInMs: 20,
      },
      { retryInMs: 32 },
    ]);
    server.port = port;
    server.publish("v1", [rateLimitConfig("a")]);
    await server.open();
    await listener.until(() => listener.domains().join() === "a");
    expect(logged("warning").at(-1)).toMatchObject({ "@message": "Connected to the configuration server again" });
    server.publish("v2", [rateLimitConfig("b")]);
    await listener.until(() => listener.domains().join() === "b");
    expect(lines.filter((line) => line["@message"] === "Connected to the configuration server again")).toHaveLength(1);
  });

  it("a stream without a response is logged once, and so is its first response, at the same level", async () => {
    await start({ silenceMs: 20 });
    await waitFor(() => logged("warning").length === 1);
    server.endStreams();
    await server.until(() => server.received.length === 2);
    await waitFor(() => logged("warning").length === 3);
    server.publish("v1", [rateLimitConfig("a")]);
    await listener.until(() => listener.domains().join() === "a");
    const silent = {
      "@message": "Connected to the configuration server, but it has sent nothing yet",
      waitedMs: 20,
      nodeId: "gateway/pod-7",
    };
    expect(logged("warning")).toMatchObject([
      silent,
      { "@message": "Lost the configuration server, retrying" },
      silent,
      { "@message": "The configuration server has sent its first response" },
    ]);
  });

  it("the first valid configuration after a NACK is logged as a warning", async () => {
    server.publish("v1", [rateLimitConfig("a", { unit: RateLimitUnit.UNKNOWN })]);
    await start();
    await server.until(() => server.received.length === 2);
    server.publish("v2", [rateLimitConfig("a")]);
    await listener.until(() => listener.domains().join() === "a");
    server.publish("v3", [rateLimitConfig("b")]);
    await listener.until(() => listener.domains().join() === "b");
    const loaded = lines.filter((line) => line["@message"] === "Successfully loaded new configuration");
    expect(loaded.map(({ level, version }) => [level, version])).toEqual([
      ["warning", "v2"],
      ["info", "v3"],
    ]);
  });

  it("a server without TLS, where TLS is the default, is logged with the setting that helps", async () => {
    await start({ tls: { paths: {}, serverName: undefined } });
    await waitFor(() => logged("warning").length >= 1);
    expect(logged("warning")[0]?.["reason"]).toMatch(
      /^the configuration server does not speak TLS on this port; CONFIG_GRPC_XDS_SERVER_USE_TLS=false is for servers without TLS \(.*"wrong version number"\)$/,
    );
  });

  it("a server that crashes leaves the configuration active and is found again", async () => {
    server.publish("v1", [rateLimitConfig("a")]);
    await start();
    await server.until(() => server.received.length === 2);
    server.close();
    await waitFor(() => logged("warning").length >= 1);
    expect(listener.domains()).toEqual(["a"]);
    await server.open();
    server.publish("v2", [rateLimitConfig("b")]);
    await listener.until(() => listener.domains().join() === "b");
    expect(server.received.filter((message) => message.kind === "subscribed")).toEqual([
      { kind: "subscribed", version: "" },
      { kind: "subscribed", version: "v1" },
    ]);
  });

  it("a message above the size limit ends the stream and names the limit", async () => {
    server.publish("v1", [rateLimitConfig("a".repeat(2000))]);
    await start({ messageMaxBytes: 1000 });
    await waitFor(() => logged("warning").length >= 1);
    expect(logged("warning")[0]?.["reason"]).toMatch(
      /^XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES raises the limit \(8 RESOURCE_EXHAUSTED: .*\)$/,
    );
  });

  it("a server that sends a NACKed version again immediately is not answered in a loop (go-control-plane's snapshot cache)", async () => {
    const bad = [rateLimitConfig("a", { unit: RateLimitUnit.UNKNOWN })];
    server.publish("v1", bad);
    const beganMs = performance.now(); // Before the first refusal, from which the client counts its second.
    await start();
    await server.until(() => server.received.length === 2);
    server.sendAll("v1", bad);
    await server.until(() => server.received.length === 3);
    expect(performance.now() - beganMs).toBeGreaterThan(900);
    expect(server.received.at(-1)).toMatchObject({ kind: "NACK", version: "v1" });
    expect(logged("error")).toHaveLength(1);
    server.publish("v2", [rateLimitConfig("a")]);
    await server.until(() => server.received.length === 4);
    expect(server.received.at(-1)).toEqual({ kind: "ACK", version: "v2" });
  });

  it("a delayed NACK is sent after a response of another type", async () => {
    const bad = [rateLimitConfig("a", { unit: RateLimitUnit.UNKNOWN })];
    server.publish("v1", bad);
    await start();
    await server.until(() => server.received.length === 2);
    server.sendAll("v1", bad);
    server.sendAll("c1", [], "type.googleapis.com/envoy.config.cluster.v3.Cluster");
    await server.until(() => server.received.length === 3);
    expect(server.received.at(-1)).toMatchObject({ kind: "NACK", version: "v1" });
  });

  it("a connection without an answer is given up (half-open connections)", async () => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => sockets.push(socket));
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const { port } = silent.address() as AddressInfo;
    await start({ serverUrl: `127.0.0.1:${port}`, connectTimeoutMs: 100 });
    await waitFor(() => logged("warning").length >= 1);
    expect(logged("warning")[0]).toMatchObject({
      "@message": "Cannot connect to the configuration server, retrying",
      reason: "no connection within 100 ms",
    });
    await source?.stop();
    silent.close();
    for (const socket of sockets) socket.destroy(); // The library keeps its end of a connection that never began.
  });

  it("stop() ends the wait for a server that is away", async () => {
    server.close();
    await start({
      connectRetryMs: 1_000_000,
      backoff: { initialMs: 1_000_000, maxMs: 1_000_000, factor: 0, jitter: false },
    });
    await waitFor(() => logged("warning").length === 1);
    await source?.stop();
    expect(logged("warning")).toHaveLength(1);
  });

  /** Resolves when the condition about the log is true. */
  async function waitFor(condition: () => boolean): Promise<void> {
    await expect.poll(condition, { timeout: 40_000, interval: 10 }).toBe(true);
  }
});

describe("XdsSource over TLS", () => {
  let folder: string;
  let server: ScriptedAdsServer;
  let source: ConfigSource | undefined;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "weir-xds-"));
    server = new ScriptedAdsServer();
  });

  afterEach(async () => {
    await source?.stop();
    server.close();
    await rm(folder, { recursive: true, force: true });
  });

  /**
   * Opens a server with mutual TLS whose certificate names `control-plane.example`, and writes what
   * a client needs into files of a folder.
   */
  async function openServer(
    names: { dnsNames?: string[]; ipAddresses?: string[] } = { dnsNames: ["control-plane.example"] },
    target = folder,
  ): Promise<{ certPath: string; keyPath: string; caPath: string }> {
    const now = new Date();
    const authority = await createAuthority({ commonName: "test", now, validDays: 1 });
    const serverPair = await authority.issue({
      commonName: "server",
      ...names,
      usage: "server",
      now,
      validDays: 1,
    });
    const clientPair = await authority.issue({
      commonName: "client",
      dnsNames: ["ratelimit.example"],
      usage: "client",
      now,
      validDays: 1,
    });
    await server.open({ ca: authority.certPem, cert: serverPair.certPem, key: serverPair.keyPem });
    const paths = {
      certPath: join(target, "cert.pem"),
      keyPath: join(target, "key.pem"),
      caPath: join(target, "ca.pem"),
    };
    await writeFile(paths.certPath, clientPair.certPem);
    await writeFile(paths.keyPath, clientPair.keyPem);
    await writeFile(paths.caPath, authority.certPem);
    return paths;
  }

  it("start() shows its certificate and checks the server's for the overriding name", async () => {
    const paths = await openServer();
    server.publish("v1", [rateLimitConfig("a")]);
    const listener = new RecordingListener();
    const tls = { paths, serverName: "control-plane.example" };
    source = new XdsSource({ listener, random: () => 0, log: silentLog() }, options(server, { tls }));
    await source.start();
    await listener.until(() => listener.domains().join() === "a");
  });

  it("start() connects to a server whose certificate is valid for its address", async () => {
    const paths = await openServer({ ipAddresses: ["127.0.0.1"] });
    server.publish("v1", [rateLimitConfig("a")]);
    const listener = new RecordingListener();
    const tls = { paths, serverName: undefined };
    source = new XdsSource({ listener, random: () => 0, log: silentLog() }, options(server, { tls }));
    await source.start();
    await listener.until(() => listener.domains().join() === "a");
  });

  it("start() refuses a server whose certificate names another host", async () => {
    const paths = await openServer();
    server.publish("v1", [rateLimitConfig("a")]);
    const reasons: unknown[] = [];
    const log = createLog({
      level: "warn",
      format: "json",
      write: (line) => reasons.push((JSON.parse(line) as { reason: unknown }).reason),
    });
    source = new XdsSource(
      { listener: new RecordingListener(), random: () => 0, log },
      options(server, { tls: { paths, serverName: undefined } }),
    );
    await source.start();
    await expect.poll(() => reasons.length, { timeout: 40_000 }).toBeGreaterThan(0);
    expect(reasons[0]).toContain("IP: 127.0.0.1 is not in the cert's list");
    expect(server.received).toEqual([]);
  });

  it("missing files are logged by name and read again at the next attempt", async () => {
    const paths = await openServer();
    server.publish("v1", [rateLimitConfig("a")]);
    const missing = join(folder, "missing.pem");
    const reasons: unknown[] = [];
    const log = createLog({
      level: "warn",
      format: "json",
      write: (line) => reasons.push((JSON.parse(line) as { reason: unknown }).reason),
    });
    const listener = new RecordingListener();
    const tls = { paths: { ...paths, caPath: missing }, serverName: "control-plane.example" };
    source = new XdsSource({ listener, random: () => 0, log }, options(server, { tls }));
    await source.start();
    expect(reasons[0]).toContain(`CA certificate file ${missing}`);
    await writeFile(missing, await readFile(paths.caPath));
    await listener.until(() => listener.domains().join() === "a");
  });

  it("files that changed are used by the next connection: an authority that both sides moved to", async () => {
    const paths = await openServer();
    server.publish("v1", [rateLimitConfig("a")]);
    const listener = new RecordingListener();
    const warnings: string[] = [];
    const log = createLog({
      level: "warn",
      format: "json",
      write: (line) => warnings.push((JSON.parse(line) as { reason: string }).reason),
    });
    source = new XdsSource(
      { listener, random: () => 0, log },
      options(server, { tls: { paths, serverName: "control-plane.example" } }),
    );
    await source.start();
    await listener.until(() => listener.domains().join() === "a");
    server.close();
    server.publish("v2", [rateLimitConfig("b")]);
    // The files that belong to the new authority wait elsewhere, so that no attempt of the client
    // can find them before their time.
    const staging = join(folder, "staging");
    await mkdir(staging);
    const fresh = await openServer(undefined, staging);
    warnings.length = 0;
    await expect
      .poll(() => warnings.filter((reason) => reason.includes("certificate")).length, { timeout: 40_000 })
      .toBeGreaterThan(1);
    expect(listener.domains()).toEqual(["a"]);
    for (const name of ["certPath", "keyPath", "caPath"] as const) await rename(fresh[name], paths[name]);
    await listener.until(() => listener.domains().join() === "b");
  });

  it("a certificate that the server does not trust keeps the client out until its files are replaced", async () => {
    const paths = await openServer();
    server.publish("v1", [rateLimitConfig("a")]);
    const listener = new RecordingListener();
    const later = { certPath: join(folder, "later.pem"), keyPath: join(folder, "later-key.pem"), caPath: paths.caPath };
    // A certificate of an authority that the server does not trust.
    const now = new Date();
    const stranger = await createAuthority({ commonName: "stranger", now, validDays: 1 });
    const pair = await stranger.issue({
      commonName: "client",
      dnsNames: ["ratelimit.example"],
      usage: "client",
      now,
      validDays: 1,
    });
    await writeFile(later.certPath, pair.certPem);
    await writeFile(later.keyPath, pair.keyPem);
    const warnings: string[] = [];
    const log = createLog({ level: "warn", format: "json", write: (line) => warnings.push(line) });
    source = new XdsSource(
      { listener, random: () => 0, log },
      options(server, { tls: { paths: later, serverName: "control-plane.example" } }),
    );
    await source.start();
    await expect.poll(() => warnings.length, { timeout: 40_000 }).toBeGreaterThan(1);
    expect(listener.accepted).toEqual([]);
    await writeFile(later.keyPath, await readFile(paths.keyPath));
    await writeFile(later.certPath, await readFile(paths.certPath));
    await listener.until(() => listener.domains().join() === "a");
  });
});
