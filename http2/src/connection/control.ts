// Obeys the frames that carry no request: SETTINGS, PING, WINDOW_UPDATE, RST_STREAM and PRIORITY.
import { CONTROL_FRAME_MAX_BYTES, writePing, writeSettingsAck } from "../frames/control-frames.ts";
import { ConnectionError, ErrorCode, Flag, FrameType, readUint31 } from "../frames/frame.ts";
import { checkFrame } from "../frames/frame-rules.ts";
import { readSettings } from "../frames/settings.ts";
import type { HpackEncoder } from "../hpack/hpack-encoder.ts";
import type { ConnectionState } from "./connection-state.ts";
import type { Responses } from "./responses.ts";
import type { FrameBudget } from "../limits/frame-budget.ts";
import type { Output } from "../output/output.ts";
import type { StreamTable } from "../streams/stream-table.ts";

export interface ControlDeps {
  readonly state: ConnectionState;
  readonly streams: StreamTable;
  readonly responses: Responses;
  readonly output: Output;
  readonly encoder: HpackEncoder;
  readonly frames: FrameBudget;
}

/** The control frames of one connection. */
export class Control {
  readonly #deps: ControlDeps;
  readonly #onPong: (bytes: Buffer, start: number) => void;

  /** `onPong` receives the eight bytes of an acknowledged PING. */
  constructor(deps: ControlDeps, onPong: (bytes: Buffer, start: number) => void) {
    this.#deps = deps;
    this.#onPong = onPong;
  }

  /** A frame; types that are unknown, and GOAWAY, need no answer. */
  frame(type: number, flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    if (!this.#deps.state.hasSettings && (type !== FrameType.SETTINGS || (flags & Flag.ACK) !== 0))
      throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "The first frame is not SETTINGS");
    checkFrame(type, streamId, end - start);
    if (type === FrameType.RST_STREAM) {
      this.#reset(streamId);
      return;
    }
    this.#deps.frames.spendControlFrame();
    if (type === FrameType.SETTINGS) this.#settings(flags, bytes, start, end);
    else if (type === FrameType.PING) this.#ping(flags, bytes, start);
    else if (type === FrameType.WINDOW_UPDATE) this.#windowUpdate(streamId, readUint31(bytes, start));
    else if (type === FrameType.PRIORITY && readUint31(bytes, start) === streamId)
      throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "A stream depends on itself");
  }

  #settings(flags: number, bytes: Buffer, start: number, end: number): void {
    const { state, encoder, output, responses } = this.#deps;
    if ((flags & Flag.ACK) !== 0) {
      if (end > start)
        throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, "An acknowledgement of SETTINGS has content");
      state.isLimitAcknowledged = true;
      return;
    }
    const change = readSettings(bytes, start, end);
    state.hasSettings = true;
    if (change.headerTableMinBytes !== undefined) encoder.setTableMaxBytes(change.headerTableMinBytes);
    if (change.headerTableBytes !== undefined) encoder.setTableMaxBytes(change.headerTableBytes);
    const offset = output.reserve(CONTROL_FRAME_MAX_BYTES);
    output.position = writeSettingsAck(output.chunk, offset);
    if (change.initialWindowBytes !== undefined) responses.dataFrames.setInitialWindow(change.initialWindowBytes);
  }

  #ping(flags: number, bytes: Buffer, start: number): void {
    if ((flags & Flag.ACK) !== 0) {
      this.#onPong(bytes, start);
      return;
    }
    const { output } = this.#deps;
    const offset = output.reserve(CONTROL_FRAME_MAX_BYTES);
    output.position = writePing(output.chunk, offset, Flag.ACK, bytes, start);
  }

  #windowUpdate(streamId: number, increment: number): void {
    const { streams, responses, frames } = this.#deps;
    if (streamId === 0) {
      if (increment === 0) throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "WINDOW_UPDATE of 0");
      if (!responses.dataFrames.widen(increment))
        throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, "The window of the connection exceeds 2^31-1");
      return;
    }
    this.#throwIfIdle(streamId);
    const stream = streams.find(streamId);
    if (stream === undefined) return; // It was on its way when the stream was closed.
    if (increment > 0 && responses.dataFrames.widenStream(stream, increment)) return;
    responses.reset(stream, increment === 0 ? ErrorCode.PROTOCOL_ERROR : ErrorCode.FLOW_CONTROL_ERROR);
    frames.spendStreamError();
  }

  #reset(streamId: number): void {
    const { streams, responses, frames } = this.#deps;
    this.#throwIfIdle(streamId);
    const stream = streams.find(streamId);
    if (stream !== undefined) {
      streams.closed.noteReset(streamId, true);
      responses.drop(stream);
    }
    frames.spendClientReset();
  }

  #throwIfIdle(streamId: number): void {
    if (streamId > this.#deps.streams.lastId)
      throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, `A frame on stream ${streamId}, which is idle`);
  }
}
