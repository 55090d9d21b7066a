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

/**
 * How long stop waits for the last spans to be sent, in milliseconds: a receiver that is down must
 * not hold up the end of a service.
 */
const FLUSH_MAX_MS = 3000;

/**
 * Most different problems of the SDK that are told: they come from settings, and there are few of
 * those.
 */
const DIAGNOSTICS_MAX = 20;

/** Headers as Node gives them, with names in lower case. */
export type TraceHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * What the SDK is told. Where spans go is told by the standard OTEL_EXPORTER_OTLP_* variables,
 * which the exporter reads by itself.
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

/** Tracing that is on. */
export interface RunningTracing {
  readonly tracer: Tracer;
  /**
   * The caller's place in its trace, read from its headers (tracecontext, B3, baggage); the parent
   * to give to `tracer.startSpan`.
   */
  readonly extract: (headers: TraceHeaders) => Context;
  /** The headers that tell a callee of this place in the trace. */
  readonly inject: (from: Context) => Record<string, string>;
  /** A span of kind SERVER; others are made by the tracer. */
  readonly startServerSpan: (name: string, attributes: Readonly<Record<string, string>>, parent: Context) => Span;
  /** Marks what the span stands for as failed by a fault of this side. */
  readonly markFailed: (span: Span, message: string) => void;
  /** The place in the trace below the span. */
  readonly below: (parent: Context, span: Span) => Context;
  /** Whether a place is in a trace already; false where one begins. */
  readonly isInTrace: (place: Context) => boolean;
  /**
   * Whether the span at a place is one that will be sent. Below one that will not, no span is, so
   * that none needs to be made.
   */
  readonly isRecorded: (place: Context) => boolean;
  /**
   * Runs something at a place in the trace, which `active` tells until it returns, and wherever it
   * goes on asynchronously.
   */
  readonly run: (place: Context, what: () => void) => void;
  /** The place where the running code is. */
  readonly active: () => Context;
  /**
   * Sends what is left, within three seconds, and ends. Never fails: what could not be sent is
   * logged.
   */
  stop(): Promise<void>;
}

/**
 * Starts the SDK and makes it the process's own, so that libraries which record spans use it too.
 */
export async function startSdk(settings: SdkSettings, deps: { readonly log: Log }): Promise<RunningTracing> {
  // What the exporter does not understand in its variables it tells there and nowhere else.
  diag.setLogger(diagnosticsOf(deps.log), { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  const exporter = new ReportingExporter(await createExporter(settings.protocol), deps.log);
  const provider = new NodeTracerProvider({
    // OTEL_RESOURCE_ATTRIBUTES, which operators of Kubernetes clusters inject, tells the rest: the
    // pod, its node, the cluster.
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
  const tracer: Tracer = provider.getTracer(settings.serviceName);
  return {
    tracer,
    extract: (headers) => propagator.extract(ROOT_CONTEXT, headers, headerGetter),
    inject(from) {
      const headers: Record<string, string> = {};
      propagator.inject(from, headers, headerSetter);
      return headers;
    },
    startServerSpan: (name, attributes, parent) =>
      tracer.startSpan(name, { kind: SpanKind.SERVER, attributes: { ...attributes } }, parent),
    markFailed: (span, message) => void span.setStatus({ code: SpanStatusCode.ERROR, message }),
    below: (parent, span) => trace.setSpan(parent, span),
    isInTrace: (place) => trace.getSpanContext(place) !== undefined,
    isRecorded: (place) => trace.getSpan(place)?.isRecording() === true,
    run: (place, what) => context.with(place, what),
    active: () => context.active(),
    async stop() {
      trace.disable();
      context.disable();
      propagation.disable();
      await flush(provider, deps.log);
      diag.disable();
    },
  };
}

const headerGetter: TextMapGetter<TraceHeaders> = {
  keys: (headers) => Object.keys(headers),
  get: (headers, key) => {
    const value = headers[key.toLowerCase()]; // Node and gRPC hand out header names in lower case; B3 asks for X-B3-TraceId.
    return typeof value === "object" ? [...value] : value;
  },
};

const headerSetter: TextMapSetter<Record<string, string>> = {
  set: (headers, key, value) => {
    headers[key.toLowerCase()] = value;
  },
};

/**
 * Ends the provider, which sends what is left. Spans that cannot be sent are worth a line, not a
 * stop that fails.
 */
async function flush(provider: NodeTracerProvider, log: Log): Promise<void> {
  const timeout = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => timeout.reject(new Error(`the receiver did not take them within ${FLUSH_MAX_MS} ms`)),
    FLUSH_MAX_MS,
  );
  try {
    await Promise.race([provider.shutdown(), timeout.promise]);
  } catch (error) {
    log.warn("cannot send the last spans, they are lost", { error });
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Reports when exporting begins to fail and when it works again, not every failure: the processor
 * exports every five seconds. To the processor every export is a success, because all it does with
 * a failure is to report it a second time and to fail the shutdown.
 */
class ReportingExporter implements SpanExporter {
  readonly #exporter: SpanExporter;
  readonly #log: Log;
  #isFailing = false;

  constructor(exporter: SpanExporter, log: Log) {
    this.#exporter = exporter;
    this.#log = log;
  }

  export(spans: ReadableSpan[], resultCallback: (result: ExportResult) => void): void {
    this.#exporter.export(spans, (result) => {
      this.#report(result);
      resultCallback({ code: ExportResultCode.SUCCESS });
    });
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown();
  }

  async forceFlush(): Promise<void> {
    await this.#exporter.forceFlush?.();
  }

  #report({ code, error }: ExportResult): void {
    const isFailing = code !== ExportResultCode.SUCCESS;
    if (isFailing === this.#isFailing) return;
    this.#isFailing = isFailing;
    if (isFailing) this.#log.warn("cannot export spans, they are lost until this works again", { error });
    else this.#log.info("exporting spans works again");
  }
}

/**
 * Warnings and errors of the SDK. Several texts come in a row when something lasts, so each is told
 * once.
 */
function diagnosticsOf(log: Log): DiagLogger {
  const told = new Set<string>();
  const warn = (message: string, ...details: unknown[]): void => {
    const text = [message, ...details].map((part) => (part instanceof Error ? part.message : String(part))).join(" ");
    if (told.has(text) || told.size >= DIAGNOSTICS_MAX) return;
    told.add(text);
    log.warn("OpenTelemetry reports a problem", { reason: text });
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
