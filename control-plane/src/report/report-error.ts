// Why a question about the rollout is refused. How that is called on a wire is the matter of each
// transport.
import { ServiceError } from "@weir/common/errors/service-error";

import type { ReportErrorCode } from "../errors.ts";

/** Says why the rollout, or the status of clients, cannot be told. */
export class ReportError extends ServiceError<ReportErrorCode> {
  override readonly name = "ReportError";
}
