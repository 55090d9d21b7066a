// The call of weir-client in a span, exported in OTLP to where the OTEL_EXPORTER_OTLP_* variables
// say. The trace of the service starts with this span.
import { createLog } from "@weir/common/log/log";
import { startSdk } from "@weir/common/tracing/tracing-sdk";
import type { RateLimitResponse } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";

import type { ClientArguments } from "./arguments.ts";
import { ask } from "./ask.ts";

/** Version and flags of traceparent: W3C Trace Context, section 3.2. */
const VERSION = "00";
const FLAGS_SAMPLED = "01";

/**
 * Sends the request in a span. A span that cannot be exported is logged to standard error and fails
 * nothing.
 */
export async function askTraced(options: ClientArguments, protocol: "http" | "grpc"): Promise<RateLimitResponse> {
  const tracing = await startSdk(
    { protocol, serviceName: "weir-client", serviceNamespace: "", serviceInstanceId: undefined, samplingRate: 1 },
    { log: createLog({ level: "warn", format: "text" }) },
  );
  const span = tracing.tracer.startSpan("ask", { attributes: { domain: options.domain } });
  const { traceId, spanId } = span.spanContext();
  try {
    return await ask(options, { traceparent: `${VERSION}-${traceId}-${spanId}-${FLAGS_SAMPLED}` });
  } catch (error) {
    if (error instanceof Error) span.recordException(error);
    throw error;
  } finally {
    span.end();
    await tracing.stop();
  }
}
