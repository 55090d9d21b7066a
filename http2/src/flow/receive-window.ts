// The windows of flow control in the direction of the server (RFC 9113, 5.2): what is received is
// taken immediately, so a window only has to be widened again before the client waits for it.

/** Counts what the client has used of the window of a connection. */
export class ReceiveWindow {
  readonly #sizeBytes: number;
  #usedBytes = 0;

  constructor(sizeBytes: number) {
    this.#sizeBytes = sizeBytes;
  }

  /** Counts received bytes. Returns the increment of a WINDOW_UPDATE, or 0 while less than half is used. */
  use(bytes: number): number {
    this.#usedBytes += bytes;
    if (!isHalfUsed(this.#usedBytes, this.#sizeBytes)) return 0;
    const used = this.#usedBytes;
    this.#usedBytes = 0;
    return used;
  }
}

/** Returns true if a window should be widened. */
export function isHalfUsed(usedBytes: number, sizeBytes: number): boolean {
  return usedBytes * 2 >= sizeBytes;
}
