// The DATA of an answer that could not be sent in one piece.

/** What follows the body: nothing yet, the end of the stream with its last frame, or trailers. */
export type BodyEnd =
  | { readonly kind: "open" }
  | { readonly kind: "data" }
  | { readonly kind: "ok" }
  | { readonly kind: "status"; readonly status: number; readonly message: string };

/** A body in chunks, and how much of it is sent. */
export class UnsentBody {
  readonly lengthBytes: number;
  /** What it takes of the memory of the process, in bytes; 0: its owner keeps it anyway. */
  readonly costBytes: number;
  end: BodyEnd;
  /** Bytes that are sent. */
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

  /** Copies the next `count` bytes, which are there, and returns the offset after them. */
  copy(target: Buffer, position: number, count: number): number {
    this.sentBytes += count;
    const end = position + count;
    let next = position;
    for (let chunk = this.#chunks[this.#index]; chunk !== undefined; chunk = this.#chunks[++this.#index]) {
      const copied = chunk.copy(target, next, this.#offset, Math.min(chunk.length, this.#offset + end - next));
      next += copied;
      this.#offset += copied;
      if (next === end) break;
      this.#offset = 0;
    }
    return end;
  }
}
