// The spans around a decision: of the decision itself, of the gRPC server, and of the JSON answer.
// With tracing off it costs one comparison per call.
import { toJsonString } from "@bufbuild/protobuf";
import type { Tracing } from "@weir/common/tracing/tracing";
import type { RunningTracing, TraceHeaders } from "@weir/common/tracing/tracing-sdk";
import { RateLimitResponseSchema } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { GrpcStatus, type GrpcStatusName } from "@weir/http2/grpc/status";

import type { Decider, DecisionCall } from "../decide/decider.ts";
import type { RateLimitRequest } from "../decide/request.ts";
import { GRPC_STATUS_OF } from "./grpc-status.ts";
import { responseMessage } from "./response-message.ts";

/** envoyproxy/ratelimit's names of spans and of their attributes. */
const DECISION_SPAN = "ShouldRateLimit Execution";
const REQUEST_ATTRIBUTE = "request string";
const ANSWER_SPAN = "NewJsonHandler Remaining Execution";
const ANSWER_ATTRIBUTE = "response";

/** The span of a gRPC server, by OpenTelemetry's conventions. */
const RPC_SERVICE = "envoy.service.ratelimit.v3.RateLimitService";
const RPC_METHOD = "ShouldRateLimit";
const RPC_ATTRIBUTES = { "rpc.system": "grpc", "rpc.service": RPC_SERVICE, "rpc.method": RPC_METHOD };
const RPC_STATUS_ATTRIBUTE = "rpc.grpc.status_code";

/** The status codes that are faults of the server by convention. */
const FAULTS: ReadonlySet<GrpcStatusName> = new Set(["DEADLINE_EXCEEDED", "INTERNAL", "UNAVAILABLE"]);

/** Longest request or answer that goes into a span, in characters. */
const TEXT_MAX = 1024;

type Span = ReturnType<RunningTracing["tracer"]["startSpan"]>;
type TraceContext = ReturnType<RunningTracing["extract"]>;

/** A call with headers, which are read only when tracing is on. */
export interface TraceableCall extends DecisionCall {
  /** The caller's headers. */
  headers(): TraceHeaders;
}

/** Decides within spans that continue the caller's trace; without any when tracing is off. */
export function decideTraced(
  { decider, tracing }: { readonly decider: Decider; readonly tracing: Tracing },
  request: RateLimitRequest,
  call: TraceableCall,
  transport: "grpc" | "json",
): void {
  if (tracing.tracer === undefined) {
    decider.decide(request, call);
    return;
  }
  const caller = tracing.extract(call.headers());
  if (transport === "json") {
    decideInSpan({ decider, tracing }, request, caller, (decision) => traceJson(tracing, call, { caller, decision }));
    return;
  }
  const server = tracing.startServerSpan(`${RPC_SERVICE}/${RPC_METHOD}`, RPC_ATTRIBUTES, caller);
  // No span below one that is not sampled would be sent. Most calls are not sampled, and cost no
  // more than this.
  if (!server.isRecording()) {
    decider.decide(request, call);
    return;
  }
  // The spans of the server and of the decision are siblings below the caller's, as in
  // envoyproxy/ratelimit. In a trace that begins here the decision's span is below the server's, so
  // that it is one trace.
  const parent = tracing.isInTrace(caller) ? caller : tracing.below(caller, server);
  decideInSpan({ decider, tracing }, request, parent, () => traceGrpc(tracing, call, server));
}

/** Decides in a span below `parent`; `callIn` makes the call for the context of that span. */
function decideInSpan(
  { decider, tracing }: { readonly decider: Decider; readonly tracing: RunningTracing },
  request: RateLimitRequest,
  parent: TraceContext,
  callIn: (context: TraceContext) => DecisionCall,
): void {
  const attributes = { domain: request.domain, [REQUEST_ATTRIBUTE]: describeRequest(request) };
  const span = tracing.tracer.startSpan(DECISION_SPAN, { attributes }, parent);
  const context = tracing.below(parent, span);
  const call = callIn(context);
  const traced: DecisionCall = {
    deadlineMs: call.deadlineMs,
    decided(decision) {
      span.end();
      call.decided(decision);
    },
    failed(error) {
      span.setAttribute("error.type", error.code);
      span.recordException(error);
      span.end();
      call.failed(error);
    },
  };
  tracing.run(context, () => decider.decide(request, traced));
}

/** A call over gRPC, whose answer ends the span of the server. */
function traceGrpc(tracing: RunningTracing, call: DecisionCall, server: Span): DecisionCall {
  return {
    deadlineMs: call.deadlineMs,
    decided(decision) {
      call.decided(decision);
      server.setAttribute(RPC_STATUS_ATTRIBUTE, GrpcStatus.OK);
      server.end();
    },
    failed(error) {
      call.failed(error);
      const status = GRPC_STATUS_OF[error.code];
      server.setAttribute(RPC_STATUS_ATTRIBUTE, GrpcStatus[status]);
      if (FAULTS.has(status)) tracing.markFailed(server, error.message);
      server.end();
    },
  };
}

/** A call over HTTP, whose answer has a span of its own. */
function traceJson(
  tracing: RunningTracing,
  call: DecisionCall,
  { caller, decision: decisionContext }: { readonly caller: TraceContext; readonly decision: TraceContext },
): DecisionCall {
  const parent = tracing.isInTrace(caller) ? caller : decisionContext;
  return {
    deadlineMs: call.deadlineMs,
    decided(decision) {
      const text = toJsonString(RateLimitResponseSchema, responseMessage(decision)).slice(0, TEXT_MAX);
      const span = tracing.tracer.startSpan(ANSWER_SPAN, { attributes: { [ANSWER_ATTRIBUTE]: text } }, parent);
      call.decided(decision);
      span.end();
    },
    failed: (error) => call.failed(error),
  };
}

function describeRequest({ descriptors }: RateLimitRequest): string {
  const texts = descriptors.map(({ entries }) => `[${entries.map(({ key, value }) => `${key}=${value}`).join(",")}]`);
  return texts.join(" ").slice(0, TEXT_MAX);
}
