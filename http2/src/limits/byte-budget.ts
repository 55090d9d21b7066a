// The memory that all connections of a process share for what clients make it keep.

/** Bytes in use out of a fixed number. */
export class ByteBudget {
  readonly #maxBytes: number;
  #usedBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes in use. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** True if nothing is left. */
  get isExhausted(): boolean {
    return this.#usedBytes >= this.#maxBytes;
  }

  /** Takes the bytes if they are left. */
  take(bytes: number): boolean {
    if (this.#usedBytes + bytes > this.#maxBytes) return false;
    this.#usedBytes += bytes;
    return true;
  }

  /** Takes the bytes in any case: what cannot be refused, such as an answer that is encoded. */
  takeAnyway(bytes: number): void {
    this.#usedBytes += bytes;
  }

  /** Gives bytes back. */
  give(bytes: number): void {
    this.#usedBytes -= bytes;
  }
}
