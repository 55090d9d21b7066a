// Why a question about the rollout or the counts is refused, and the code for clients.
import { ServiceError } from "@weir/common/errors/service-error";
import type { Log } from "@weir/common/log/log";
import type { GrpcStatusName } from "@weir/http2/grpc/status";

import type { ReportErrorCode } from "../errors.ts";

/** The rollout, or what pods count, cannot be reported. */
export class ReportError extends ServiceError<ReportErrorCode> {
  override readonly name = "ReportError";
}

const CODES = {
  WATCHERS_EXCEEDED: "RESOURCE_EXHAUSTED",
  ANSWERS_EXCEEDED: "RESOURCE_EXHAUSTED",
  SHUTTING_DOWN: "UNAVAILABLE", // Another replica answers.
} as const satisfies Record<ReportErrorCode, GrpcStatusName>;

/**
 * The text for a client, and the code, which gRPC and Connect share; errors other than a ReportError
 * are logged and INTERNAL.
 */
export function refusalOf(error: unknown, log: Log): { readonly code: GrpcStatusName; readonly message: string } {
  if (error instanceof ReportError) return { code: CODES[error.code], message: error.message };
  log.error("Cannot answer a client", { error });
  return { code: "INTERNAL", message: "internal error" };
}
