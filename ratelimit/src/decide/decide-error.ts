// The error of a call that could not be decided. Each transport maps its codes to the wire in one
// exhaustive table.
import { ServiceError } from "@weir/common/errors/service-error";
import type { DecideErrorCode } from "../errors.ts";

/** Why a call has no decision; the message may be shown to the caller. */
export class DecideError extends ServiceError<DecideErrorCode> {}
