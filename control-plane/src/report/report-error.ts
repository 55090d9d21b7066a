// Why a question about the rollout or the status of clients is refused, and the gRPC status for it.
import { Metadata, type ServiceError as GrpcError, status } from "@grpc/grpc-js";
import { ServiceError } from "@weir/common/errors/service-error";
import type { Log } from "@weir/common/log/log";

import type { ReportErrorCode } from "../errors.ts";

/** The rollout, or the status of clients, cannot be reported. */
export class ReportError extends ServiceError<ReportErrorCode> {
  override readonly name = "ReportError";
}

const GRPC_CODE = {
  WATCHERS_EXCEEDED: status.RESOURCE_EXHAUSTED,
  ANSWERS_EXCEEDED: status.RESOURCE_EXHAUSTED,
  SHUTTING_DOWN: status.UNAVAILABLE, // Another replica answers.
  CLIENT_STATUS_REFUSED: status.INVALID_ARGUMENT,
} as const satisfies Record<ReportErrorCode, status>;

/** The error for a gRPC client; errors other than a ReportError are logged and INTERNAL. */
export function grpcErrorOf(error: unknown, log: Log): GrpcError {
  if (error instanceof ReportError) return grpcError(GRPC_CODE[error.code], error.message);
  log.error("Cannot report the rollout", { error });
  return grpcError(status.INTERNAL, "internal error");
}

function grpcError(code: status, details: string): GrpcError {
  return Object.assign(new Error(details), { code, details, metadata: new Metadata() });
}
