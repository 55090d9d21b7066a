// The DATA of an answer that could not be sent in one piece.

/** The rest of the answer after the body: nothing yet, the end of the stream with its last frame, or trailers. */
export type BodyEnd =
  | { readonly kind: "open" }
  | { readonly kind: "data" }
  | { readonly kind: "ok" }
  | { readonly kind: "status"; readonly status: number; readonly message: string };

/** A body in chunks, and how much of it is sent. */
export class UnsentData {
  readonly lengthBytes: number;
  /** The memory of the process that it takes, in bytes; 0: its owner keeps it anyway, and does not change it. */
  readonly costBytes: number;
  end: BodyEnd;
  sentBytes = 0;
  readonly #chunks: readonly Buffer[];
  /** The next byte: the number of its chunk, and its offset there. */
  #index = 0;
  #offset = 0;

  constructor(chunks: readonly Buffer[], costBytes: number, end: BodyEnd) {
    this.#chunks = chunks;
    this.lengthBytes = chunks.reduce((sum, { length }) => sum + length, 0);
    this.costBytes = costBytes;
    this.end = end;
  }

  /** The next bytes, of one chunk and at most `maxBytes`; they count as sent. */
  take(maxBytes: number): Buffer {
    let chunk = this.#chunks[this.#index];
    while (this.#offset === chunk?.length) {
      this.#offset = 0;
      chunk = this.#chunks[++this.#index];
    }
    if (chunk === undefined) throw new Error("Cannot take bytes: the body has no more");
    const bytes = chunk.subarray(this.#offset, this.#offset + maxBytes);
    this.#offset += bytes.length;
    this.sentBytes += bytes.length;
    return bytes;
  }
}
