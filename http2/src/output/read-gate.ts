// Decides whether a connection is read from: not while there is a reason against it.

/** Why a connection is not read from. */
export const ReadPause = {
  /** The client has not taken its answers. */
  UNSENT: 1,
  /** Enough was read in this event-loop turn: other connections come first. */
  TURN: 2,
} as const;

/** One of {@link ReadPause}. */
export type ReadPause = (typeof ReadPause)[keyof typeof ReadPause];

/** A source whose reading can be paused. */
export interface PausableSource {
  /** Stops reading. */
  pauseReading(): void;
  resumeReading(): void;
}

/** The gate of one connection. */
export class ReadGate {
  readonly #source: PausableSource;
  #reasons = 0;

  constructor(source: PausableSource) {
    this.#source = source;
  }

  /** Returns true if this is a reason at present. */
  isPausedFor(reason: ReadPause): boolean {
    return (this.#reasons & reason) !== 0;
  }

  /** Pauses reading until all reasons are gone. */
  pause(reason: ReadPause): void {
    if (this.#reasons === 0) this.#source.pauseReading();
    this.#reasons |= reason;
  }

  /** Takes a reason away. */
  resume(reason: ReadPause): void {
    if (!this.isPausedFor(reason)) return;
    this.#reasons &= ~reason;
    if (this.#reasons === 0) this.#source.resumeReading();
  }
}
