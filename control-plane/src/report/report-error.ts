// Why a question about the rollout is refused, and the code for clients.
import { status } from "@grpc/grpc-js";
import { ServiceError } from "@weir/common/errors/service-error";
import type { Log } from "@weir/common/log/log";

import type { ReportErrorCode } from "../errors.ts";

/** The rollout cannot be reported. */
export class ReportError extends ServiceError<ReportErrorCode> {
  override readonly name = "ReportError";
}

const CODES = {
  WATCHERS_EXCEEDED: status.RESOURCE_EXHAUSTED,
  ANSWERS_EXCEEDED: status.RESOURCE_EXHAUSTED,
  SHUTTING_DOWN: status.UNAVAILABLE, // Another replica answers.
} as const satisfies Record<ReportErrorCode, status>;

/**
 * The text for a client, and the code, which gRPC and Connect share; errors other than a ReportError
 * are logged and INTERNAL.
 */
export function refusalOf(error: unknown, log: Log): { readonly code: status; readonly message: string } {
  if (error instanceof ReportError) return { code: CODES[error.code], message: error.message };
  log.error("Cannot report the rollout", { error });
  return { code: status.INTERNAL, message: "internal error" };
}
