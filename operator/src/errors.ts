// Describes every error code of the operator.
import type { ErrorTable } from "@weir/common/errors/service-error";

/** The error codes of the operator, in addition to SOURCE_UNREADABLE for requests to the API server that fail. */
export const OPERATOR_ERRORS = {
  LEASE_LOST: {
    meaning:
      "This replica is not the leader, or its Lease may end before a write does, so that another replica could write at the same time.",
    remedy:
      "Nothing to do when it is rare: the leader does the work. When it is frequent, the API server answers too slowly for LEASE_RENEW_DEADLINE.",
  },
} as const satisfies ErrorTable;

/** A code of {@link OPERATOR_ERRORS}. */
export type OperatorErrorCode = keyof typeof OPERATOR_ERRORS;
