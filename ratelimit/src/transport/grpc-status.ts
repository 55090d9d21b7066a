// The gRPC status of each error of a decision, for every transport.
import type { DecideErrorCode } from "../errors.ts";

/** Names of the gRPC status codes that the service answers itself. */
export type GrpcStatusName =
  "INVALID_ARGUMENT" | "DEADLINE_EXCEEDED" | "RESOURCE_EXHAUSTED" | "INTERNAL" | "UNAVAILABLE";

/** The status that a failed decision is answered with. */
export const GRPC_STATUS_OF = {
  REQUEST_INVALID: "INVALID_ARGUMENT",
  NO_CONFIG: "UNAVAILABLE",
  STORE_UNAVAILABLE: "UNAVAILABLE", // Unknown would look like our bug; this one callers may retry.
  DEADLINE_EXCEEDED: "DEADLINE_EXCEEDED",
  INTERNAL: "INTERNAL",
} as const satisfies Record<DecideErrorCode, GrpcStatusName>;
