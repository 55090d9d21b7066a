// Settings and start of tracing. Loads the OpenTelemetry SDK (0.2 s) only when tracing is enabled.
import type { Log } from "../log/log.ts";
import type { EnvReader } from "../settings/read-env.ts";
import type { RunningTracing, SdkSettings } from "./tracing-sdk.ts";

export interface TracingSettings extends SdkSettings {
  readonly enabled: boolean;
}

/** Tracing while a service runs; `tracer` is undefined when it is disabled. */
export type Tracing = RunningTracing | TracingOff;

/** Tracing that is disabled. */
export interface TracingOff {
  readonly tracer: undefined;
  readonly extract: undefined;
  readonly inject: undefined;
  /** Does nothing. */
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
    serviceName: read.string("TRACING_SERVICE_NAME", {
      default: defaults.serviceName,
      effect: "Service name in spans.",
    }),
    serviceNamespace: read.string("TRACING_SERVICE_NAMESPACE", { default: "", effect: "Service namespace in spans." }),
    serviceInstanceId: read.optionalString("TRACING_SERVICE_INSTANCE_ID", {
      effect: "Service instance in spans; a random version 4 UUID when not set.",
    }),
    samplingRate: read.ratio("TRACING_SAMPLING_RATE", {
      default: 1,
      effect: "Share of the traces that begin here and are recorded; the decision of a caller has precedence.",
    }),
  };
}

/** Starts tracing if the settings enable it. */
export async function startTracing(settings: TracingSettings, deps: { readonly log: Log }): Promise<Tracing> {
  if (!settings.enabled)
    return { tracer: undefined, extract: undefined, inject: undefined, stop: () => Promise.resolve() };
  const { startSdk } = await import("./tracing-sdk.ts");
  return startSdk(settings, deps);
}
