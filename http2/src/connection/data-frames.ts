// Sends the DATA of answers that do not fit: as far as the windows of flow control allow
// (RFC 9113, 5.2 and 6.9), and the rest when the client widens them.
import { ConnectionError, ErrorCode, Flag, FRAME_HEADER_BYTES, FrameType, writeFrameHeader } from "../frames/frame.ts";
import type { ByteBudget } from "../limits/byte-budget.ts";
import { widenWindow } from "../flow/send-window.ts";
import { CHUNK_BYTES } from "../output/chunk-pool.ts";
import type { FrameBudget } from "../limits/frame-budget.ts";
import type { Output } from "../output/output.ts";
import type { ConnectionState } from "./connection-state.ts";
import type { Stream } from "../streams/stream.ts";
import type { StreamTable } from "../streams/stream-table.ts";
import { type BodyEnd, UnsentData } from "../streams/unsent-data.ts";

/** The longest piece of a body: with its header it fits into a chunk, and every client accepts it. */
const PIECE_MAX_BYTES = CHUNK_BYTES - FRAME_HEADER_BYTES;

/** The longest piece that is sent without a copy: the frames that every client accepts (RFC 9113, 4.2). */
const SHARED_PIECE_MAX_BYTES = 16_384;

/** Bytes from this length on are sent without a copy; shorter ones are copied faster than gathered. */
const UNCOPIED_MIN_BYTES = 1024;

/** A piece from this length on entitles the client to control frames: it will widen the window. */
const EARNING_PIECE_BYTES = 1024;

/** Bytes that a body costs in addition to its own. */
const BODY_OVERHEAD_BYTES = 512;

export interface DataFramesDeps {
  readonly state: ConnectionState;
  readonly output: Output;
  readonly streams: StreamTable;
  readonly frames: FrameBudget;
  readonly budget: ByteBudget;
}

/** The bodies of one connection that are not sent completely. */
export class DataFrames {
  readonly #deps: DataFramesDeps;
  /** Ends the answer of a stream whose body is sent. */
  readonly #finish: (stream: Stream, end: BodyEnd) => void;
  readonly #blocked = new Set<Stream>();

  constructor(deps: DataFramesDeps, finish: (stream: Stream, end: BodyEnd) => void) {
    this.#deps = deps;
    this.#finish = finish;
  }

  /** Sends a body after the headers; false when there is no memory for what has to wait. */
  send(stream: Stream, bytes: Buffer, end: BodyEnd): boolean {
    const costBytes = bytes.length + BODY_OVERHEAD_BYTES;
    if (!this.#deps.budget.take(costBytes)) return false;
    this.#begin(stream, new UnsentData([bytes], costBytes, end));
    return true;
  }

  /** Sends a body that its owner keeps for other streams, too. */
  sendShared(stream: Stream, chunks: readonly Buffer[], end: BodyEnd): void {
    this.#begin(stream, new UnsentData(chunks, 0, end));
  }

  /** Forgets what is left of a stream's body. */
  drop(stream: Stream): void {
    if (stream.unsent === undefined) return;
    this.#deps.budget.give(stream.unsent.costBytes);
    stream.unsent = undefined;
    this.#blocked.delete(stream);
  }

  /** The client widens the window of the connection; false when it exceeds 2^31-1. */
  widen(incrementBytes: number): boolean {
    const { state } = this.#deps;
    const window = widenWindow(state.sendWindowBytes, incrementBytes);
    if (window === undefined) return false;
    state.sendWindowBytes = window;
    this.resume();
    return true;
  }

  /** The client widens the window of a stream; false when it exceeds 2^31-1. */
  widenStream(stream: Stream, incrementBytes: number): boolean {
    const window = widenWindow(stream.sendWindowBytes, incrementBytes);
    if (window === undefined) return false;
    stream.sendWindowBytes = window;
    if (stream.unsent !== undefined) this.#continue(stream, stream.unsent);
    return true;
  }

  /** The client changes the initial window, and with it that of every stream (6.9.2). */
  setInitialWindow(bytes: number): void {
    const { state, streams } = this.#deps;
    const change = bytes - state.initialWindowBytes;
    state.initialWindowBytes = bytes;
    for (const stream of streams) {
      const window = widenWindow(stream.sendWindowBytes, change);
      if (window === undefined)
        throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, "SETTINGS_INITIAL_WINDOW_SIZE overflows a window");
      stream.sendWindowBytes = window;
    }
    this.resume();
  }

  /** Sends what has become possible to send. Streams take turns: the one that has sent is the last next time. */
  resume(): void {
    if (this.#blocked.size === 0) return;
    const { state, output } = this.#deps;
    for (const stream of [...this.#blocked]) {
      if (state.sendWindowBytes <= 0 || output.isCongested) return;
      if (stream.unsent === undefined) continue;
      this.#blocked.delete(stream);
      this.#blocked.add(stream);
      this.#continue(stream, stream.unsent);
    }
  }

  #begin(stream: Stream, body: UnsentData): void {
    stream.unsent = body;
    this.#blocked.add(stream);
    this.#continue(stream, body);
  }

  #continue(stream: Stream, body: UnsentData): void {
    const { state, output, frames } = this.#deps;
    while (body.sentBytes < body.lengthBytes) {
      const left = body.lengthBytes - body.sentBytes;
      const maxBytes = body.costBytes === 0 ? SHARED_PIECE_MAX_BYTES : PIECE_MAX_BYTES;
      const piece = Math.min(maxBytes, state.sendWindowBytes, stream.sendWindowBytes, left);
      if (piece <= 0 || output.isCongested) return;
      const flags = piece === left && body.end.kind === "data" ? Flag.END_STREAM : 0;
      this.#sendPiece(stream, body, piece, flags);
      if (piece >= EARNING_PIECE_BYTES) frames.earn();
    }
    const { end } = body;
    this.drop(stream);
    this.#finish(stream, end);
  }

  #sendPiece(stream: Stream, body: UnsentData, length: number, flags: number): void {
    const { state, output } = this.#deps;
    const start = output.reserve(FRAME_HEADER_BYTES + (body.costBytes === 0 ? 0 : length));
    output.position = writeFrameHeader(output.chunk, start, length, FrameType.DATA, flags, stream.id);
    for (let left = length; left > 0;) {
      const bytes = body.take(left);
      if (body.costBytes === 0 && bytes.length >= UNCOPIED_MIN_BYTES) output.append(bytes);
      else output.position = output.reserve(bytes.length) + bytes.copy(output.chunk, output.position);
      left -= bytes.length;
    }
    state.sendWindowBytes -= length;
    stream.sendWindowBytes -= length;
  }
}
