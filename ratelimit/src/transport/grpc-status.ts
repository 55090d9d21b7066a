// The gRPC status of each error of a decision, for every transport.
import type { DecideErrorCode } from "../errors.ts";

/** The gRPC status codes that the service answers itself, with their numbers on the wire. */
export const GRPC_STATUS_NUMBER = {
  OK: 0,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  RESOURCE_EXHAUSTED: 8,
  INTERNAL: 13,
  UNAVAILABLE: 14,
} as const;

/** Names of the status codes other than OK. */
export type GrpcStatusName = Exclude<keyof typeof GRPC_STATUS_NUMBER, "OK">;

/** The status that a failed decision is answered with. */
export const GRPC_STATUS_OF = {
  REQUEST_INVALID: "INVALID_ARGUMENT",
  NO_CONFIG: "UNAVAILABLE",
  STORE_UNAVAILABLE: "UNAVAILABLE", // Unknown would look like our bug; this one callers may retry.
  DEADLINE_EXCEEDED: "DEADLINE_EXCEEDED",
  INTERNAL: "INTERNAL",
} as const satisfies Record<DecideErrorCode, GrpcStatusName>;
