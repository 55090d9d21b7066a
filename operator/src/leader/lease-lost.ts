// The error of a write that this replica may not do, because it is not the leader for long enough.
import { ServiceError } from "@weir/common/errors/service-error";

import type { OperatorErrorCode } from "../errors.ts";

/** Thrown instead of a write. The work ends: another replica does it, or this one from the beginning. */
export class LeaseLost extends ServiceError<Extract<OperatorErrorCode, "LEASE_LOST">> {
  override readonly name = "LeaseLost";

  constructor(remainingMs: number) {
    super(
      "LEASE_LOST",
      `Cannot write: the Lease is this replica's for ${Math.max(0, Math.round(remainingMs))} ms only`,
      {
        transient: true,
      },
    );
  }
}
