// The gRPC transport, tested with a real grpc-js client.
import { once } from "node:events";
import { connect as http2Connect, constants, type IncomingHttpHeaders } from "node:http2";
import { connect as netConnect } from "node:net";

import { create } from "@bufbuild/protobuf";
import {
  Client,
  type ClientReadableStream,
  compressionAlgorithms,
  connectivityState,
  credentials,
  Metadata,
  type ServiceError as GrpcError,
  status,
} from "@grpc/grpc-js";
import { createLog } from "@weir/common/log/log";
import { RateLimitRequestSchema, RateLimitService } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import {
  Health as HealthService,
  HealthCheckRequestSchema,
  type HealthCheckResponse,
  HealthListRequestSchema,
} from "@weir/proto/generated/grpc/health/v1/health_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";
import { describe, expect, it } from "vitest";

import {
  ask,
  askWithBytes,
  callUnary,
  check,
  GOOD,
  HOUR_MS,
  openTransport,
  type OpenedTransport,
  useTransport,
  WAIT,
} from "./opened-transport.suite.ts";
import type { GrpcTransportOptions } from "./grpc-transport.ts";
import { describeTransport, PLAIN_OK, PLAIN_REQUEST, type ScriptedDecider } from "../transport.suite.ts";

const { shouldRateLimit } = serviceDefinition(RateLimitService);
const { check: checkMethod, list: listMethod, watch: watchMethod } = serviceDefinition(HealthService);

/** A field of five bytes that ends after one: no message of any type. */
const TRUNCATED = Buffer.from([0x0a, 0x05, 0x41]);

describeTransport("GrpcTransport", async (decider) => {
  const { transport, target } = await openTransport({}, decider as ScriptedDecider);
  const client = new Client(target, credentials.createInsecure());
  return { transport, ask: (request) => ask(client, request), close: () => client.close() };
});

describe("GrpcTransport", () => {
  const { closing, client: connect, start: startTransport } = useTransport();

  async function start(options: Partial<GrpcTransportOptions> = {}): Promise<OpenedTransport & { client: Client }> {
    const opened = await startTransport(options);
    return { ...opened, client: connect(opened.target) };
  }

  it("ShouldRateLimit is counted with its response time (case 179)", async () => {
    const { client, statistics } = await start();
    for (let call = 0; call < 5; call++) await ask(client, PLAIN_REQUEST);
    const method = statistics.method("ShouldRateLimit");
    expect([method.totalRequests.value, method.responseTime.count]).toEqual([5, 5]);
  });

  it("a call passes the caller's deadline to the decider, and is answered when it passes (case 118)", async () => {
    const { client, decider } = await start();
    await ask(client, PLAIN_REQUEST); // The connection is open now: opening it is no part of the time.
    decider.answer = undefined;
    const beforeMs = performance.now();
    const answer = await ask(client, PLAIN_REQUEST, 2000);
    expect(answer).toMatchObject({ kind: "refused", status: "DEADLINE_EXCEEDED" });
    expect(performance.now() - beforeMs).toBeGreaterThanOrEqual(1950);
    const deadlineMs = decider.calls[1]?.call.deadlineMs ?? 0;
    expect(deadlineMs - beforeMs).toBeGreaterThan(1500);
    expect(deadlineMs - beforeMs).toBeLessThan(10_000);
    // The backend answers late; the caller has gone.
    decider.calls[1]?.call.decided(PLAIN_OK);
    decider.answer = PLAIN_OK;
    expect((await ask(client, PLAIN_REQUEST)).kind).toBe("decision");
  });

  it("a caller without a deadline has none", async () => {
    const { client, decider } = await start();
    await callUnary(client, shouldRateLimit, create(RateLimitRequestSchema, PLAIN_REQUEST));
    expect(decider.calls[0]?.call.deadlineMs).toBeUndefined();
  });

  it("bytes that are no request are refused, and not counted as calls of their method", async () => {
    const { client, decider, statistics } = await start();
    for (const { path } of [shouldRateLimit, checkMethod, listMethod])
      expect(await askWithBytes(client, TRUNCATED, { path })).toMatch(/^INTERNAL: /);
    const counted = ["ShouldRateLimit", "Check", "List"].map((name) => statistics.method(name));
    expect(counted.map(({ totalRequests }) => totalRequests.value)).toEqual([0, 0, 0]);
    expect(counted.map(({ responseTime }) => responseTime.count)).toEqual([0, 0, 0]);
    expect(decider.calls).toHaveLength(0);
    expect((await ask(client, PLAIN_REQUEST)).kind).toBe("decision");
  });

  it("Check follows the health of the process under each of its names (case 175)", async () => {
    const { client, health, statistics } = await start();
    expect(await check(client, "ratelimit")).toBe(2);
    health.set("start", true);
    expect(await check(client, "ratelimit")).toBe(1);
    expect(await check(client, "")).toBe(1);
    expect(await check(client, "envoy.service.ratelimit.v3.RateLimitService")).toBe(1);
    expect(await check(client, "x")).toBe("NOT_FOUND: unknown service");
    health.set("signal", false);
    expect(await check(client, "")).toBe(2);
    expect(statistics.method("Check").totalRequests.value).toBe(6);
  });

  it("List returns the health of the process under each of its names", async () => {
    const { client, health, statistics } = await start();
    health.set("start", true);
    const { response } = await callUnary(client, listMethod, create(HealthListRequestSchema));
    expect(response?.statuses).toMatchObject({
      "": { status: 1 },
      ratelimit: { status: 1 },
      "envoy.service.ratelimit.v3.RateLimitService": { status: 1 },
    });
    expect(statistics.method("List").totalRequests.value).toBe(1);
  });

  it("a connection without a limit of age stays", async () => {
    const { client } = await start({ connectionAgeMaxMs: 0, connectionAgeGraceMs: 0 });
    expect((await ask(client, PLAIN_REQUEST)).kind).toBe("decision");
    expect(client.getChannel().getConnectivityState(false)).toBe(connectivityState.READY);
  });

  it("Watch sends each change, SERVICE_UNKNOWN for other names, and ends when the server drains", async () => {
    const { client, health, transport: opened } = await start();
    const watch = (
      service: string,
    ): { seen: number[]; ended: Promise<number>; stream: ClientReadableStream<HealthCheckResponse> } => {
      const { path, requestSerialize, responseDeserialize } = watchMethod;
      const stream = client.makeServerStreamRequest(
        path,
        requestSerialize,
        responseDeserialize,
        create(HealthCheckRequestSchema, { service }),
      );
      const seen: number[] = [];
      stream.on("data", (response: HealthCheckResponse) => seen.push(response.status));
      return {
        seen,
        stream,
        ended: new Promise((resolve) => stream.on("error", (error: GrpcError) => resolve(error.code))),
      };
    };
    const known = watch("ratelimit");
    const unknown = watch("x");
    await expect.poll(() => [known.seen, unknown.seen], WAIT).toEqual([[2], [3]]);
    health.set("start", true);
    health.set("signal", false);
    await expect.poll(() => known.seen, WAIT).toEqual([2, 1, 2]);
    await opened.drain();
    expect(await known.ended).toBe(status.UNAVAILABLE);
    expect(await unknown.ended).toBe(status.UNAVAILABLE);
    expect(unknown.seen).toEqual([3]);
  });

  it("a connection gets GOAWAY at its maximum age, and calls continue over a new one", async () => {
    const { client } = await start({ connectionAgeMaxMs: 50, connectionAgeGraceMs: HOUR_MS });
    const deadlineMs = performance.now() + 400;
    while (performance.now() < deadlineMs) expect((await ask(client, PLAIN_REQUEST)).kind).toBe("decision");
  });

  it("start() names the setting that moves it when the port is in use", async () => {
    const { target } = await start();
    const port = Number(target.split(":")[1]);
    await expect(openTransport({ address: { kind: "tcp", host: "127.0.0.1", port } })).rejects.toThrow(
      `Cannot listen for gRPC on 127.0.0.1:${port}: the port is in use; set GRPC_PORT to another one`,
    );
  });

  it("a message over 4 MiB is refused with its size, one below is decided, and other calls on the same connection continue", async () => {
    const { client, decider } = await start();
    // An unknown field is skipped.
    const padded = (length: number): Buffer => {
      const field = Buffer.alloc(length - GOOD.length);
      field[0] = 0x7a; // Number 15, bytes.
      let rest = field.length - 5;
      for (let at = 1; at < 5; at++) {
        field[at] = (rest & 0x7f) | (at < 4 ? 0x80 : 0);
        rest >>>= 7;
      }
      return Buffer.concat([GOOD, field]);
    };
    const answers = await Promise.all([
      askWithBytes(client, padded(4 * 1024 * 1024 + 1)),
      askWithBytes(client, GOOD),
      askWithBytes(client, padded(4 * 1024 * 1024)),
      askWithBytes(client, GOOD),
    ]);
    expect(answers).toEqual([
      "RESOURCE_EXHAUSTED: grpc: received message larger than max (4194305 vs. 4194304)",
      "OK",
      "OK",
      "OK",
    ]);
    expect(decider.calls).toHaveLength(3);
  });

  it("a header over its limit is refused, and other clients continue", async () => {
    const { target } = await start();
    const [greedy, other] = [connect(target), connect(target)];
    expect(await askWithBytes(other, GOOD)).toBe("OK");
    const metadata = new Metadata();
    for (let index = 0; index < 20; index++) metadata.set(`x-${index}`, "y".repeat(10_000));
    expect(await askWithBytes(greedy, GOOD, { metadata })).not.toBe("OK");
    expect(await askWithBytes(other, GOOD)).toBe("OK");
    expect(await askWithBytes(connect(target), GOOD)).toBe("OK");
  });

  it.each([
    ["another path", { ":path": "/x.Y/Z" }, "12"],
    ["no gRPC content", { "content-type": "text/plain" }, undefined],
  ])("%s gets a status that says so", async (_what, headers, grpcStatus) => {
    const session = http2Connect(`http://${(await start()).target}`);
    closing.push(() => session.destroy());
    const stream = session.request({
      ":method": "POST",
      ":path": shouldRateLimit.path,
      "content-type": "application/grpc",
      te: "trailers",
      ...headers,
    });
    const answer = await new Promise<IncomingHttpHeaders>((resolve, reject) => {
      stream.on("response", resolve);
      stream.on("error", reject);
      stream.end();
    });
    if (grpcStatus === undefined) expect(answer[constants.HTTP2_HEADER_STATUS]).toBe(415);
    else expect(answer["grpc-status"]).toBe(grpcStatus);
  });

  it.each([
    ["field number 0", "0001", "a tag has an illegal field number"],
    ["a field that is cut off", "0a0541", "a field is longer than its message"],
    ["a domain as a number", "0805", "a field has another wire type than its own"],
    ["a domain that is not UTF-8", "0a01ff", "a string is not UTF-8"],
  ])("a request with %s is answered INTERNAL, and the next one is decided", async (_what, hex, reason) => {
    const { client, decider, statistics } = await start();
    expect(await askWithBytes(client, Buffer.from(hex, "hex"))).toBe(
      `INTERNAL: Error deserializing request: ${reason}`,
    );
    expect(await askWithBytes(client, GOOD)).toBe("OK");
    expect(decider.calls).toHaveLength(1);
    expect(statistics.method("ShouldRateLimit").totalRequests.value).toBe(1);
  });

  it("a compressed message is answered UNIMPLEMENTED", async () => {
    const { target } = await start();
    const client = new Client(target, credentials.createInsecure(), {
      "grpc.default_compression_algorithm": compressionAlgorithms.gzip,
    });
    closing.push(() => client.close());
    expect(await askWithBytes(client, GOOD)).toMatch(/^UNIMPLEMENTED: .*gzip/);
  });

  it("explains to the operator that a client uses TLS where there is none", async () => {
    const lines: string[] = [];
    const log = createLog({ level: "debug", format: "json", write: (line) => void lines.push(line) });
    const { transport, target } = await openTransport({}, undefined, log);
    closing.push(() => transport.stop());
    await askWithBytes(connect(target, credentials.createSsl()), GOOD);
    const logged = lines.find((line) => line.includes("A client could not connect to gRPC")) ?? "";
    expect(logged).toContain("it speaks no HTTP/2 in plaintext; without GRPC_SERVER_USE_TLS=true");
    expect(logged).toMatch(/"peer":"127\.0\.0\.1:\d+"/);
  });

  it("what the server counts are statistics, also of clients that are no gRPC clients", async () => {
    const { client, store, target } = await start();
    /** The values of all statistics of the HTTP/2 server that are not zero. */
    const counted = (): Record<string, number> => {
      const values: Record<string, number> = {};
      const note = (name: string, value: number): void => {
        if (name.startsWith("ratelimit.http2.") && value !== 0) values[name.replace("ratelimit.http2.", "")] = value;
      };
      const ignore = (): void => undefined;
      store.walk({ counter: note, gauge: note, rule: ignore, timer: ignore }).toArray();
      return values;
    };
    expect(counted()).toEqual({});
    for (let call = 0; call < 3; call++) await askWithBytes(client, GOOD);
    expect(counted()).toMatchObject({ connections: 1, open_connections: 1, calls: 3 });
    const [host, port] = target.split(":");
    const socket = netConnect(Number(port), host);
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    let answer = "";
    socket.on("data", (bytes: Buffer) => (answer += bytes.toString()));
    await once(socket, "close");
    expect(answer).toMatch(/^HTTP\/1\.1 505 /);
    expect(counted()).toMatchObject({ connections: 2, http1_refused: 1, calls: 3 });
    // Nothing is counted twice.
    expect(counted()).toMatchObject({ connections: 2, http1_refused: 1, calls: 3 });
  });
});
