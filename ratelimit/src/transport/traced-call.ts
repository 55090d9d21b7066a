// The span around a decision, for transports. With tracing off it costs one comparison per call.
import type { Tracing } from "@weir/common/tracing/tracing";
import type { RunningTracing, TraceHeaders } from "@weir/common/tracing/tracing-sdk";

import type { DecideError } from "../decide/decide-error.ts";
import type { Decider, DecisionCall } from "../decide/decider.ts";
import type { Decision } from "../decide/decision.ts";
import type { RateLimitRequest } from "../decide/request.ts";

/** The reference's name of the span and of its attribute with the request. */
const SPAN_NAME = "ShouldRateLimit Execution";
const REQUEST_ATTRIBUTE = "request string";

/** Longest request that goes into a span, in characters. */
const REQUEST_MAX = 1024;

type Span = ReturnType<RunningTracing["tracer"]["startSpan"]>;

/** Decides within a span that continues the caller's trace; without one when tracing is off. `headers` are asked for only when it is on. */
export function decideTraced(
  { decider, tracing }: { readonly decider: Decider; readonly tracing: Tracing },
  request: RateLimitRequest,
  call: DecisionCall & { headers(): TraceHeaders },
): void {
  if (tracing.tracer === undefined) {
    decider.decide(request, call);
    return;
  }
  const attributes = { domain: request.domain, [REQUEST_ATTRIBUTE]: describe(request) };
  const span = tracing.tracer.startSpan(SPAN_NAME, { attributes }, tracing.extract(call.headers()));
  decider.decide(request, new TracedCall(call, span));
}

class TracedCall implements DecisionCall {
  readonly deadlineMs: number | undefined;
  readonly #call: DecisionCall;
  readonly #span: Span;

  constructor(call: DecisionCall, span: Span) {
    this.deadlineMs = call.deadlineMs;
    this.#call = call;
    this.#span = span;
  }

  decided(decision: Decision): void {
    this.#span.end();
    this.#call.decided(decision);
  }

  failed(error: DecideError): void {
    this.#span.setAttribute("error.type", error.code);
    this.#span.recordException(error);
    this.#span.end();
    this.#call.failed(error);
  }
}

function describe({ descriptors }: RateLimitRequest): string {
  const texts = descriptors.map(({ entries }) => `[${entries.map(({ key, value }) => `${key}=${value}`).join(",")}]`);
  return texts.join(" ").slice(0, REQUEST_MAX);
}
