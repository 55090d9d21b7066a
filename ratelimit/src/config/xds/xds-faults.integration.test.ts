// Tests of the client when connections break at every point of the exchange, and when a server
// floods it.
import { constants } from "node:http2";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

import { createLog } from "@weir/common/log/log";
import {
  type AdsStream,
  rateLimitConfig,
  responseFrame,
  type Script,
  ScriptedAdsServer,
} from "@weir/harness/ads/ads-server";
import { RateLimitUnit } from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import type { ConfigSource } from "../config-source.ts";
import { RecordingListener } from "../config-source.suite.ts";
import type { XdsOptions } from "./xds-options.ts";
import { XdsSource } from "./xds-source.ts";

/** How a connection ends. */
const ENDS: readonly (readonly [string, (stream: AdsStream) => void])[] = [
  ["the stream is ended without trailers", ({ stream }) => stream.close(constants.NGHTTP2_NO_ERROR)],
  ["the stream is reset as cancelled (RST_STREAM)", ({ stream }) => stream.close(constants.NGHTTP2_CANCEL)],
  [
    "the stream is reset with an internal error (RST_STREAM)",
    ({ stream }) => stream.close(constants.NGHTTP2_INTERNAL_ERROR),
  ],
  ["the stream is refused (RST_STREAM)", ({ stream }) => stream.close(constants.NGHTTP2_REFUSED_STREAM)],
  [
    "the server goes away and closes (GOAWAY)",
    ({ session, socket }) => {
      session.goaway(constants.NGHTTP2_NO_ERROR);
      socket.end();
    },
  ],
  ["the server goes away with an error (GOAWAY)", ({ session }) => session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM)],
  ["the connection is closed", ({ socket }) => socket.end()],
  ["the connection is cut", ({ socket }) => socket.destroy()],
  ["the connection is reset (TCP RST)", ({ socket }) => socket.resetAndDestroy()],
  ["garbage comes instead of frames", ({ socket }) => socket.write(Buffer.alloc(64, 0xee))],
];

/** The points of the exchange at which it ends. Each has a function that takes the exchange there. */
const POINTS: readonly (readonly [string, (stream: AdsStream) => Promise<unknown>])[] = [
  ["before the answer begins", async ({ hasReceived }) => hasReceived(1)],
  [
    "before the first response",
    async ({ hasReceived, respond }) => {
      await hasReceived(1);
      respond();
    },
  ],
  [
    "in the middle of a message",
    async ({ hasReceived, respond, stream }) => {
      await hasReceived(1);
      respond();
      const frame = responseFrame("v1", [rateLimitConfig("a")]);
      stream.write(frame.subarray(0, frame.length / 2));
    },
  ],
  [
    "right after the response",
    async ({ hasReceived, respond, stream }) => {
      await hasReceived(1);
      respond();
      stream.write(responseFrame("v1", [rateLimitConfig("a")]));
    },
  ],
  [
    "after the acknowledgement",
    async ({ hasReceived, respond, stream }) => {
      await hasReceived(1);
      respond();
      stream.write(responseFrame("v1", [rateLimitConfig("a")]));
      await hasReceived(2);
    },
  ],
];

describe("XdsSource", () => {
  let source: ConfigSource | undefined;
  let listener: RecordingListener;
  let lines: Record<string, unknown>[];
  let closing: (() => void)[];

  beforeEach(() => {
    listener = new RecordingListener();
    lines = [];
    closing = [];
  });

  afterEach(async () => {
    await source?.stop();
    source = undefined;
    for (const close of closing) close();
  });

  async function start(port: number, overrides: Partial<XdsOptions> = {}): Promise<void> {
    const log = createLog({
      level: "info",
      format: "json",
      write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>),
    });
    source = new XdsSource(
      { listener, random: () => 0, log },
      {
        isIncremental: false,
        serverUrl: `127.0.0.1:${port}`,
        nodeId: "n",
        nodeMetadata: new Map(),
        headers: new Map(),
        tls: undefined,
        messageMaxBytes: undefined,
        connectRetryMs: 5,
        backoff: { initialMs: 5, maxMs: 20, factor: 0.5, jitter: false },
        ...overrides,
      },
    );
    await source.start();
  }

  async function openServer(script?: Script): Promise<ScriptedAdsServer> {
    const server = new ScriptedAdsServer(script);
    await server.open();
    closing.push(() => server.close());
    return server;
  }

  describe.each(ENDS)("when %s", (_end, end) => {
    it.each(POINTS)("the client reconnects with the active version, %s", async (_point, reach) => {
      const server = await openServer(async (stream, number) => {
        if (number === 0) {
          await reach(stream);
          end(stream);
          return;
        }
        await stream.hasReceived(1);
        stream.respond();
        stream.stream.write(responseFrame("v2", [rateLimitConfig("b")]));
      });
      await start(server.port);
      await listener.until(() => listener.domains().join() === "b");
      const acceptedBefore = listener.accepted.slice(0, -1);
      // The configuration of the first stream became active as a whole or not at all, and the first
      // request of the second names it.
      expect([[], ["a"]]).toContainEqual(acceptedBefore);
      expect(server.streams[1]?.requests[0]).toMatchObject({
        versionInfo: acceptedBefore.length === 0 ? "" : "v1",
        responseNonce: "",
      });
      expect(server.streams[1]?.requests[0]?.errorDetail).toBeUndefined();
      expect(listener.errors).toEqual([]);
    });
  });

  it("what becomes active after its stream broke is named by a further stream, also where the server has gone back", async () => {
    const loading = Promise.withResolvers<void>();
    // As go-control-plane: a client that names the present version is sent nothing.
    const server = await openServer(async ({ hasReceived, respond, stream, socket }, number) => {
      await hasReceived(1);
      respond();
      if (number === 0) {
        stream.write(responseFrame("v1", [rateLimitConfig("a")]));
        await hasReceived(2);
        listener.delay = loading.promise;
        stream.write(responseFrame("v2", [rateLimitConfig("b")]));
        await listener.until(() => listener.given === 2);
        socket.destroy();
      } else if (server.streams[number]?.requests[0]?.versionInfo !== "v1")
        stream.write(responseFrame("v1", [rateLimitConfig("a")]));
    });
    await start(server.port);
    await server.until(() => server.streams[1]?.requests.length === 1);
    expect(server.streams[1]?.requests[0]?.versionInfo).toBe("v1");
    loading.resolve();
    await listener.until(() => listener.accepted.join() === "a,b,a");
    expect(server.streams[2]?.requests[0]?.versionInfo).toBe("v2");
  });

  it("the page of a proxy instead of gRPC is logged, and the client retries", async () => {
    const server = await openServer(async ({ hasReceived, respond, stream }, number) => {
      await hasReceived(1);
      if (number === 0) {
        stream.respond({ ":status": 503, "content-type": "text/html" });
        stream.end("<h1>no healthy upstream</h1>");
        return;
      }
      respond();
      stream.write(responseFrame("v1", [rateLimitConfig("a")]));
    });
    await start(server.port);
    await listener.until(() => listener.domains().join() === "a");
    expect(lines.find((line) => line["level"] === "warning")).toMatchObject({
      reason: expect.stringMatching(/^14 UNAVAILABLE: .*503/),
      retryInMs: 5,
    });
  });

  it("a connection that goes silent is noticed by pings", async () => {
    // A ping that is late on a busy machine makes a stream more: what each is sent depends on the
    // silence alone.
    let isSilent = false;
    const server = await openServer(async ({ hasReceived, respond, stream }) => {
      await hasReceived(1);
      respond();
      stream.write(
        isSilent ? responseFrame("v2", [rateLimitConfig("b")]) : responseFrame("v1", [rateLimitConfig("a")]),
      );
    });
    closing.push(() => server.close());
    const sides: Socket[] = [];
    const network = createServer((client) => {
      const upstream = connect(server.port, "127.0.0.1");
      client.pipe(upstream).pipe(client);
      for (const side of [client, upstream]) sides.push(side.on("error", () => undefined)); // The other end may be gone.
    });
    await new Promise<void>((resolve) => network.listen(0, "127.0.0.1", resolve));
    closing.push(() => {
      network.close();
      for (const side of sides) side.destroy();
    });
    await start((network.address() as AddressInfo).port, { keepalive: { timeMs: 200, timeoutMs: 500 } });
    await listener.until(() => listener.domains().join() === "a");
    isSilent = true;
    for (const side of sides) side.unpipe().pause(); // Open at both ends, and nothing gets through.
    await listener.until(() => listener.domains().join() === "b");
    expect(lines.find((line) => line["level"] === "warning")).toMatchObject({
      "@message": "Lost the configuration server, retrying",
    });
    expect(server.streams.at(-1)?.requests[0]).toMatchObject({ versionInfo: "v1", responseNonce: "" });
  });

  it("heartbeats are answered, and a server whose heartbeats stop is left, though its connection lives", async () => {
    const server = await openServer(async (stream, number) => {
      stream.beat(5000, `beat-${number}`);
      stream.write(responseFrame(`v${number}`, [rateLimitConfig(`d${number}`)]));
      await stream.hasReceived(2);
      if (number === 0) stream.beat(200, "last");
    });
    await start(server.port);
    await listener.until(() => listener.domains().join() === "d1");
    expect(server.streams[0]?.beats).toEqual(["beat-0", "last"]);
    expect(lines.filter((line) => line["level"] === "warning")).toMatchObject([
      {
        "@message": "Lost the configuration server, retrying",
        reason: "the server has sent nothing for 200 ms",
      },
      { "@message": "Connected to the configuration server again" },
    ]);
    expect(server.streams[1]?.requests[0]).toMatchObject({ versionInfo: "v0", responseNonce: "" });
  });

  it("a server that sent heartbeats and is silent on a new stream is left, and one that sends none is not", async () => {
    const server = await openServer(async (stream, number) => {
      if (number === 0) stream.beat(100);
      // Nothing on the second stream: a proxy answers for a server that hangs.
      if (number === 2) stream.write(responseFrame("v1", [rateLimitConfig("a")]));
    });
    await start(server.port);
    await listener.until(() => listener.domains().join() === "a");
    expect(lines.filter(({ reason }) => reason !== undefined).map(({ reason }) => reason)).toEqual([
      "the server has sent nothing for 100 ms",
      "the server has sent nothing for 5000 ms",
    ]);
  });

  it("a client connects to the next address of a name when the process behind the first one hangs", async () => {
    const server = await openServer();
    server.publish("v1", [rateLimitConfig("a")]);
    // The kernel takes connections for a process that is stopped.
    const sides: Socket[] = [];
    const stopped = createServer((socket) => sides.push(socket));
    await new Promise<void>((resolve) => stopped.listen(0, "127.0.0.1", resolve));
    closing.push(() => {
      stopped.close();
      for (const side of sides) side.destroy();
    });
    const addresses = [(stopped.address() as AddressInfo).port, server.port].map((port) => `127.0.0.1:${port}`);
    for (let attempt = 0; sides.length === 0; attempt += 1) {
      // The order is random: it begins with either.
      await start(0, { serverUrl: `ipv4:${addresses.join()}`, connectTimeoutMs: 40_000 });
      await listener.until(() => listener.accepted.length > attempt);
      await source?.stop();
    }
    expect(lines.filter((line) => line["level"] === "warning")).toEqual([]);
  });

  it("a message whose length exceeds the limit is rejected before it arrives", async () => {
    const server = await openServer(async ({ hasReceived, respond, stream }, number) => {
      await hasReceived(1);
      respond();
      stream.write(
        number === 0 ? Buffer.from([0, 0xff, 0xff, 0xff, 0xff, 1, 2, 3]) : responseFrame("v1", [rateLimitConfig("a")]),
      );
    });
    await start(server.port);
    await listener.until(() => listener.domains().join() === "a");
    expect(lines.find((line) => line["level"] === "warning")?.["reason"]).toMatch(
      /^XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES raises the limit \(8 RESOURCE_EXHAUSTED/,
    );
  });

  it("a flood of responses is applied in order and each is ACKed", async () => {
    const server = await openServer();
    server.publish("v0", [rateLimitConfig("d0")]);
    await start(server.port);
    await server.until(() => server.received.length === 2);
    for (let index = 1; index <= 2000; index++) server.sendAll(`v${index}`, [rateLimitConfig(`d${index}`)]);
    await server.until(() => server.received.length === 2002);
    expect(server.received.at(-1)).toEqual({ kind: "ACK", version: "v2000" });
    expect(listener.domains()).toEqual(["d2000"]);
    expect(server.violations).toEqual([]);
  });

  it("a flood of invalid responses is neither NACKed nor logged one by one, and the next valid one is applied immediately", async () => {
    const server = await openServer();
    server.mayLeaveUnanswered = true;
    server.publish("v0", [rateLimitConfig("good")]);
    await start(server.port);
    await server.until(() => server.received.length === 2);
    for (let index = 1; index <= 500; index++)
      server.sendAll(`bad${index}`, [rateLimitConfig("a", { unit: RateLimitUnit.UNKNOWN })]);
    await listener.until(() => listener.errors.length === 500);
    expect(listener.domains()).toEqual(["good"]);
    expect(lines.filter((line) => line["level"] === "error").length).toBeLessThan(20);
    expect(server.received.filter(({ kind }) => kind === "NACK").length).toBeLessThan(20);
    server.sendAll("v1", [rateLimitConfig("better")]);
    await listener.until(() => listener.domains().join() === "better");
    await server.until(() => server.received.at(-1)?.kind === "ACK");
    expect(server.violations).toEqual([]);
  });

  it("a response that comes twice is applied and ACKed twice", async () => {
    const server = await openServer();
    server.publish("v1", [rateLimitConfig("a")]);
    await start(server.port);
    await server.until(() => server.received.length === 2);
    server.sendAll("v1", [rateLimitConfig("a")]);
    await server.until(() => server.received.length === 3);
    expect(server.received.at(-1)).toEqual({ kind: "ACK", version: "v1" });
    expect(listener.accepted).toEqual(["a", "a"]);
    expect(server.violations).toEqual([]);
  });

  it("a NACK waits until the configuration before is active, and names it", async () => {
    const server = await openServer();
    server.publish("v0", [rateLimitConfig("a")]);
    await start(server.port);
    await server.until(() => server.received.length === 2);
    const { promise, resolve } = Promise.withResolvers<void>();
    listener.delay = promise;
    server.publish("v1", [rateLimitConfig("b")]);
    server.sendAll("v2", [rateLimitConfig("c", { unit: RateLimitUnit.UNKNOWN })]);
    expect(server.received.length).toBe(2);
    resolve();
    await server.until(() => server.received.length === 4);
    expect(server.received.slice(2)).toEqual([
      { kind: "ACK", version: "v1" },
      expect.objectContaining({ kind: "NACK", version: "v2", keeps: "v1" }),
    ]);
    expect(server.violations).toEqual([]);
  });

  it("an empty set is applied and ACKed", async () => {
    const server = await openServer();
    server.publish("v1", [rateLimitConfig("a")]);
    await start(server.port);
    await server.until(() => server.received.length === 2);
    server.publish("v2", []);
    await server.until(() => server.received.length === 3);
    expect(server.received.at(-1)).toEqual({ kind: "ACK", version: "v2" });
    expect(listener.domains()).toEqual([]);
  });

  it("responses without nonce and with the nonce of another are answered with the nonce they came with", async () => {
    const server = await openServer(async ({ hasReceived, respond, stream }) => {
      await hasReceived(1);
      respond();
      stream.write(responseFrame("v1", [rateLimitConfig("a")], ""));
      await hasReceived(2);
      stream.write(responseFrame("v2", [rateLimitConfig("b")], "x"));
      await hasReceived(3);
      stream.write(responseFrame("v3", [rateLimitConfig("c", { unit: RateLimitUnit.UNKNOWN })], "x"));
    });
    await start(server.port);
    await listener.until(() => listener.errors.length === 1);
    await server.streams[0]?.hasReceived(4);
    expect(server.streams[0]?.requests.map(({ versionInfo, responseNonce }) => [versionInfo, responseNonce])).toEqual([
      ["", ""],
      ["v1", ""],
      ["v2", "x"],
      ["v2", "x"],
    ]);
    expect(server.streams[0]?.requests[3]?.errorDetail).toMatchObject({ code: 3 });
  });

  it.each([
    {
      what: "a factor and a maximum",
      backoff: { initialMs: 20, maxMs: 50, factor: 1, jitter: false },
      random: 0,
      waits: [20, 40, 50, 50],
    },
    {
      what: "the least jitter",
      backoff: { initialMs: 20, maxMs: 50, factor: 1, jitter: true },
      random: 0,
      waits: [10, 20, 25, 25],
    },
    {
      what: "nearly the most jitter",
      backoff: { initialMs: 20, maxMs: 50, factor: 1, jitter: true },
      random: 0.999,
      waits: [20, 40, 50, 50],
    },
  ])("waits after broken streams follow $what", async ({ backoff, random, waits }) => {
    const server = await openServer();
    server.script = (stream) => stream.end();
    const log = createLog({
      level: "warn",
      format: "json",
      write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>),
    });
    source = new XdsSource(
      { listener, random: () => random, log },
      {
        isIncremental: false,
        serverUrl: `127.0.0.1:${server.port}`,
        nodeId: "n",
        nodeMetadata: new Map(),
        headers: new Map(),
        tls: undefined,
        messageMaxBytes: undefined,
        connectRetryMs: 5,
        backoff,
      },
    );
    await source.start();
    await expect.poll(() => lines.length, { timeout: 40_000 }).toBeGreaterThanOrEqual(4);
    expect(lines.slice(0, 4).map((line) => line["retryInMs"])).toEqual(waits);
  });
});
