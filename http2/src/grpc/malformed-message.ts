// A message of a request that is none of its type, and the answer to it.
import type { UnaryCall } from "./method.ts";
import { GrpcStatus } from "./status.ts";

/** Bytes that are not a message. Its message says why, and contains nothing of the bytes. */
export class MalformedMessage extends Error {
  override readonly name = "MalformedMessage";
}

/** The text of the status INTERNAL. Rethrows any other error. */
export function malformedRequestText(error: unknown): string {
  if (error instanceof MalformedMessage) return `Error deserializing request: ${error.message}`;
  throw error;
}

/** Fails the call of a malformed request. Rethrows any other error. */
export function failMalformed(call: UnaryCall, error: unknown): void {
  call.fail(GrpcStatus.INTERNAL, malformedRequestText(error));
}
