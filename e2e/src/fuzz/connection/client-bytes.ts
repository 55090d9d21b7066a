// Reads what a client sends on a connection, sound or not, as far as a server could: what it opened,
// what it allowed the server to send, and how many bytes are missing from its last frame.
import { FLAG, FRAME, frame, PREFACE } from "@weir/harness/http2/http2-frames";

const FRAME_HEADER_BYTES = 9;
const INITIAL_WINDOW_SIZE = 4;
const DEFAULT_WINDOW_BYTES = 65_535;
const STREAM_ID_MASK = 0x7fff_ffff;

/** The bytes of one client so far. */
export class ClientBytes {
  /** Streams on which it has sent HEADERS. */
  readonly opened = new Set<number>();
  /** The highest of them. */
  lastId = 0;
  frames = 0;
  settings = 0;
  pings = 0;
  bytes = 0;
  /** What it allowed the server to send: on the connection, and beyond the initial window on a stream. */
  windowBytes = DEFAULT_WINDOW_BYTES;
  initialWindowMaxBytes = DEFAULT_WINDOW_BYTES;
  readonly #streamWindows = new Map<number, number>();
  #rest: Buffer = Buffer.alloc(0);
  #hasPreface = false;

  /** Reads what it sends next. */
  read(chunk: Buffer): void {
    this.bytes += chunk.length;
    this.#rest = Buffer.concat([this.#rest, chunk]);
    if (!this.#hasPreface) {
      if (this.#rest.length < PREFACE.length) return;
      this.#hasPreface = true;
      this.#rest = this.#rest.subarray(PREFACE.length);
    }
    for (;;) {
      const length = this.#rest.length < FRAME_HEADER_BYTES ? Infinity : this.#rest.readUIntBE(0, 3);
      if (this.#rest.length < FRAME_HEADER_BYTES + length) return;
      this.#frame(this.#rest.subarray(0, FRAME_HEADER_BYTES + length));
      this.#rest = this.#rest.subarray(FRAME_HEADER_BYTES + length);
    }
  }

  /** Most bytes of DATA that the server may have sent on a stream. */
  streamWindowBytes(id: number): number {
    return this.initialWindowMaxBytes + (this.#streamWindows.get(id) ?? 0);
  }

  /** Bytes that complete the preface and SETTINGS, or the last frame. */
  completion(): Buffer {
    const parts: Buffer[] = [];
    if (!this.#hasPreface) parts.push(PREFACE.subarray(this.#rest.length));
    else if (this.#rest.length > 0) {
      const header = Buffer.concat([this.#rest, Buffer.alloc(FRAME_HEADER_BYTES)]);
      const end = FRAME_HEADER_BYTES + header.readUIntBE(0, 3);
      parts.push(Buffer.alloc(Math.max(0, end - this.#rest.length)));
    }
    if (this.frames === 0 && (!this.#hasPreface || this.#rest.length === 0)) parts.push(frame(FRAME.SETTINGS, 0, 0));
    return Buffer.concat(parts);
  }

  #frame(bytes: Buffer): void {
    const type = bytes[3] ?? 0;
    const isAck = ((bytes[4] ?? 0) & FLAG.ACK) !== 0;
    const streamId = bytes.readUInt32BE(5) & STREAM_ID_MASK;
    const payload = bytes.subarray(FRAME_HEADER_BYTES);
    this.frames++;
    if (type === FRAME.HEADERS) {
      this.opened.add(streamId);
      this.lastId = Math.max(this.lastId, streamId);
    } else if (type === FRAME.SETTINGS && !isAck) {
      this.settings++;
      for (let at = 0; at + 6 <= payload.length; at += 6)
        if (payload.readUInt16BE(at) === INITIAL_WINDOW_SIZE)
          this.initialWindowMaxBytes = Math.max(this.initialWindowMaxBytes, payload.readUInt32BE(at + 2));
    } else if (type === FRAME.PING && !isAck) {
      this.pings++;
    } else if (type === FRAME.WINDOW_UPDATE && payload.length === 4) {
      const increment = payload.readUInt32BE(0) & STREAM_ID_MASK;
      if (streamId === 0) this.windowBytes += increment;
      else this.#streamWindows.set(streamId, (this.#streamWindows.get(streamId) ?? 0) + increment);
    }
  }
}
