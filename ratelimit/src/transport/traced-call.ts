// The spans around a decision: of the decision itself, of the gRPC server, and of the JSON answer.
// With tracing off it costs one comparison per call.
import { toJsonString } from "@bufbuild/protobuf";
import type { Tracing } from "@weir/common/tracing/tracing";
import type { RunningTracing, TraceHeaders } from "@weir/common/tracing/tracing-sdk";
import { RateLimitResponseSchema } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";

import type { DecideError } from "../decide/decide-error.ts";
import type { Decider, DecisionCall } from "../decide/decider.ts";
import type { Decision } from "../decide/decision.ts";
import type { RateLimitRequest } from "../decide/request.ts";
import { GRPC_STATUS_OF, type GrpcStatusName } from "./grpc-status.ts";
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
const RPC_STATUS_OK = 0;

/** Numbers of the gRPC status codes, and which of them are faults of the server by convention. */
const RPC_STATUS: Readonly<Record<GrpcStatusName, { readonly code: number; readonly isFault: boolean }>> = {
  INVALID_ARGUMENT: { code: 3, isFault: false },
  DEADLINE_EXCEEDED: { code: 4, isFault: true },
  RESOURCE_EXHAUSTED: { code: 8, isFault: false },
  INTERNAL: { code: 13, isFault: true },
  UNAVAILABLE: { code: 14, isFault: true },
};

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
    new TracedJsonCall(tracing, call, caller).decide(decider, request);
    return;
  }
  const server = tracing.startServerSpan(`${RPC_SERVICE}/${RPC_METHOD}`, RPC_ATTRIBUTES, caller);
  // No span below one that is not sampled would be sent. Most calls are not sampled, and cost no
  // more than this.
  if (server.isRecording()) new TracedGrpcCall(tracing, call, { caller, server }).decide(decider, request);
  else decider.decide(request, call);
}

abstract class TracedCall implements DecisionCall {
  readonly deadlineMs: number | undefined;
  protected readonly tracing: RunningTracing;
  protected readonly call: DecisionCall;
  #span: Span | undefined;

  constructor(tracing: RunningTracing, call: DecisionCall) {
    this.tracing = tracing;
    this.call = call;
    this.deadlineMs = call.deadlineMs;
  }

  abstract decide(decider: Decider, request: RateLimitRequest): void;

  decided(decision: Decision): void {
    this.#span?.end();
    this.answer(decision);
  }

  failed(error: DecideError): void {
    this.#span?.setAttribute("error.type", error.code);
    this.#span?.recordException(error);
    this.#span?.end();
    this.refuse(error);
  }

  protected abstract answer(decision: Decision): void;
  protected abstract refuse(error: DecideError): void;

  /** Begins the span of the decision below `parent`; returns its context. */
  protected begin(parent: TraceContext, request: RateLimitRequest): TraceContext {
    const attributes = { domain: request.domain, [REQUEST_ATTRIBUTE]: describeRequest(request) };
    this.#span = this.tracing.tracer.startSpan(DECISION_SPAN, { attributes }, parent);
    return this.tracing.below(parent, this.#span);
  }
}

/**
 * A call over gRPC. The spans of the server and of the decision are siblings below the caller's, as
 * in envoyproxy/ratelimit. In a trace that begins here the decision's span is below the server's, so
 * that it is one trace.
 */
class TracedGrpcCall extends TracedCall {
  readonly #caller: TraceContext;
  readonly #server: Span;

  constructor(
    tracing: RunningTracing,
    call: DecisionCall,
    { caller, server }: { readonly caller: TraceContext; readonly server: Span },
  ) {
    super(tracing, call);
    this.#caller = caller;
    this.#server = server;
  }

  decide(decider: Decider, request: RateLimitRequest): void {
    const { tracing } = this;
    const parent = tracing.isInTrace(this.#caller) ? this.#caller : tracing.below(this.#caller, this.#server);
    tracing.run(this.begin(parent, request), () => decider.decide(request, this));
  }

  protected answer(decision: Decision): void {
    this.call.decided(decision);
    this.#server.setAttribute(RPC_STATUS_ATTRIBUTE, RPC_STATUS_OK);
    this.#server.end();
  }

  protected refuse(error: DecideError): void {
    this.call.failed(error);
    const { code, isFault } = RPC_STATUS[GRPC_STATUS_OF[error.code]];
    this.#server.setAttribute(RPC_STATUS_ATTRIBUTE, code);
    if (isFault) this.tracing.markFailed(this.#server, error.message);
    this.#server.end();
  }
}

/** A call over HTTP: making and sending the answer has a span of its own. */
class TracedJsonCall extends TracedCall {
  #context: TraceContext;

  constructor(tracing: RunningTracing, call: DecisionCall, caller: TraceContext) {
    super(tracing, call);
    this.#context = caller;
  }

  decide(decider: Decider, request: RateLimitRequest): void {
    const { tracing } = this;
    const decision = this.begin(this.#context, request);
    if (!tracing.isInTrace(this.#context)) this.#context = decision;
    tracing.run(decision, () => decider.decide(request, this));
  }

  protected answer(decision: Decision): void {
    const attributes = {
      [ANSWER_ATTRIBUTE]: toJsonString(RateLimitResponseSchema, responseMessage(decision)).slice(0, TEXT_MAX),
    };
    const span = this.tracing.tracer.startSpan(ANSWER_SPAN, { attributes }, this.#context);
    this.call.decided(decision);
    span.end();
  }

  protected refuse(error: DecideError): void {
    this.call.failed(error);
  }
}

function describeRequest({ descriptors }: RateLimitRequest): string {
  const texts = descriptors.map(({ entries }) => `[${entries.map(({ key, value }) => `${key}=${value}`).join(",")}]`);
  return texts.join(" ").slice(0, TEXT_MAX);
}
