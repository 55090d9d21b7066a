// A window of flow control in the direction of the server: what the peer may still send.

/** The window of a connection. It is widened again when half of it is used. */
export class ReceiveWindow {
  readonly #sizeBytes: number;
  #usedBytes = 0;

  constructor(sizeBytes: number) {
    this.#sizeBytes = sizeBytes;
  }

  /**
   * Counts received bytes. Returns the increment of a WINDOW_UPDATE that is due, 0 for none, and -1
   * when the peer sent more than it may.
   */
  use(bytes: number): number {
    this.#usedBytes += bytes;
    const used = this.#usedBytes;
    if (used > this.#sizeBytes) return -1;
    if (used * 2 < this.#sizeBytes) return 0;
    this.#usedBytes = 0;
    return used;
  }
}
