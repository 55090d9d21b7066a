// Spans of the service as a process, as a receiver made of OpenTelemetry's published messages, in
// another language, gets them.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { create } from "@bufbuild/protobuf";
import { credentials, makeClientConstructor, Metadata } from "@grpc/grpc-js";
import { createAuthority } from "@weir/certificates/authority";
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from "@weir/harness/servers/otlp-receiver.suite";
import { RateLimitRequestSchema, RateLimitService } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";
import { reservePort } from "@weir/harness/processes/reserve-ports";
import type { Program } from "@weir/harness/processes/start-process";
import { startMemcached } from "@weir/harness/servers/memcached";
import { startRedis as startServer } from "@weir/harness/servers/redis";
import type { StoreServer } from "@weir/harness/servers/store-server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { clearOfMidnight, FREE_PORTS, portOf, startService, WAIT } from "./started-program.suite.ts";

/** The caller's place in its trace. */
const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER_ID = "00f067aa0ba902b7";
const TRACEPARENT = { traceparent: `00-${TRACE_ID}-${CALLER_ID}-01` };

const RULES = `
domain: d
descriptors:
- {key: k, rate_limit: {unit: day, requests_per_unit: 5}}
- {key: other, rate_limit: {unit: day, requests_per_unit: 50}}
- {key: fast, rate_limit: {unit: second, requests_per_unit: 5}}
`;

const INTERNAL_KIND = 1;
const SERVER_KIND = 2;

describe("weir-ratelimit tracing", () => {
  let folder: string;
  const programs: Program[] = [];
  const stores: StoreServer[] = [];
  const receivers: OtlpReceiver[] = [];

  beforeEach(async () => {
    await clearOfMidnight();
    folder = await mkdtemp(join(tmpdir(), "weir-tracing-"));
    await mkdir(join(folder, "config"));
    await writeFile(join(folder, "config", "rules.yaml"), RULES);
  });

  afterEach(async () => {
    for (const program of programs.splice(0)) await program.end();
    for (const server of [...receivers.splice(0), ...stores.splice(0)]) await server.stop();
    await rm(folder, { recursive: true, force: true });
  });

  /** A receiver, its ports, and the spans that it has got. */
  async function startReceiver(tls?: Parameters<typeof startOtlpReceiver>[0]) {
    const receiver = await startOtlpReceiver(tls);
    receivers.push(receiver);
    /**
     * All spans, once so many have come: what sent them may end before this process has read what
     * the receiver says of them.
     */
    const spans = async (count: number): Promise<readonly ReceivedSpan[]> => {
      await expect.poll(() => receiver.spans().length, WAIT).toBeGreaterThanOrEqual(count);
      return receiver.spans();
    };
    return { ports: receiver.ports, spans };
  }

  /** The service, once it serves. */
  async function serve(env: Readonly<Record<string, string>>) {
    const program = startService({
      ...FREE_PORTS,
      BACKEND_TYPE: "memory",
      RUNTIME_ROOT: folder,
      DISABLE_STATS: "true",
      SHUTDOWN_DRAIN: "0",
      TRACING_ENABLED: "true",
      ...env,
    });
    programs.push(program);
    const [http, grpc] = [await portOf(program, "HTTP"), await portOf(program, "gRPC")];
    return { program, url: `http://127.0.0.1:${http}/json`, target: `127.0.0.1:${grpc}` };
  }

  function request(domain: string, ...keys: readonly string[]) {
    return { domain, descriptors: keys.map((key) => ({ entries: [{ key, value: "v" }] })) };
  }

  async function askJson(url: string, body: object, headers: Readonly<Record<string, string>> = {}): Promise<number> {
    return (await fetch(url, { method: "POST", body: JSON.stringify(body), headers })).status;
  }

  /** Asks over gRPC; answers the status code. */
  async function askGrpc(
    target: string,
    body: ReturnType<typeof request>,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<number> {
    const Client = makeClientConstructor(serviceDefinition(RateLimitService), "RateLimitService");
    const client = new Client(target, credentials.createInsecure());
    const metadata = new Metadata();
    for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
    try {
      return await new Promise<number>((resolve) => {
        const call = client["shouldRateLimit"] as (
          request: unknown,
          metadata: Metadata,
          callback: (error: { code: number } | null) => void,
        ) => unknown;
        call.call(client, create(RateLimitRequestSchema, body), metadata, (error) => resolve(error?.code ?? 0));
      });
    } finally {
      client.close();
    }
  }

  async function stop(program: Program): Promise<void> {
    expect(await program.end("SIGTERM")).toBe(0);
  }

  function byName(spans: readonly ReceivedSpan[], name: string): ReceivedSpan {
    const found = spans.filter((span) => span.name === name);
    expect(found).toHaveLength(1);
    return found[0]!;
  }

  const SERVER = "envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
  const DECISION = "ShouldRateLimit Execution";
  const REDIS = "Redis Pipeline Execution";
  const MEMCACHED = "Memcached Fetch Execution";
  const ANSWER = "NewJsonHandler Remaining Execution";

  async function startRedis(): Promise<string> {
    const server = await startServer(folder);
    stores.push(server);
    return server.address;
  }

  function redisSettings(url: string): Record<string, string> {
    const [main, perSecond] = ["REDIS", "REDIS_PERSECOND"].map((name) => ({
      [`${name}_SOCKET_TYPE`]: "tcp",
      [`${name}_URL`]: url,
    }));
    return { BACKEND_TYPE: "redis", KVSTORE_COMMAND_TIMEOUT: "15s", REDIS_PERSECOND: "true", ...main, ...perSecond };
  }

  it.each(["http", "grpc"] as const)(
    "exports the spans of a call over gRPC and Redis over %s, with parents, attributes and resource (cases 116, 167)",
    async (protocol) => {
      const receiver = await startReceiver();
      const { program, target } = await serve({
        ...redisSettings(await startRedis()),
        TRACING_EXPORTER_PROTOCOL: protocol,
        TRACING_SERVICE_NAME: "limits",
        TRACING_SERVICE_NAMESPACE: "edge",
        TRACING_SERVICE_INSTANCE_ID: "pod-7",
        OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${receiver.ports[protocol]}`,
        OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20token",
      });
      expect(await askGrpc(target, request("d", "k", "fast", "none"), TRACEPARENT)).toBe(0);
      await stop(program);
      const spans = await receiver.spans(3);
      expect(spans.map(({ name }) => name).sort()).toEqual([REDIS, DECISION, SERVER]);
      for (const span of spans) {
        expect(span).toMatchObject({
          via: protocol,
          traceId: TRACE_ID,
          scope: "limits",
          resource: {
            "service.name": "limits",
            "service.namespace": "edge",
            "service.instance.id": "pod-7",
            "telemetry.sdk.language": "nodejs",
          },
          headers: { authorization: "Bearer token", ...(protocol === "http" ? { ":path": "/v1/traces" } : {}) },
          status: { code: 0, message: "" },
          events: [],
        });
        expect(span.nanoseconds).toBeGreaterThan(0);
      }
      const [server, decision, redis] = [byName(spans, SERVER), byName(spans, DECISION), byName(spans, REDIS)];
      expect(server).toMatchObject({ kind: SERVER_KIND, parentSpanId: CALLER_ID });
      expect(server.attributes).toEqual({
        "rpc.system": "grpc",
        "rpc.service": "envoy.service.ratelimit.v3.RateLimitService",
        "rpc.method": "ShouldRateLimit",
        "rpc.grpc.status_code": 0,
      });
      expect(decision).toMatchObject({ kind: INTERNAL_KIND, parentSpanId: CALLER_ID });
      expect(decision.attributes).toEqual({ domain: "d", "request string": "[k=v] [fast=v] [none=v]" });
      expect(redis).toMatchObject({ kind: INTERNAL_KIND, parentSpanId: decision.spanId });
      expect(redis.attributes).toEqual({ "pipeline length": 1, "perSecondPipeline length": 1 });
    },
  );

  it("records the store in one span, too, when it is read before it counts, whether it counts or not (case 116)", async () => {
    const receiver = await startReceiver();
    const { program, url } = await serve({
      ...redisSettings(await startRedis()),
      STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT: "true",
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${receiver.ports.http}`,
    });
    for (let count = 0; count < 6; count++)
      expect(await askJson(url, request("d", "k", "other"), TRACEPARENT)).toBe(count < 5 ? 200 : 429);
    await stop(program);
    const spans = await receiver.spans(18);
    const decisions = spans.filter(({ name }) => name === DECISION).map(({ spanId }) => spanId);
    const parents = spans.filter(({ name }) => name === REDIS).map(({ parentSpanId }) => parentSpanId);
    expect(decisions).toHaveLength(6);
    expect(parents.sort()).toEqual(decisions.sort());
  });

  it("exports the spans of a call over HTTP and memcached, and of sending its answer", async () => {
    const receiver = await startReceiver();
    const server = await startMemcached(folder);
    stores.push(server);
    const { program, url } = await serve({
      BACKEND_TYPE: "memcache",
      MEMCACHE_HOST_PORT: server.address,
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${receiver.ports.http}`,
    });
    expect(await askJson(url, request("d", "k", "fast", "none"), { b3: `${TRACE_ID}-${CALLER_ID}-1` })).toBe(200);
    await stop(program);
    const spans = await receiver.spans(3);
    expect(spans.map(({ name }) => name).sort()).toEqual([MEMCACHED, ANSWER, DECISION]);
    const decision = byName(spans, DECISION);
    expect(decision).toMatchObject({ traceId: TRACE_ID, parentSpanId: CALLER_ID });
    expect(byName(spans, MEMCACHED)).toMatchObject({
      parentSpanId: decision.spanId,
      attributes: { "keysToGet length": 2 },
    });
    const answer = byName(spans, ANSWER);
    expect(answer).toMatchObject({ traceId: TRACE_ID, parentSpanId: CALLER_ID });
    expect(JSON.parse(String(answer.attributes["response"]))).toMatchObject({
      overallCode: "OK",
      statuses: [{ limitRemaining: 4 }, {}, { code: "OK" }],
    });
    expect(answer.resource["service.name"]).toBe("RateLimit");
    expect(answer.resource["service.instance.id"]).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    expect(answer.resource).not.toHaveProperty("service.namespace");
  });

  it("makes one trace of a call whose caller has none, and follows what the caller decided about sampling", async () => {
    const receiver = await startReceiver();
    const { program, url, target } = await serve({
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${receiver.ports.http}`,
    });
    expect(await askGrpc(target, request("d", "k"))).toBe(0);
    expect(await askJson(url, request("d", "k"), { traceparent: `00-${TRACE_ID}-${CALLER_ID}-00` })).toBe(200);
    expect(
      await askJson(url, request("d", "k"), {
        "x-b3-traceid": TRACE_ID,
        "x-b3-spanid": CALLER_ID,
        "x-b3-sampled": "0",
      }),
    ).toBe(200);
    await stop(program);
    const spans = await receiver.spans(2);
    expect(spans.map(({ name }) => name).sort()).toEqual([DECISION, SERVER]);
    const server = byName(spans, SERVER);
    expect(server.parentSpanId).toBe("");
    expect(byName(spans, DECISION)).toMatchObject({ traceId: server.traceId, parentSpanId: server.spanId });
  });

  it("records only what callers sampled when TRACING_SAMPLING_RATE is 0, whichever headers they send", async () => {
    const receiver = await startReceiver();
    const { program, url } = await serve({
      TRACING_SAMPLING_RATE: "0",
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${receiver.ports.http}`,
    });
    const many = { "x-b3-traceid": "a".repeat(32), "x-b3-spanid": "b".repeat(16), "x-b3-sampled": "1" };
    expect(await askJson(url, request("d", "k"))).toBe(200);
    expect(await askJson(url, request("d", "k"), { ...TRACEPARENT, baggage: "tenant=gold" })).toBe(200);
    expect(await askJson(url, request("d", "k"), many)).toBe(200);
    await stop(program);
    const decisions = (await receiver.spans(4)).filter(({ name }) => name === DECISION);
    expect(decisions.map(({ traceId, parentSpanId }) => ({ traceId, parentSpanId }))).toEqual([
      { traceId: TRACE_ID, parentSpanId: CALLER_ID },
      { traceId: "a".repeat(32), parentSpanId: "b".repeat(16) },
    ]);
  });

  it("records why a call failed", async () => {
    const receiver = await startReceiver();
    const { program, target } = await serve({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${receiver.ports.http}` });
    expect(await askGrpc(target, request(""), TRACEPARENT)).toBe(3);
    await stop(program);
    const spans = await receiver.spans(2);
    expect(byName(spans, SERVER)).toMatchObject({ attributes: { "rpc.grpc.status_code": 3 }, status: { code: 0 } });
    expect(byName(spans, DECISION)).toMatchObject({
      attributes: { "error.type": "REQUEST_INVALID" },
      events: [{ name: "exception", attributes: { "exception.message": "rate limit domain must not be empty" } }],
    });
  });

  it("records a store that is gone, on the span of the store, too", async () => {
    const receiver = await startReceiver();
    const url = await startRedis();
    const { program, target } = await serve({
      ...redisSettings(url),
      KVSTORE_COMMAND_TIMEOUT: "200ms",
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${receiver.ports.http}`,
    });
    await stores[0]?.stop();
    expect(await askGrpc(target, request("d", "k"), TRACEPARENT)).toBe(14);
    await stop(program);
    const spans = await receiver.spans(3);
    expect(byName(spans, SERVER)).toMatchObject({ attributes: { "rpc.grpc.status_code": 14 }, status: { code: 2 } });
    expect(byName(spans, REDIS)).toMatchObject({
      attributes: { "pipeline length": 1 },
      events: [{ name: "exception" }],
    });
    expect(byName(spans, DECISION)).toMatchObject({ attributes: { "error.type": "STORE_UNAVAILABLE" } });
  });

  it.each(["http", "grpc"] as const)(
    "honours the certificate, the compression and the headers of OTEL_EXPORTER_OTLP_* over %s",
    async (protocol) => {
      const authority = await createAuthority({ commonName: "test", now: new Date(), validDays: 1 });
      const pair = await authority.issue({
        commonName: "receiver",
        dnsNames: ["localhost"],
        usage: "server",
        now: new Date(),
        validDays: 1,
      });
      const [certificate, key, ca] = [join(folder, "cert.pem"), join(folder, "key.pem"), join(folder, "ca.pem")];
      await writeFile(certificate, pair.certPem);
      await writeFile(key, pair.keyPem);
      await writeFile(ca, authority.certPem);
      const receiver = await startReceiver({ certPath: certificate, keyPath: key });
      const { program, url } = await serve({
        TRACING_EXPORTER_PROTOCOL: protocol,
        OTEL_EXPORTER_OTLP_ENDPOINT: `https://localhost:${receiver.ports[protocol]}`,
        OTEL_EXPORTER_OTLP_CERTIFICATE: ca,
        OTEL_EXPORTER_OTLP_COMPRESSION: "gzip",
        OTEL_EXPORTER_OTLP_TIMEOUT: "30000",
        OTEL_EXPORTER_OTLP_HEADERS: "x-tenant=gold",
      });
      expect(await askJson(url, request("d", "k"), TRACEPARENT)).toBe(200);
      await stop(program);
      const span = byName(await receiver.spans(2), DECISION);
      expect(span).toMatchObject({ via: protocol, traceId: TRACE_ID, headers: { "x-tenant": "gold" } });
      if (protocol === "http") expect(span.encoding).toBe("gzip");
    },
  );

  it.each(["http", "grpc"] as const)("answers and ends in time when there is no receiver over %s", async (protocol) => {
    const port = await reservePort();
    const { program, url, target } = await serve({
      TRACING_EXPORTER_PROTOCOL: protocol,
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    });
    for (let count = 0; count < 3; count++) {
      expect(await askJson(url, request("d", "none"), TRACEPARENT)).toBe(200);
      expect(await askGrpc(target, request("d", "none"), TRACEPARENT)).toBe(0);
    }
    const stoppedMs = performance.now();
    await stop(program);
    expect(performance.now() - stoppedMs).toBeLessThan(20_000); // Five seconds for the last spans, and a busy machine.
    expect(program.errors()).toMatch(/Cannot export (?:the last )?spans/);
  });
});
