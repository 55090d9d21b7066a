// What our errors are called in gRPC.
import { type ServiceError as GrpcError, status, Metadata } from "@grpc/grpc-js";
import type { Log } from "@weir/common/log/log";

import type { ReportErrorCode } from "../errors.ts";
import { ReportError } from "./report-error.ts";

const GRPC_CODE = {
  WATCHERS_EXCEEDED: status.RESOURCE_EXHAUSTED,
  ANSWERS_EXCEEDED: status.RESOURCE_EXHAUSTED,
  SHUTTING_DOWN: status.UNAVAILABLE, // Another replica answers.
  CLIENT_STATUS_REFUSED: status.INVALID_ARGUMENT,
} as const satisfies Record<ReportErrorCode, status>;

/**
 * The error for the client. What is not ours to tell is our fault: it is logged, and the client
 * hears of an internal error.
 */
export function grpcErrorOf(error: unknown, log: Log): GrpcError {
  if (error instanceof ReportError) return grpcError(GRPC_CODE[error.code], error.message);
  log.error("Cannot tell the rollout", { error });
  return grpcError(status.INTERNAL, "internal error");
}

function grpcError(code: status, details: string): GrpcError {
  return Object.assign(new Error(details), { code, details, metadata: new Metadata() });
}
