// Buffers for output, shared by all connections of a process: a connection has one only while it
// has something to send.

/** Bytes of a chunk: one TLS record, or some 250 small answers. */
export const CHUNK_BYTES = 16_384;

/** The free chunks. */
export class ChunkPool {
  readonly #free: Buffer[] = [];
  readonly #freeMax: number;

  /** Keeps so many free chunks; further ones are left to the garbage collector. */
  constructor(freeMax: number) {
    this.#freeMax = freeMax;
  }

  /** A chunk with any content. The one that was given back last: it is in the processor's cache. */
  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(CHUNK_BYTES);
  }

  /** Gives a chunk back that is not read any more. */
  give(chunk: Buffer): void {
    if (this.#free.length < this.#freeMax) this.#free.push(chunk);
  }
}
