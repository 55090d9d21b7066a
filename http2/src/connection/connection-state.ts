// The state of one connection, in one record. The classes of this folder each write what the frames and answers change
// that they read and write; everything else only reads it.
import { DEFAULT_WINDOW_BYTES } from "../flow/send-window.ts";

/**
 * The life of a connection. "draining" and "drained" = the first and the second GOAWAY of a graceful
 * close are sent; "ending" = the server has sent its last byte.
 */
export type Phase = "preface" | "open" | "draining" | "drained" | "ending" | "closed";

export interface ConnectionState {
  phase: Phase;
  /** When "draining" or "ending" is over at the latest. */
  phaseEndMs: number;
  /** True if the client has sent its SETTINGS. */
  hasSettings: boolean;
  /** True if the client knows how many streams it may open. */
  isLimitAcknowledged: boolean;
  /** Streams above this identifier are ignored: a GOAWAY has told the client so. */
  lastAcceptedId: number;
  /** Calls that methods have not answered, also those whose stream is closed. */
  callsInFlight: number;
  /** The send window of the connection, in bytes. */
  sendWindowBytes: number;
  /** The send window of a new stream, in bytes. */
  initialWindowBytes: number;
  /** Reads so far: the client is alive while it grows. */
  reads: number;
  /** Bytes read since the last end of a turn. */
  turnBytes: number;
}

/** The state of a connection of which nothing was read. */
export function newConnectionState(): ConnectionState {
  return {
    phase: "preface",
    phaseEndMs: 0,
    hasSettings: false,
    isLimitAcknowledged: false,
    lastAcceptedId: Infinity,
    callsInFlight: 0,
    sendWindowBytes: DEFAULT_WINDOW_BYTES,
    initialWindowBytes: DEFAULT_WINDOW_BYTES,
    reads: 0,
    turnBytes: 0,
  };
}
