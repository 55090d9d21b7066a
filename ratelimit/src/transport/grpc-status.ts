// The gRPC status of each error of a decision, for every transport.
import type { GrpcStatusName } from "@weir/http2/grpc/status";

import type { DecideErrorCode } from "../errors.ts";

/** The status that a failed decision is answered with. */
export const GRPC_STATUS_OF = {
  REQUEST_INVALID: "INVALID_ARGUMENT",
  NO_CONFIG: "UNAVAILABLE",
  STORE_UNAVAILABLE: "UNAVAILABLE", // Unknown would look like our bug; this one callers may retry.
  DEADLINE_EXCEEDED: "DEADLINE_EXCEEDED",
  INTERNAL: "INTERNAL",
} as const satisfies Record<DecideErrorCode, GrpcStatusName>;
