// The method ShouldRateLimit: decodes a request, has it decided, and encodes the decision. Each call
// costs one object here.
import type { Log } from "@weir/common/log/log";
import type { Tracing } from "@weir/common/tracing/tracing";
import type { UnaryCall, UnaryMethod } from "@weir/http2/grpc/method";
import { GrpcStatus } from "@weir/http2/grpc/status";

import type { DecideError, Decider } from "../../decide/decider.ts";
import type { Decision } from "../../decide/decision.ts";
import type { RateLimitRequest } from "../../decide/request.ts";
import type { ServiceStatistics } from "../../statistics/service-statistics.ts";
import type { StatisticsCounter } from "../../statistics/statistic.ts";
import { GRPC_STATUS_OF } from "../grpc-status.ts";
import { ResponseTimes, type ResponseTimesDeps } from "../response-times.ts";
import { decideTraced, type TraceableCall } from "../traced-call.ts";
import { DecisionEncoder } from "./codec/decision-encoder.ts";
import { RequestDecoder, type RequestDecoderOptions } from "./codec/request-decoder.ts";
import { failMalformed } from "@weir/http2/grpc/malformed-message";

export interface ShouldRateLimitDeps extends ResponseTimesDeps {
  readonly decider: Decider;
  readonly tracing: Tracing;
  readonly statistics: ServiceStatistics;
  readonly log: Log;
}

/** The method. */
export class ShouldRateLimit implements UnaryMethod {
  readonly kind = "unary";
  readonly times: ResponseTimes;
  readonly encoder = new DecisionEncoder();
  readonly deps: ShouldRateLimitDeps;
  readonly #decoder: RequestDecoder;
  readonly #totalRequests: StatisticsCounter;

  constructor(deps: ShouldRateLimitDeps, options: RequestDecoderOptions) {
    const { totalRequests, responseTime } = deps.statistics.method("ShouldRateLimit");
    this.deps = deps;
    this.times = new ResponseTimes(responseTime, deps);
    this.#decoder = new RequestDecoder(options);
    this.#totalRequests = totalRequests;
  }

  handle(call: UnaryCall, bytes: Buffer, start: number, end: number): void {
    let request: RateLimitRequest;
    try {
      request = this.#decoder.decode(bytes, start, end);
    } catch (error) {
      failMalformed(call, error);
      return;
    }
    this.#totalRequests.add(1);
    decideTraced(this.deps, request, new RateLimitCall(call, this), "grpc");
  }
}

/** A call while it is being decided. */
class RateLimitCall implements TraceableCall {
  readonly deadlineMs: number | undefined;
  readonly #call: UnaryCall;
  readonly #method: ShouldRateLimit;
  readonly #startMs: number;

  constructor(call: UnaryCall, method: ShouldRateLimit) {
    this.deadlineMs = call.deadlineMs;
    this.#call = call;
    this.#method = method;
    this.#startMs = method.times.begin();
  }

  headers(): Readonly<Record<string, string>> {
    return this.#call.headers();
  }

  decided(decision: Decision): void {
    this.#method.times.end(this.#startMs);
    this.#call.reply(this.#method.encoder, decision);
  }

  failed(error: DecideError): void {
    const { times, deps } = this.#method;
    if (error.code === "INTERNAL") deps.log.error("Cannot decide a call", { error });
    times.end(this.#startMs);
    this.#call.fail(GrpcStatus[GRPC_STATUS_OF[error.code]], error.message);
  }
}
