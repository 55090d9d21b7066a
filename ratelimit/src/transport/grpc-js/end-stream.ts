// Ends a stream of grpc-js.
import { status } from "@grpc/grpc-js";

import type { GrpcStatusName } from "../grpc-status.ts";

/** A stream of the library, of which it takes the status from an error. */
export interface ErrorStream {
  /** Emits an error that becomes the status. */
  emit(event: "error", error: { readonly code: number; readonly details: string }): boolean;
}

/** Ends a stream with a status. */
export function endStream(stream: ErrorStream, name: GrpcStatusName, details: string): void {
  stream.emit("error", { code: status[name], details });
}
