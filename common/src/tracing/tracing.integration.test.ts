// Spans on the wire: small OTLP receivers, over HTTP and over gRPC, that read enough of the
// protobuf to see what arrived.
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer as createHttp2Server, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo, Server } from "node:net";
import { buffer } from "node:stream/consumers";

import { afterEach, describe, expect, it, vi } from "vitest";

import { createLog, type Log, silentLog } from "../log/log.ts";
import { startTracing, type Tracing, type TracingSettings } from "./tracing.ts";

const settings: TracingSettings = {
  enabled: true,
  protocol: "http",
  serviceName: "RateLimit",
  serviceNamespace: "edge",
  serviceInstanceId: "pod-7",
  samplingRate: 1,
};

/** Longest wait for something to arrive, in milliseconds. */
const WAIT = { timeout: 30_000 };

/** The caller's trace of the tests, in the headers of W3C and of B3. */
const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT_ID = "00f067aa0ba902b7";

interface ReceivedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly parentId: string;
  readonly resource: Readonly<Record<string, string>>;
}

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
  vi.unstubAllEnvs();
});

async function start(overrides: Partial<TracingSettings> = {}): Promise<Tracing> {
  const tracing = await startTracing({ ...settings, ...overrides }, { log: silentLog() });
  closers.push(() => tracing.stop());
  return tracing;
}

function recordedLog(): { log: Log; lines: unknown[] } {
  const lines: unknown[] = [];
  return {
    log: createLog({ level: "info", format: "json", write: (line) => void lines.push(JSON.parse(line)) }),
    lines,
  };
}

/** Listens on a free port and points the exporter there. */
async function open(server: Server): Promise<void> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

/** An OTLP/HTTP receiver; `status` is asked at each export. */
async function openHttpReceiver(status: () => number = () => 200): Promise<ReceivedSpan[]> {
  const spans: ReceivedSpan[] = [];
  const server = createHttpServer((request, response) => {
    void buffer(request).then((body) => {
      if (request.url === "/v1/traces" && request.headers["content-type"] === "application/x-protobuf")
        spans.push(...decodeSpans(body));
      response.writeHead(status(), { "content-type": "application/x-protobuf" }).end();
    });
  });
  await open(server);
  closers.push(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  return spans;
}

/**
 * An OTLP/gRPC receiver: a message is five bytes of frame and the same protobuf, and the answer is
 * an empty message.
 */
async function openGrpcReceiver(): Promise<ReceivedSpan[]> {
  const spans: ReceivedSpan[] = [];
  const sessions = new Set<ServerHttp2Session>();
  const server = createHttp2Server();
  server.on("session", (session) => sessions.add(session));
  server.on("stream", (stream: ServerHttp2Stream, headers) => {
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    void buffer(stream).then((body) => {
      if (headers[":path"] === "/opentelemetry.proto.collector.trace.v1.TraceService/Export")
        spans.push(...decodeSpans(body.subarray(5)));
      stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
      stream.end(Buffer.alloc(5));
    });
  });
  await open(server);
  closers.push(async () => {
    for (const session of sessions) session.destroy();
    server.close();
    await once(server, "close");
  });
  return spans;
}

describe("startTracing() export", () => {
  it.each([
    { protocol: "http", openReceiver: openHttpReceiver },
    { protocol: "grpc", openReceiver: openGrpcReceiver },
  ] as const)(
    "startTracing() sends spans with the resource when the protocol is $protocol and tracing stops",
    async ({ protocol, openReceiver }) => {
      const received = await openReceiver();
      const tracing = await start({ protocol });
      tracing.tracer!.startSpan("ShouldRateLimit Execution").end();
      await tracing.stop();
      expect(received).toMatchObject([
        {
          name: "ShouldRateLimit Execution",
          parentId: "",
          resource: { "service.name": "RateLimit", "service.namespace": "edge", "service.instance.id": "pod-7" },
        },
      ]);
    },
  );

  it("startTracing() draws an instance id and leaves an empty namespace out when neither is set", async () => {
    const received = await openHttpReceiver();
    const tracing = await start({ serviceNamespace: "", serviceInstanceId: undefined });
    tracing.tracer!.startSpan("a").end();
    await tracing.stop();
    const resource = received[0]!.resource;
    expect(resource["service.instance.id"]).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    expect(resource).not.toHaveProperty("service.namespace");
  });

  it("startTracing() adds the attributes of OTEL_RESOURCE_ATTRIBUTES, over which the settings win", async () => {
    const received = await openHttpReceiver();
    vi.stubEnv("OTEL_RESOURCE_ATTRIBUTES", "k8s.pod.name=pod-7-x,service.namespace=other");
    const tracing = await start();
    tracing.tracer!.startSpan("a").end();
    await tracing.stop();
    expect(received[0]?.resource).toMatchObject({ "k8s.pod.name": "pod-7-x", "service.namespace": "edge" });
  });

  it.each(["http", "grpc"] as const)(
    "startTracing() tells of variables of the exporter that it cannot use over %s",
    async (protocol) => {
      vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", "https://localhost:1");
      vi.stubEnv("OTEL_EXPORTER_OTLP_CERTIFICATE", "/nonexistent/ca.pem");
      vi.stubEnv("OTEL_EXPORTER_OTLP_TIMEOUT", "soon");
      const { log, lines } = recordedLog();
      const tracing = await startTracing({ ...settings, protocol }, { log });
      tracing.tracer!.startSpan("a").end();
      await tracing.stop();
      const reasons = lines
        .map((line) => (line as { reason?: string }).reason)
        .filter((reason) => reason !== undefined);
      expect(reasons).toEqual([
        expect.stringContaining("OTEL_EXPORTER_OTLP_TIMEOUT"),
        expect.stringContaining("root certificate"),
      ]);
    },
  );

  it("startTracing() warns once when the receiver refuses spans", async () => {
    await openHttpReceiver(() => 400);
    const { log, lines } = recordedLog();
    const tracing = await startTracing(settings, { log });
    tracing.tracer!.startSpan("a").end();
    await tracing.stop();
    expect(lines).toMatchObject([
      {
        level: "warning",
        "@message": "Cannot export spans, they are lost until this works again",
        error: "Bad Request",
      },
    ]);
  });

  it("startTracing() says when exporting works again after it has warned", async () => {
    vi.stubEnv("OTEL_BSP_SCHEDULE_DELAY", "20");
    const statuses = [400, 400, 200];
    const received = await openHttpReceiver(() => statuses.shift() ?? 200);
    const { log, lines } = recordedLog();
    const tracing = await startTracing(settings, { log });
    closers.push(() => tracing.stop());
    for (const count of [1, 2, 3]) {
      tracing.tracer!.startSpan("a").end();
      await expect.poll(() => received.length, WAIT).toBe(count);
    }
    await expect
      .poll(() => lines, WAIT)
      .toMatchObject([
        { level: "warning", "@message": "Cannot export spans, they are lost until this works again" },
        { level: "info", "@message": "Exporting spans works again" },
      ]);
  });

  it("stop() gives up with a warning when the receiver takes the spans and never answers", async () => {
    const server = createHttpServer(() => undefined);
    await open(server);
    closers.push(async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    });
    const { log, lines } = recordedLog();
    const tracing = await startTracing(settings, { log });
    tracing.tracer!.startSpan("a").end();
    await tracing.stop();
    expect(lines).toMatchObject([
      {
        level: "warning",
        "@message": "Cannot export the last spans, they are lost",
        error: "the receiver did not accept them within 3000 ms",
      },
    ]);
  });
});

describe("startTracing() sampling and propagation", () => {
  const sampledHeaders = { traceparent: `00-${TRACE_ID}-${PARENT_ID}-01` };
  const unsampledHeaders = { traceparent: `00-${TRACE_ID}-${PARENT_ID}-00` };

  it.each([
    { samplingRate: 0, headers: {}, names: [] },
    { samplingRate: 1, headers: {}, names: ["a"] },
    { samplingRate: 0, headers: sampledHeaders, names: ["a"] },
    { samplingRate: 1, headers: unsampledHeaders, names: [] },
  ])(
    "startTracing() records $names when the rate is $samplingRate and the caller sends $headers",
    async ({ samplingRate, headers, names }) => {
      const received = await openHttpReceiver();
      const tracing = await start({ samplingRate });
      tracing.tracer!.startSpan("a", {}, tracing.extract!(headers)).end();
      await tracing.stop();
      expect(received.map((span) => span.name)).toEqual(names);
    },
  );

  it.each([
    { form: "tracecontext", headers: sampledHeaders },
    { form: "B3 in one header", headers: { b3: `${TRACE_ID}-${PARENT_ID}-1` } },
    {
      form: "B3 in several headers",
      headers: { "x-b3-traceid": TRACE_ID, "x-b3-spanid": PARENT_ID, "x-b3-sampled": "1" },
    },
    { form: "a list of one value", headers: { traceparent: [`00-${TRACE_ID}-${PARENT_ID}-01`] } },
  ])("extract() continues the caller's trace when it comes as $form", async ({ headers }) => {
    const received = await openHttpReceiver();
    const tracing = await start();
    tracing.tracer!.startSpan("a", {}, tracing.extract!(headers)).end();
    await tracing.stop();
    expect(received).toMatchObject([{ traceId: TRACE_ID, parentId: PARENT_ID }]);
  });

  it("inject() writes trace and baggage for the callee when the caller sent them", async () => {
    await openHttpReceiver();
    const tracing = await start();
    const headers = tracing.inject!(tracing.extract!({ ...sampledHeaders, baggage: "tenant=gold" }));
    expect(headers).toEqual({
      traceparent: `00-${TRACE_ID}-${PARENT_ID}-01`,
      "x-b3-traceid": TRACE_ID,
      "x-b3-spanid": PARENT_ID,
      "x-b3-sampled": "1",
      baggage: "tenant=gold",
    });
  });
});

// The messages of opentelemetry/proto/collector/trace/v1/trace_service.proto and below it, as far
// as the tests look.

function decodeSpans(request: Buffer): ReceivedSpan[] {
  return messagesIn(request, 1).flatMap((resourceSpans) => {
    const resource = Object.fromEntries(messagesIn(messagesIn(resourceSpans, 1)[0]!, 1).map(decodeAttribute));
    const spans = messagesIn(resourceSpans, 2).flatMap((scopeSpans) => messagesIn(scopeSpans, 2));
    return spans.map((span) => ({
      name: textIn(span, 5, "utf8"),
      traceId: textIn(span, 1, "hex"),
      parentId: textIn(span, 4, "hex"),
      resource,
    }));
  });
}

function decodeAttribute(attribute: Buffer): [key: string, value: string] {
  return [textIn(attribute, 1, "utf8"), textIn(messagesIn(attribute, 2)[0]!, 1, "utf8")];
}

function textIn(message: Buffer, field: number, encoding: "utf8" | "hex"): string {
  return messagesIn(message, field)[0]?.toString(encoding) ?? "";
}

/** The contents of every length-delimited field with this number. */
function messagesIn(message: Buffer, wanted: number): Buffer[] {
  const found: Buffer[] = [];
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = message[at++]!;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < message.length) {
    const tag = varint();
    const wireType = tag & 7;
    if (wireType === 0) varint();
    else if (wireType === 1) at += 8;
    else if (wireType === 5) at += 4;
    else if (wireType === 2) {
      const length = varint();
      if (tag >> 3 === wanted) found.push(message.subarray(at, at + length));
      at += length;
    } else throw new Error(`unknown wire type ${wireType}`);
  }
  return found;
}
