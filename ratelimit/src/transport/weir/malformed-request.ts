// The answer to a request that is no message of its type.
import type { UnaryCall } from "@weir/http2/grpc/method";

import { GRPC_STATUS_NUMBER } from "../grpc-status.ts";
import { MalformedMessage } from "./codec/malformed-message.ts";

/** The text of the status INTERNAL. Rethrows any other error. */
export function malformedRequestText(error: unknown): string {
  if (error instanceof MalformedMessage) return `Error deserializing request: ${error.message}`;
  throw error;
}

/** Fails the call of a malformed request. Rethrows any other error. */
export function failMalformed(call: UnaryCall, error: unknown): void {
  call.fail(GRPC_STATUS_NUMBER.INTERNAL, malformedRequestText(error));
}
