// One ShouldRateLimit call of grpc-js while it is being decided.
import { type sendUnaryData, type ServerUnaryCall, status } from "@grpc/grpc-js";
import type { Log } from "@weir/common/log/log";
import type { TraceHeaders } from "@weir/common/tracing/tracing-sdk";
import type { RateLimitRequest, RateLimitResponse } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";

import type { DecideError } from "../../decide/decider.ts";
import type { Decision } from "../../decide/decision.ts";
import { GRPC_STATUS_OF } from "../grpc-status.ts";
import { responseMessage } from "../response-message.ts";
import type { ResponseTimes } from "../response-times.ts";
import type { TraceableCall } from "../traced-call.ts";

/** A grpc-js call whose caller waits for the decision. */
export class GrpcCall implements TraceableCall {
  readonly deadlineMs: number | undefined;
  readonly #call: ServerUnaryCall<RateLimitRequest, RateLimitResponse>;
  readonly #callback: sendUnaryData<RateLimitResponse>;
  readonly #times: ResponseTimes;
  readonly #startMs: number;
  readonly #log: Log;

  constructor(
    call: ServerUnaryCall<RateLimitRequest, RateLimitResponse>,
    callback: sendUnaryData<RateLimitResponse>,
    times: ResponseTimes,
    log: Log,
  ) {
    const deadline = Number(call.getDeadline()); // A Date becomes its milliseconds.
    this.deadlineMs = Number.isFinite(deadline) ? deadline : undefined;
    this.#call = call;
    this.#callback = callback;
    this.#times = times;
    this.#startMs = times.begin();
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
    this.#times.end(this.#startMs);
  }

  failed(error: DecideError): void {
    if (error.code === "INTERNAL") this.#log.error("Cannot decide a call", { error });
    this.#callback({ code: status[GRPC_STATUS_OF[error.code]], details: error.message });
    this.#times.end(this.#startMs);
  }
}
