// How streams have ended, as far as later frames for them make a difference (RFC 9113, 5.1).

/** Resets that are remembered, a power of two: more than can be on their way at a time. */
const REMEMBERED = 1024;

export type StreamEnd =
  /** The client has ended it: further frames are an error of the connection. */
  | "ended"
  /** The client has reset it: further frames are an error of the stream. */
  | "reset by client"
  /** The server has reset it, or it was long ago: frames may have been on their way. */
  | "reset by server"
  /** The client has left the identifier out. */
  | "skipped";

/** The ends of the streams of one connection. */
export class ClosedStreams {
  /** Identifiers of reset streams, by identifier; those that the client has reset are negative. */
  #resets: Int32Array | undefined;
  /** The highest identifier that had to make way in #resets. */
  #forgottenId = 0;
  /** The last identifiers that were left out. */
  #skippedFrom = 0;
  #skippedTo = -1;

  /** Identifiers from `from` up to `to` were left out. */
  noteSkipped(from: number, to: number): void {
    this.#skippedFrom = from;
    this.#skippedTo = to;
  }

  noteReset(streamId: number, isByClient: boolean): void {
    this.#resets ??= new Int32Array(REMEMBERED);
    const slot = slotOf(streamId);
    this.#forgottenId = Math.max(this.#forgottenId, Math.abs(this.#resets[slot] ?? 0));
    this.#resets[slot] = isByClient ? -streamId : streamId;
  }

  /** How a stream has ended that is not open, and no higher than the last that was opened. */
  find(streamId: number): StreamEnd {
    if (streamId >= this.#skippedFrom && streamId <= this.#skippedTo) return "skipped";
    const noted = this.#resets?.[slotOf(streamId)];
    if (noted === streamId) return "reset by server";
    if (noted === -streamId) return "reset by client";
    return streamId <= this.#forgottenId ? "reset by server" : "ended";
  }
}

function slotOf(streamId: number): number {
  return (streamId >>> 1) & (REMEMBERED - 1);
}
