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
  /** The beginning of a frame: a buffer of the frame's size, or of a header's until that is complete. */
  #partial = NOTHING;
  #partialBytes = 0;
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
    return this.#partialBytes;
  }

  /** Passes on the frames that are complete. Throws a ConnectionError for a frame that is too long. */
  read(bytes: Buffer): void {
    const available = bytes.length;
    let offset = this.#partialBytes === 0 ? 0 : this.#complete(bytes);
    const first = offset;
    while (available - offset >= FRAME_HEADER_BYTES) {
      const end = offset + frameBytes(bytes, offset);
      if (end > available) break;
      this.#pass(bytes, offset, end);
      offset = end;
    }
    if (offset > first) this.#progress += 1;
    if (offset < available) this.#keep(bytes, offset);
  }

  /** Gives the memory of an incomplete frame back. */
  free(): void {
    if (this.#partialBytes === 0) return;
    this.#memory.give(this.#partial.length);
    this.#partial = NOTHING;
    this.#partialBytes = 0;
  }

  #pass(bytes: Buffer, offset: number, end: number): void {
    const type = bytes[offset + 3] ?? 0;
    const flags = bytes[offset + 4] ?? 0;
    this.#receiver.frame(type, flags, readUint31(bytes, offset + 5), bytes, offset + FRAME_HEADER_BYTES, end);
  }

  /** Keeps the beginning of a frame. A copy: it would keep the whole read alive. */
  #keep(bytes: Buffer, offset: number): void {
    const isHeaderComplete = bytes.length - offset >= FRAME_HEADER_BYTES;
    this.#allocate(isHeaderComplete ? frameBytes(bytes, offset) : FRAME_HEADER_BYTES);
    this.#partialBytes = bytes.copy(this.#partial, 0, offset);
  }

  /** Completes the frame that has begun, as far as `bytes` go, and returns the offset of what follows. */
  #complete(bytes: Buffer): number {
    let offset = 0;
    if (this.#partialBytes < FRAME_HEADER_BYTES) {
      offset = this.#fill(bytes, 0, FRAME_HEADER_BYTES);
      if (this.#partialBytes < FRAME_HEADER_BYTES) return offset;
      const header = this.#partial;
      this.#allocate(frameBytes(header, 0));
      this.#memory.give(header.length);
      header.copy(this.#partial);
    }
    offset = this.#fill(bytes, offset, this.#partial.length);
    if (this.#partialBytes < this.#partial.length) return offset;
    const frame = this.#partial;
    this.free();
    this.#progress += 1;
    this.#pass(frame, 0, frame.length);
    return offset;
  }

  #fill(bytes: Buffer, offset: number, wantedBytes: number): number {
    const end = Math.min(bytes.length, offset + wantedBytes - this.#partialBytes);
    this.#partialBytes += bytes.copy(this.#partial, this.#partialBytes, offset, end);
    return end;
  }

  #allocate(bytes: number): void {
    this.#partial = Buffer.allocUnsafeSlow(bytes);
    this.#memory.takeAnyway(bytes);
  }
}

/** The length of a frame with its header. Throws a ConnectionError for one that is too long. */
function frameBytes(bytes: Buffer, offset: number): number {
  const length = readFrameLength(bytes, offset);
  if (length > MAX_FRAME_BYTES)
    throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, "A frame exceeds SETTINGS_MAX_FRAME_SIZE");
  return FRAME_HEADER_BYTES + length;
}
