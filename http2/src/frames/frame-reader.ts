// Cuts the bytes of a connection into frames, without copying those that lie in one read.
import {
  ConnectionError,
  ErrorCode,
  FRAME_HEADER_BYTES,
  MAX_FRAME_BYTES,
  readFrameLength,
  readUint31,
} from "./frame.ts";

/** Receives the frames of a connection. */
export interface FrameReceiver {
  /** One frame: the payload is `bytes` from `start` up to `end`, valid until this returns. */
  frame(type: number, flags: number, streamId: number, bytes: Buffer, start: number, end: number): void;
}

/** Memory of incomplete frames. */
export interface PartialMemory {
  /** Takes the bytes in any case: at most those of a frame. */
  takeAnyway(bytes: number): void;
  /** Gives bytes back. */
  give(bytes: number): void;
}

const NOTHING: Buffer = Buffer.alloc(0);

/** The reader of one connection. It keeps at most the beginning of one frame. */
export class FrameReader {
  readonly #receiver: FrameReceiver;
  readonly #memory: PartialMemory;
  #partial = NOTHING;
  #progress = 0;

  constructor(receiver: FrameReceiver, memory: PartialMemory) {
    this.#receiver = receiver;
    this.#memory = memory;
  }

  /** Reads so far that completed a frame. */
  get progress(): number {
    return this.#progress;
  }

  /** Bytes of an incomplete frame that are kept. */
  get partialBytes(): number {
    return this.#partial.length;
  }

  /** Passes on the frames that are complete. Throws a ConnectionError for a frame that is too long. */
  read(read: Buffer): void {
    const bytes = this.#partial.length === 0 ? read : Buffer.concat([this.#partial, read]);
    const available = bytes.length;
    this.free();
    let offset = 0;
    while (available - offset >= FRAME_HEADER_BYTES) {
      const length = readFrameLength(bytes, offset);
      if (length > MAX_FRAME_BYTES)
        throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, "A frame exceeds SETTINGS_MAX_FRAME_SIZE");
      const start = offset + FRAME_HEADER_BYTES;
      const end = start + length;
      if (end > available) break;
      const type = bytes[offset + 3] ?? 0;
      const flags = bytes[offset + 4] ?? 0;
      this.#receiver.frame(type, flags, readUint31(bytes, offset + 5), bytes, start, end);
      offset = end;
    }
    if (offset > 0) this.#progress += 1;
    if (offset < available) this.#keep(bytes.subarray(offset));
  }

  /** Gives the memory of an incomplete frame back. */
  free(): void {
    if (this.#partial.length === 0) return;
    this.#memory.give(this.#partial.length);
    this.#partial = NOTHING;
  }

  /** Keeps a copy: the rest would keep the whole read alive. */
  #keep(rest: Buffer): void {
    this.#partial = Buffer.from(rest);
    this.#memory.takeAnyway(rest.length);
  }
}
