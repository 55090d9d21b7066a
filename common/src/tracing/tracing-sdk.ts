// The OpenTelemetry SDK behind tracing.ts. Import it only through there: it is slow to load.
import { randomUUID } from "node:crypto";

import { context, propagation, ROOT_CONTEXT, type TextMapGetter, type TextMapSetter, trace } from "@opentelemetry/api";
import {
  CompositePropagator,
  type ExportResult,
  ExportResultCode,
  W3CBaggagePropagator,
  W3CTraceContextPropagator,
} from "@opentelemetry/core";
import { B3InjectEncoding, B3Propagator } from "@opentelemetry/propagator-b3";
import { defaultResource, resourceFromAttributes } from "@opentelemetry/resources";
import {
  BatchSpanProcessor,
  NodeTracerProvider,
  ParentBasedSampler,
  type ReadableSpan,
  type SpanExporter,
  TraceIdRatioBasedSampler,
} from "@opentelemetry/sdk-trace-node";

import type { Log } from "../log/log.ts";
import type { TraceHeaders, Tracing, TracingSettings } from "./tracing.ts";

/** How long stop waits for the last spans to be sent, in milliseconds: a receiver that is down must not hold up the end of a service. */
const FLUSH_MAX_MS = 3000;

/** Starts the SDK and makes it the process's own, so that libraries which record spans use it too. */
export async function startSdk(settings: TracingSettings, deps: { readonly log: Log }): Promise<Tracing> {
  const exporter = new ReportingExporter(await createExporter(settings.protocol), deps.log);
  const provider = new NodeTracerProvider({
    resource: defaultResource().merge(resourceFromAttributes(resourceAttributes(settings))),
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
  return {
    tracer: provider.getTracer(settings.serviceName),
    extract: (headers) => propagator.extract(ROOT_CONTEXT, headers, headerGetter),
    inject(from) {
      const headers: Record<string, string> = {};
      propagator.inject(from, headers, headerSetter);
      return headers;
    },
    async stop() {
      trace.disable();
      context.disable();
      propagation.disable();
      await flush(provider, deps.log);
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

/** Ends the provider, which sends what is left. Spans that cannot be sent are worth a line, not a stop that fails. */
async function flush(provider: NodeTracerProvider, log: Log): Promise<void> {
  const timeout = Promise.withResolvers<never>();
  const timer = setTimeout(() => timeout.reject(new Error(`the receiver did not take them within ${FLUSH_MAX_MS} ms`)), FLUSH_MAX_MS);
  try {
    await Promise.race([provider.shutdown(), timeout.promise]);
  } catch (error) {
    log.warn("cannot send the last spans, they are lost", { error });
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Reports when exporting begins to fail and when it works again, not every failure: the processor exports every five seconds. To the processor
 * every export is a success, because all it does with a failure is to report it a second time and to fail the shutdown.
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

async function createExporter(protocol: TracingSettings["protocol"]): Promise<SpanExporter> {
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

function resourceAttributes(settings: TracingSettings): Record<string, string> {
  return {
    "service.name": settings.serviceName,
    ...(settings.serviceNamespace !== "" && { "service.namespace": settings.serviceNamespace }),
    "service.instance.id": settings.serviceInstanceId ?? randomUUID(),
  };
}
