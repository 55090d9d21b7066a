// The messages of a stream of the Connect protocol with JSON: each has a byte of flags and its length before it. Pure.

/** Bytes before each message: flags, and the length with its highest byte first. */
const PREFIX_BYTES = 5;

/** The flag of the last message, which says how the stream ends. */
const END_FLAG = 2;

/** Longest message, in bytes: thousands of resources and pods. */
const MESSAGE_MAX_BYTES = 64 * 1024 * 1024;

/** A message of a stream. */
export interface Envelope {
  readonly isEnd: boolean;
  readonly json: unknown;
}

/** A message as it is sent. */
export function enveloped(message: unknown): Uint8Array<ArrayBuffer> {
  const text = new TextEncoder().encode(JSON.stringify(message));
  const bytes = new Uint8Array(PREFIX_BYTES + text.length);
  new DataView(bytes.buffer).setUint32(1, text.length);
  bytes.set(text, PREFIX_BYTES);
  return bytes;
}

/** Puts messages together from the pieces that arrive. */
export class EnvelopeReader {
  readonly #pieces: Uint8Array[] = [];
  #sizeBytes = 0;

  /** The messages that the piece completes; fails with an Error when they are no messages of the protocol. */
  read(piece: Uint8Array): readonly Envelope[] {
    this.#pieces.push(piece);
    this.#sizeBytes += piece.length;
    const envelopes: Envelope[] = [];
    for (let size = this.#nextSize(); size !== undefined && this.#sizeBytes >= size; size = this.#nextSize()) {
      const bytes = this.#take(size);
      const text = new TextDecoder().decode(bytes.subarray(PREFIX_BYTES));
      envelopes.push({ isEnd: ((bytes[0] ?? 0) & END_FLAG) !== 0, json: JSON.parse(text) });
    }
    return envelopes;
  }

  /** Bytes of the next message with its prefix; undefined: not known yet. */
  #nextSize(): number | undefined {
    if (this.#sizeBytes < PREFIX_BYTES) return undefined;
    const first = this.#pieces[0];
    const prefix = first !== undefined && first.length >= PREFIX_BYTES ? first : this.#joined();
    const length = new DataView(prefix.buffer, prefix.byteOffset).getUint32(1);
    if (length > MESSAGE_MAX_BYTES)
      throw new Error(
        `Cannot read the stream: a message has ${length} bytes, at most ${MESSAGE_MAX_BYTES} are allowed`,
      );
    return PREFIX_BYTES + length;
  }

  #take(size: number): Uint8Array {
    const bytes = this.#joined();
    this.#pieces.splice(0, this.#pieces.length, bytes.subarray(size));
    this.#sizeBytes -= size;
    return bytes.subarray(0, size);
  }

  /** All pieces as one. */
  #joined(): Uint8Array {
    const [first] = this.#pieces;
    if (this.#pieces.length === 1 && first !== undefined) return first;
    const bytes = new Uint8Array(this.#sizeBytes);
    let at = 0;
    for (const piece of this.#pieces) {
      bytes.set(piece, at);
      at += piece.length;
    }
    this.#pieces.splice(0, this.#pieces.length, bytes);
    return bytes;
  }
}
