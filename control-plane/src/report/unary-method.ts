// A method of a gRPC service that answers each request with one report, or with an error.
import { constants } from "node:http2";

import { type handleUnaryCall, Metadata, type ServiceError as GrpcError } from "@grpc/grpc-js";
import type { Log } from "@weir/common/log/log";

import { http2StreamOf } from "../ads/stream/chunked-writer.ts";
import type { ConcurrencyLimit } from "./concurrency-limit.ts";
import { refusalOf } from "./report-error.ts";

/** What the reports have in common, over every transport. */
export interface ReportDeps {
  /** Limits concurrent answers. */
  readonly limit: ConcurrencyLimit;
  readonly log: Log;
}

/** The method, in the shape that grpc-js takes. */
export function unaryMethod<Request, Response>(
  report: (request: Request) => Response,
  { limit, log }: ReportDeps,
): handleUnaryCall<Request, Response> {
  return (call, answer) => {
    try {
      limit.admit(http2StreamOf(call), (stream) => stream.close(constants.NGHTTP2_CANCEL));
      answer(null, report(call.request));
    } catch (error) {
      answer(grpcErrorOf(error, log));
    }
  };
}

/** The error for a gRPC client. */
export function grpcErrorOf(error: unknown, log: Log): GrpcError {
  const { code, message } = refusalOf(error, log);
  return Object.assign(new Error(message), { code, details: message, metadata: new Metadata() });
}
