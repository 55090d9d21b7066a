// Cuts the DATA of a call into gRPC messages: a flag, a length of four bytes, the message.

/** Bytes before each message: the compressed flag and the length. */
export const MESSAGE_PREFIX_BYTES = 5;

/** The first buffer of an incomplete message, in bytes; it doubles with what is received. */
const BUFFER_MIN_BYTES = 1024;

/** Memory of incomplete messages. */
export interface MessageMemory {
  /** Takes the bytes; false when there are none left. */
  take(bytes: number): boolean;
  /** Gives bytes back. */
  give(bytes: number): void;
}

/** Why a message is not read. */
export type MessageFault =
  | { readonly kind: "compressed" }
  | { readonly kind: "too large"; readonly lengthBytes: number }
  | { readonly kind: "no memory" };

/** Receives messages. */
export interface MessageReceiver {
  /** One message: `bytes` from `start` up to `end`, valid until this returns. */
  message(bytes: Buffer, start: number, end: number): void;
}

const COMPRESSED: MessageFault = { kind: "compressed" };
const NO_MEMORY: MessageFault = { kind: "no memory" };
const NOTHING: Buffer = Buffer.alloc(0);

/** Returns true if the bytes from `start` up to `end` are one uncompressed message with its prefix. */
export function isWholeMessage(bytes: Buffer, start: number, end: number): boolean {
  return (
    end - start >= MESSAGE_PREFIX_BYTES &&
    bytes[start] === 0 &&
    readLength(bytes, start + 1) === end - start - MESSAGE_PREFIX_BYTES
  );
}

/** Writes the prefix of a message and returns the offset after it. */
export function writeMessagePrefix(target: Buffer, offset: number, lengthBytes: number): number {
  target[offset] = 0;
  target[offset + 1] = lengthBytes >>> 24;
  target[offset + 2] = lengthBytes >>> 16;
  target[offset + 3] = lengthBytes >>> 8;
  target[offset + 4] = lengthBytes;
  return offset + MESSAGE_PREFIX_BYTES;
}

/** The reader of one call. It keeps the beginning of one message at most. */
export class MessageReader {
  readonly #maxBytes: number;
  readonly #memory: MessageMemory;
  /** The beginning of a message with its prefix, up to #filledBytes. */
  #buffer = NOTHING;
  #filledBytes = 0;
  /** Length of that message with its prefix; of the prefix alone until that is complete. */
  #wantedBytes = MESSAGE_PREFIX_BYTES;
  #messages = 0;

  /** `maxBytes` bounds a message without its prefix. */
  constructor(maxBytes: number, memory: MessageMemory) {
    this.#maxBytes = maxBytes;
    this.#memory = memory;
  }

  /** Messages that were read. */
  get messages(): number {
    return this.#messages;
  }

  /** True if everything so far was whole messages. */
  get isBetweenMessages(): boolean {
    return this.#filledBytes === 0;
  }

  /** Reads on. After a fault nothing more can be read. */
  read(bytes: Buffer, start: number, end: number, receiver: MessageReceiver): MessageFault | undefined {
    let offset = start;
    while (offset < end) {
      if (this.#filledBytes === 0 && end - offset >= MESSAGE_PREFIX_BYTES) {
        const fault = this.#findFault(bytes, offset);
        if (fault !== undefined) return fault;
        const messageEnd = offset + MESSAGE_PREFIX_BYTES + readLength(bytes, offset + 1);
        if (messageEnd <= end) {
          this.#messages += 1;
          receiver.message(bytes, offset + MESSAGE_PREFIX_BYTES, messageEnd);
          offset = messageEnd;
          continue;
        }
      }
      const taken = Math.min(end - offset, this.#wantedBytes - this.#filledBytes);
      const fault = this.#append(bytes, offset, taken, receiver);
      if (fault !== undefined) return fault;
      offset += taken;
    }
    return undefined;
  }

  /** Gives the memory of an incomplete message back. */
  free(): void {
    this.#memory.give(this.#buffer.length);
    this.#buffer = NOTHING;
    this.#filledBytes = 0;
    this.#wantedBytes = MESSAGE_PREFIX_BYTES;
  }

  #append(bytes: Buffer, start: number, count: number, receiver: MessageReceiver): MessageFault | undefined {
    const filled = this.#filledBytes + count;
    if (filled > this.#buffer.length && !this.#grow(filled)) return NO_MEMORY;
    bytes.copy(this.#buffer, this.#filledBytes, start, start + count);
    this.#filledBytes = filled;
    if (filled === MESSAGE_PREFIX_BYTES && this.#wantedBytes === MESSAGE_PREFIX_BYTES) {
      const fault = this.#findFault(this.#buffer, 0);
      if (fault !== undefined) return fault;
      this.#wantedBytes += readLength(this.#buffer, 1);
    }
    if (filled >= MESSAGE_PREFIX_BYTES && filled === this.#wantedBytes) {
      const message = this.#buffer;
      this.free();
      this.#messages += 1;
      receiver.message(message, MESSAGE_PREFIX_BYTES, filled);
    }
    return undefined;
  }

  /** Makes the buffer large enough: by doubling up to the message, so that a claimed length takes nothing. */
  #grow(neededBytes: number): boolean {
    const doubledBytes = Math.min(2 * this.#buffer.length, this.#wantedBytes);
    const size = Math.max(BUFFER_MIN_BYTES, neededBytes, doubledBytes);
    if (!this.#memory.take(size - this.#buffer.length)) return false;
    const buffer = Buffer.allocUnsafeSlow(size);
    this.#buffer.copy(buffer, 0, 0, this.#filledBytes);
    this.#buffer = buffer;
    return true;
  }

  #findFault(bytes: Buffer, offset: number): MessageFault | undefined {
    if (bytes[offset] !== 0) return COMPRESSED;
    const lengthBytes = readLength(bytes, offset + 1);
    return lengthBytes > this.#maxBytes ? { kind: "too large", lengthBytes } : undefined;
  }
}

function readLength(bytes: Buffer, offset: number): number {
  return bytes.readUInt32BE(offset);
}
