// The call of weir-client within a span of its own, exported in OTLP, so that the trace of the
// service begins here. Where spans go is told by the standard OTEL_EXPORTER_OTLP_* variables. The
// call itself is ask.ts.
import type { Log } from "@weir/common/log/log";
import { startSdk } from "@weir/common/tracing/tracing-sdk";
import type { RateLimitResponse } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";

import { ask } from "./ask.ts";
import type { ClientArguments } from "./client-arguments.ts";

/** Sampled and of the only version there is: W3C Trace Context, section 3.2. */
const VERSION = "00";
const FLAGS_SAMPLED = "01";

/** Asks once, within a span. Spans that cannot be sent are told in `log` and fail nothing. */
export async function askTraced(
  options: ClientArguments,
  protocol: "http" | "grpc",
  deps: { readonly log: Log },
): Promise<RateLimitResponse> {
  const tracing = await startSdk(
    { protocol, serviceName: "weir-client", serviceNamespace: "", serviceInstanceId: undefined, samplingRate: 1 },
    deps,
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
