// Buffers for output, shared by all connections of a process: a connection has one only while it
// has something to send.

/** Bytes of a chunk: one TLS record, or some 250 small answers. */
export const CHUNK_BYTES = 16_384;

/**
 * Free chunks that are kept, 16 MiB; further ones are left to the garbage collector. As many as connections that are sent
 * something in one turn, as pods after an edit: to allocate them again takes longer than to write.
 */
const FREE_MAX = 1024;

/** The free chunks. */
export class ChunkPool {
  readonly #free: Buffer[] = [];

  /** A chunk with any content. The one that was given back last: it is in the processor's cache. */
  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(CHUNK_BYTES);
  }

  /** Gives a chunk back that is not read any more. */
  give(chunk: Buffer): void {
    if (this.#free.length < FREE_MAX) this.#free.push(chunk);
  }
}
