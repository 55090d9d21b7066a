// A /json request while it is being decided, and the answers of this transport.
import type { ServerResponse } from "node:http";

import { toJsonString } from "@bufbuild/protobuf";
import type { Log } from "@weir/common/log/log";
import type { TraceHeaders } from "@weir/common/tracing/tracing-sdk";
import { RateLimitResponseSchema } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";

import type { DecideError, DecisionCall } from "../../decide/decider.ts";
import { OVER_LIMIT } from "@weir/limits/classify/status";
import type { GrpcStatusName } from "@weir/http2/grpc/status";
import type { Decision } from "../../decide/decision.ts";
import type { DecideErrorCode } from "../../errors.ts";
import { GRPC_STATUS_OF } from "../grpc-status.ts";
import { responseMessage } from "../response-message.ts";

/** The HTTP status that a failed decision is answered with. */
const HTTP_STATUS = {
  REQUEST_INVALID: 400,
  NO_CONFIG: 503,
  STORE_UNAVAILABLE: 503,
  DEADLINE_EXCEEDED: 503,
  INTERNAL: 500,
} as const satisfies Record<DecideErrorCode, number>;

const HTTP_OK = 200;
const HTTP_OVER_LIMIT = 429;

/** The client that waits for the answer. There is no deadline in HTTP. */
export class JsonCall implements DecisionCall {
  readonly deadlineMs = undefined;
  readonly #response: ServerResponse;
  readonly #log: Log;

  constructor(response: ServerResponse, log: Log) {
    this.#response = response;
    this.#log = log;
  }

  /** The caller's headers, for its trace context. */
  headers(): TraceHeaders {
    return this.#response.req.headers;
  }

  decided(decision: Decision): void {
    const body = toJsonString(RateLimitResponseSchema, responseMessage(decision));
    respondJson(this.#response, decision.overallCode === OVER_LIMIT ? HTTP_OVER_LIMIT : HTTP_OK, body);
  }

  failed(error: DecideError): void {
    if (error.code === "INTERNAL") this.#log.error("Cannot decide a call", { error });
    respondError(this.#response, HTTP_STATUS[error.code], GRPC_STATUS_OF[error.code], error.message);
  }
}

/** Answers with an error body: the name of the gRPC status that means the same, and a text. */
export function respondError(response: ServerResponse, status: number, code: GrpcStatusName, message: string): void {
  // The rest of a body that was not read may still be coming.
  if (!response.req.complete) response.setHeader("Connection", "close");
  respondJson(response, status, JSON.stringify({ code, message }));
}

function respondJson(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, {
    "Content-Type": "application/json",
    "Content-Length": Buffer.byteLength(body),
    "X-Content-Type-Options": "nosniff",
  });
  response.end(body);
}
