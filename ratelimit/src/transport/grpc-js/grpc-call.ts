// One ShouldRateLimit call of grpc-js while it is being decided.
import { type sendUnaryData, type ServerUnaryCall, status } from "@grpc/grpc-js";
import type { Log } from "@weir/common/log/log";
import type { TraceHeaders } from "@weir/common/tracing/tracing-sdk";
import type { RateLimitRequest, RateLimitResponse } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";

import type { DecideError, DecisionCall } from "../../decide/decider.ts";
import type { Decision } from "../../decide/decision.ts";
import type { StatisticsTimer } from "../../statistics/statistics-store.ts";
import { GRPC_STATUS_OF } from "../grpc-status.ts";
import { responseMessage } from "../response-message.ts";

/** A grpc-js call whose caller waits for the decision. */
export class GrpcCall implements DecisionCall {
  readonly deadlineMs: number | undefined;
  readonly #call: ServerUnaryCall<RateLimitRequest, RateLimitResponse>;
  readonly #callback: sendUnaryData<RateLimitResponse>;
  readonly #responseTime: StatisticsTimer;
  readonly #nowMs: () => number;
  readonly #startMs: number;
  readonly #log: Log;

  constructor(
    call: ServerUnaryCall<RateLimitRequest, RateLimitResponse>,
    callback: sendUnaryData<RateLimitResponse>,
    responseTime: StatisticsTimer,
    nowMs: () => number,
    log: Log,
  ) {
    const deadline = Number(call.getDeadline()); // A Date becomes its milliseconds.
    this.deadlineMs = Number.isFinite(deadline) ? deadline : undefined;
    this.#call = call;
    this.#callback = callback;
    this.#responseTime = responseTime;
    this.#nowMs = nowMs;
    this.#startMs = nowMs();
    this.#log = log;
  }

  /** The caller's headers, for its trace context. */
  headers(): TraceHeaders {
    return Object.fromEntries(
      Object.entries(this.#call.metadata.getMap()).map(([name, value]) => [name, value.toString()]),
    );
  }

  decided(decision: Decision): void {
    this.#callback(null, responseMessage(decision));
    this.#responseTime.record(this.#nowMs() - this.#startMs);
  }

  failed(error: DecideError): void {
    if (error.code === "INTERNAL") this.#log.error("Cannot decide a call", { error });
    this.#callback({ code: status[GRPC_STATUS_OF[error.code]], details: error.message });
    this.#responseTime.record(this.#nowMs() - this.#startMs);
  }
}
