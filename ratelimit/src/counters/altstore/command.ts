// What a connection knows of a command: its bytes, and that it is answered by items and one last
// line.
import type { StoreError } from "../store-error.ts";

/** A command on its way. */
export interface Command {
  /** The bytes. */
  readonly text: string;
  /** Keys in it: its share of what may be under way. */
  readonly size: number;
  /** When it was written, in milliseconds since the epoch; the connection's own field. */
  writtenMs: number;
  /** An item of the answer; returns what is wrong with it. */
  value(key: string, data: string | undefined): string | undefined;
  /** The line that ends the answer; returns what is wrong with it, and is told `lost` then. */
  line(line: string): string | undefined;
  /** There will be no answer; whether the server has executed it is unknown. */
  lost(error: StoreError): void;
}

/**
 * Whether the server says that it cannot do what it understood; the connection can be used further.
 */
export function isRefusal(line: string): boolean {
  return line.startsWith("SERVER_ERROR") || line.startsWith("CLIENT_ERROR");
}
