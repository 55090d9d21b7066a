// The DATA of an answer that could not be sent in one piece.

/** What follows the body: nothing yet, the end of the stream with its last frame, or trailers. */
export type BodyEnd =
  | { readonly kind: "open" }
  | { readonly kind: "data" }
  | { readonly kind: "ok" }
  | { readonly kind: "status"; readonly status: number; readonly message: string };

/** A body and how much of it is sent. */
export class UnsentBody {
  readonly bytes: Buffer;
  end: BodyEnd;
  /** Bytes that are sent. */
  sentBytes = 0;
  /** Bytes sent at the last look of {@link hasStalled}, and when that changed. */
  #seenBytes = 0;
  #seenMs: number | undefined;

  constructor(bytes: Buffer, end: BodyEnd) {
    this.bytes = bytes;
    this.end = end;
  }

  /** Whether nothing of it has been sent for the time, between looks at it. */
  hasStalled(nowMs: number, timeoutMs: number): boolean {
    if (this.#seenMs === undefined || this.#seenBytes !== this.sentBytes) {
      this.#seenBytes = this.sentBytes;
      this.#seenMs = nowMs;
    }
    return nowMs - this.#seenMs >= timeoutMs;
  }
}
