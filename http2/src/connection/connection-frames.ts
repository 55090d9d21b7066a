// Writes the frames that a connection sends on stream 0 without being asked: its preface, PINGs and GOAWAYs.
import { DEFAULT_WINDOW_BYTES } from "../flow/send-window.ts";
import {
  CONTROL_FRAME_MAX_BYTES,
  GOAWAY_MAX_BYTES,
  PING_BYTES,
  writeGoaway,
  writePing,
  writeWindowUpdate,
} from "../frames/control-frames.ts";
import type { ErrorCode } from "../frames/frame.ts";
import { SETTINGS_MAX_BYTES, writeSettings } from "../frames/settings.ts";
import type { Http2Limits } from "../limits/limits.ts";
import type { Output } from "../output/output.ts";

/** Bytes that tell the acknowledgements of PINGs apart. */
const KEEP_ALIVE_PING = Buffer.from("keep-alv", "latin1");
const DRAIN_PING = Buffer.from("draining", "latin1");

/** Writes the frames of one connection that belong to no stream. */
export class ConnectionFrames {
  readonly #output: Output;

  constructor(output: Output) {
    this.#output = output;
  }

  /** The preface of the server: its SETTINGS, and a larger window for the connection. */
  sendPreface(limits: Http2Limits): void {
    const output = this.#output;
    const start = output.reserve(SETTINGS_MAX_BYTES + CONTROL_FRAME_MAX_BYTES);
    const position = writeSettings(output.chunk, start, limits);
    const increment = limits.connectionWindowBytes - DEFAULT_WINDOW_BYTES;
    output.position = increment > 0 ? writeWindowUpdate(output.chunk, position, 0, increment) : position;
  }

  /** Asks the client whether it is there. */
  sendKeepAlivePing(): void {
    this.#sendPing(KEEP_ALIVE_PING);
  }

  /** Asks for an acknowledgement that follows the calls that are on their way. */
  sendDrainPing(): void {
    this.#sendPing(DRAIN_PING);
  }

  /** Returns true if the acknowledgement whose bytes begin at `start` is that of a drain PING. */
  isDrainPong(bytes: Buffer, start: number): boolean {
    return bytes.compare(DRAIN_PING, 0, PING_BYTES, start, start + PING_BYTES) === 0;
  }

  /** Announces the last call that is answered (RFC 9113, 6.8). */
  sendGoaway(lastId: number, code: ErrorCode, reason: string): void {
    const start = this.#output.reserve(GOAWAY_MAX_BYTES);
    this.#output.position = writeGoaway(this.#output.chunk, start, lastId, code, reason);
  }

  #sendPing(data: Buffer): void {
    const start = this.#output.reserve(CONTROL_FRAME_MAX_BYTES);
    this.#output.position = writePing(this.#output.chunk, start, 0, data, 0);
  }
}
