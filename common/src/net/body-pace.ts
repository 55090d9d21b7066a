// Decides whether the body of a request comes too slowly. Pure: times and byte counts come in.

/** How fast the body of a request must come. */
export interface BodyPace {
  /** Longest wait for the first byte, in milliseconds. */
  readonly firstByteMs: number;
  /** Length of the windows after it, in milliseconds, and the fewest bytes in each of them. */
  readonly windowMs: number;
  readonly windowBytes: number;
  /** Longest time of the whole body, in milliseconds. */
  readonly totalMs: number;
}

/** The progress of one body. Byte counts are totals that only grow; their start does not matter. */
export class BodyProgress {
  readonly #pace: BodyPace;
  readonly #startedMs: number;
  #hasBegun = false;
  #windowMs: number;
  #windowBytes: number;

  /** A body whose request has come at `nowMs`. */
  constructor(pace: BodyPace, nowMs: number, bytes: number) {
    this.#pace = pace;
    this.#startedMs = nowMs;
    this.#windowMs = nowMs;
    this.#windowBytes = bytes;
  }

  /** Returns true if the body is too slow, with so many bytes at `nowMs`; to be called several times per window. */
  isLate(nowMs: number, bytes: number): boolean {
    const { firstByteMs, windowMs, windowBytes, totalMs } = this.#pace;
    if (nowMs - this.#startedMs >= totalMs) return true;
    const received = bytes - this.#windowBytes;
    if (!this.#hasBegun) {
      if (received === 0) return nowMs - this.#windowMs >= firstByteMs;
      this.#hasBegun = true;
      this.#windowMs = nowMs;
      return false;
    }
    if (nowMs - this.#windowMs < windowMs) return false;
    this.excuse(nowMs, bytes);
    return received < windowBytes;
  }

  /** Begins a new wait or window: the reader of the body was behind, so the client could not send. */
  excuse(nowMs: number, bytes: number): void {
    this.#windowMs = nowMs;
    this.#windowBytes = bytes;
  }
}
