// Tracing as the services see it: settings, a tracer when it is on, and a stop that flushes. The OpenTelemetry SDK (0.2 s to load) is behind
// tracing-sdk.ts and is loaded only when tracing is on.
import type { Context, Tracer } from "@opentelemetry/api";

import type { Log } from "../log/log.ts";
import type { EnvReader } from "../settings/read-env.ts";

/** Headers as Node gives them. */
export type TraceHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The TRACING_* settings. Where spans go is told by the standard OTEL_EXPORTER_OTLP_* variables, which the exporter reads by itself. */
export interface TracingSettings {
  readonly enabled: boolean;
  /** http is OTLP with protobuf over HTTP. */
  readonly protocol: "http" | "grpc";
  readonly serviceName: string;
  /** Empty: the attribute is left out. */
  readonly serviceNamespace: string;
  /** Undefined: a random version 4 UUID, drawn at start. */
  readonly serviceInstanceId: string | undefined;
  /** Share of the traces that begin here and are recorded, 0 to 1; a caller's decision wins over it. */
  readonly samplingRate: number;
}

/** Tracing while a service runs. Everything is undefined when it is off, so that a caller pays one comparison. */
export interface Tracing {
  readonly tracer: Tracer | undefined;
  /** The caller's place in its trace, read from its headers (tracecontext, B3, baggage); the parent to give to `tracer.startSpan`. */
  readonly extract: ((headers: TraceHeaders) => Context) | undefined;
  /** The headers that tell a callee of this place in the trace. */
  readonly inject: ((context: Context) => Record<string, string>) | undefined;
  /** Sends what is left and ends. */
  stop(): Promise<void>;
}

/** Reads the TRACING_* settings. */
export function readTracingSettings(read: EnvReader, defaults: { readonly serviceName: string }): TracingSettings {
  return {
    enabled: read.boolean("TRACING_ENABLED", { default: false, effect: "Records spans and exports them in OTLP." }),
    protocol: read.oneOf("TRACING_EXPORTER_PROTOCOL", {
      default: "http",
      choices: ["http", "grpc"],
      effect: "Protocol of the export; the destination is set by the standard OTEL_EXPORTER_OTLP_* variables.",
    }),
    serviceName: read.string("TRACING_SERVICE_NAME", { default: defaults.serviceName, effect: "Service name in spans." }),
    serviceNamespace: read.string("TRACING_SERVICE_NAMESPACE", { default: "", effect: "Service namespace in spans." }),
    serviceInstanceId: read.optionalString("TRACING_SERVICE_INSTANCE_ID", {
      effect: "Service instance in spans; a random version 4 UUID when not set.",
    }),
    samplingRate: read.ratio("TRACING_SAMPLING_RATE", {
      default: 1,
      effect: "Share of the traces beginning here that is recorded; where the caller has decided, that holds.",
    }),
  };
}

/** Starts tracing, or does nothing when the settings say so. */
export async function startTracing(settings: TracingSettings, deps: { readonly log: Log }): Promise<Tracing> {
  if (!settings.enabled) return { tracer: undefined, extract: undefined, inject: undefined, stop: () => Promise.resolve() };
  const { startSdk } = await import("./tracing-sdk.ts");
  return startSdk(settings, deps);
}
