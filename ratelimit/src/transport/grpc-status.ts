// The gRPC status of each error of a decision: the one table that every gRPC engine uses.
import type { DecideErrorCode } from "../errors.ts";

/** Numbers of gRPC status codes, as far as the service answers them itself. */
export const GRPC_STATUS = {
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  RESOURCE_EXHAUSTED: 8,
  INTERNAL: 13,
  UNAVAILABLE: 14,
} as const;

/** A name of GRPC_STATUS. */
export type GrpcStatusName = keyof typeof GRPC_STATUS;

/** The status that a failed decision is answered with. */
export const GRPC_STATUS_OF = {
  REQUEST_INVALID: "INVALID_ARGUMENT",
  NO_CONFIG: "UNAVAILABLE",
  STORE_UNAVAILABLE: "UNAVAILABLE", // Unknown would look like our bug; this one callers may retry.
  DEADLINE_EXCEEDED: "DEADLINE_EXCEEDED",
  INTERNAL: "INTERNAL",
} as const satisfies Record<DecideErrorCode, GrpcStatusName>;
