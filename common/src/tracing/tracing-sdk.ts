// The OpenTelemetry SDK behind tracing.ts. Import it only through there: it is slow to load.
import { randomUUID } from "node:crypto";

import {
  type Context,
  context,
  diag,
  type DiagLogger,
  DiagLogLevel,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type TextMapGetter,
  type TextMapPropagator,
  type TextMapSetter,
  trace,
  type Tracer,
} from "@opentelemetry/api";
import {
  CompositePropagator,
  type ExportResult,
  ExportResultCode,
  W3CBaggagePropagator,
  W3CTraceContextPropagator,
} from "@opentelemetry/core";
import { B3InjectEncoding, B3Propagator } from "@opentelemetry/propagator-b3";
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import {
  BatchSpanProcessor,
  NodeTracerProvider,
  ParentBasedSampler,
  type ReadableSpan,
  type SpanExporter,
  TraceIdRatioBasedSampler,
} from "@opentelemetry/sdk-trace-node";

import type { Log } from "../log/log.ts";
import { RateLimitedLog } from "../log/rate-limited-log.ts";

/**
 * How long stop waits for the last spans to be exported, in milliseconds: a receiver that is down
 * must not delay the end of a service.
 */
const FLUSH_MAX_MS = 3000;

/** Shortest time between two warnings about the same problem, in milliseconds. */
const WARNING_INTERVAL_MS = 60_000;

/** Headers as Node gives them, with names in lower case. */
export type TraceHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Settings of the SDK. The exporter itself reads the destination from the standard
 * OTEL_EXPORTER_OTLP_* variables.
 */
export interface SdkSettings {
  /** http is OTLP with protobuf over HTTP. */
  readonly protocol: "http" | "grpc";
  readonly serviceName: string;
  /** Empty: the attribute is left out. */
  readonly serviceNamespace: string;
  /** Undefined: a random version 4 UUID, drawn at start. */
  readonly serviceInstanceId: string | undefined;
  /**
   * Share of the traces that begin here and are recorded, 0 to 1; a caller's decision wins over it.
   */
  readonly samplingRate: number;
}

/** Tracing while it is enabled. A place is a position in a trace. */
export class RunningTracing {
  readonly tracer: Tracer;
  readonly #propagator: TextMapPropagator;
  readonly #provider: NodeTracerProvider;
  readonly #log: Log;

  constructor(provider: NodeTracerProvider, propagator: TextMapPropagator, deps: { name: string; log: Log }) {
    this.tracer = provider.getTracer(deps.name);
    this.#provider = provider;
    this.#propagator = propagator;
    this.#log = deps.log;
  }

  /**
   * The caller's place, read from its headers (tracecontext, B3, baggage): the parent to give to
   * `tracer.startSpan`.
   */
  extract(headers: TraceHeaders): Context {
    return this.#propagator.extract(ROOT_CONTEXT, headers, HEADER_GETTER);
  }

  /** The headers that pass a place on to a server. */
  inject(from: Context): Record<string, string> {
    const headers: Record<string, string> = {};
    this.#propagator.inject(from, headers, HEADER_SETTER);
    return headers;
  }

  /** A span of kind SERVER; `tracer` makes others. */
  startServerSpan(name: string, attributes: Readonly<Record<string, string>>, parent: Context): Span {
    return this.tracer.startSpan(name, { kind: SpanKind.SERVER, attributes: { ...attributes } }, parent);
  }

  /** Marks a span as failed by a fault of this process. */
  markFailed(span: Span, message: string): void {
    span.setStatus({ code: SpanStatusCode.ERROR, message });
  }

  /** The place below a span. */
  below(parent: Context, span: Span): Context {
    return trace.setSpan(parent, span);
  }

  /** Returns true if a place is in a trace; false where a trace begins. */
  isInTrace(place: Context): boolean {
    return trace.getSpanContext(place) !== undefined;
  }

  /** Returns true if the span at a place is exported. Below one that is not, no span needs to be made. */
  isRecorded(place: Context): boolean {
    return trace.getSpan(place)?.isRecording() === true;
  }

  /** Runs a function at a place, which `active` returns in it and in what it starts. */
  run(place: Context, what: () => void): void {
    context.with(place, what);
  }

  /** The place of the running code. */
  active(): Context {
    return context.active();
  }

  /** Exports the remaining spans within three seconds, and ends. Logs a failure; never rejects. */
  async stop(): Promise<void> {
    trace.disable();
    context.disable();
    propagation.disable();
    await flush(this.#provider, this.#log);
    diag.disable();
  }
}

/** Starts the SDK and registers it for the process, so that libraries which record spans use it. */
export async function startSdk(settings: SdkSettings, { log }: { readonly log: Log }): Promise<RunningTracing> {
  // The exporter reports problems with its variables there only.
  diag.setLogger(diagnosticsOf(log), { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  const exporter = new ReportingExporter(await createExporter(settings.protocol), log);
  const provider = new NodeTracerProvider({
    // OTEL_RESOURCE_ATTRIBUTES, which operators of Kubernetes clusters inject, names the pod, its
    // node and the cluster.
    resource: defaultResource()
      .merge(detectResources({ detectors: [envDetector] }))
      .merge(resourceFromAttributes(resourceAttributes(settings))),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(settings.samplingRate) }),
    spanProcessors: [new BatchSpanProcessor(exporter)], // Bounded: it drops spans beyond a queue of 2048.
  });
  const propagator = new CompositePropagator({
    propagators: [
      new W3CTraceContextPropagator(),
      new B3Propagator({ injectEncoding: B3InjectEncoding.MULTI_HEADER }),
      new W3CBaggagePropagator(),
    ],
  });
  provider.register({ propagator });
  return new RunningTracing(provider, propagator, { name: settings.serviceName, log });
}

const HEADER_GETTER: TextMapGetter<TraceHeaders> = {
  keys: (headers) => Object.keys(headers),
  get: (headers, key) => {
    const value = headers[key.toLowerCase()]; // Node and gRPC have header names in lower case; B3 asks for X-B3-TraceId.
    return typeof value === "object" ? [...value] : value;
  },
};

const HEADER_SETTER: TextMapSetter<Record<string, string>> = {
  set: (headers, key, value) => {
    headers[key.toLowerCase()] = value;
  },
};

/** Ends the provider, which exports the remaining spans, and logs a failure. */
async function flush(provider: NodeTracerProvider, log: Log): Promise<void> {
  const timeout = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => timeout.reject(new Error(`the receiver did not accept them within ${FLUSH_MAX_MS} ms`)),
    FLUSH_MAX_MS,
  );
  try {
    await Promise.race([provider.shutdown(), timeout.promise]);
  } catch (error) {
    log.warn("Cannot export the last spans, they are lost", { error });
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Logs when exporting begins to fail and when it works again: the processor exports every five
 * seconds. Returns success to the processor, which would log a failure again and fail the shutdown.
 */
class ReportingExporter implements SpanExporter {
  readonly #exporter: SpanExporter;
  readonly #log: RateLimitedLog;

  constructor(exporter: SpanExporter, log: Log) {
    this.#exporter = exporter;
    this.#log = new RateLimitedLog(log, { intervalMs: WARNING_INTERVAL_MS });
  }

  export(spans: ReadableSpan[], resultCallback: (result: ExportResult) => void): void {
    this.#exporter.export(spans, (result) => {
      if (result.code === ExportResultCode.SUCCESS) this.#log.recovered("Exporting spans works again", {});
      else this.#log.warn("Cannot export spans, they are lost until this works again", { error: result.error });
      resultCallback({ code: ExportResultCode.SUCCESS });
    });
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown();
  }

  async forceFlush(): Promise<void> {
    await this.#exporter.forceFlush?.();
  }
}

/** Logs warnings and errors of the SDK, which repeat while a problem lasts. */
function diagnosticsOf(log: Log): DiagLogger {
  const warnings = new RateLimitedLog(log, { intervalMs: WARNING_INTERVAL_MS });
  const warn = (message: string, ...details: unknown[]): void => {
    const text = [message, ...details].map((part) => (part instanceof Error ? part.message : String(part))).join(" ");
    warnings.warn("OpenTelemetry reports a problem", { reason: text }, text);
  };
  const nothing = (): void => undefined;
  return { error: warn, warn, info: nothing, debug: nothing, verbose: nothing };
}

async function createExporter(protocol: SdkSettings["protocol"]): Promise<SpanExporter> {
  switch (protocol) {
    case "http": {
      const { OTLPTraceExporter } = await import("@opentelemetry/exporter-trace-otlp-proto");
      return new OTLPTraceExporter();
    }
    case "grpc": {
      const { OTLPTraceExporter } = await import("@opentelemetry/exporter-trace-otlp-grpc");
      return new OTLPTraceExporter();
    }
  }
}

function resourceAttributes(settings: SdkSettings): Record<string, string> {
  return {
    "service.name": settings.serviceName,
    ...(settings.serviceNamespace !== "" && { "service.namespace": settings.serviceNamespace }),
    "service.instance.id": settings.serviceInstanceId ?? randomUUID(),
  };
}
