// Both directions of a connection, as an observer reads them: the client, sound or not, as far as a server
// could; of the server everything must be sound, answer what the client sent, and fit what it allowed.
import {
  FLAG,
  FRAME,
  frame,
  FRAME_HEADER_BYTES,
  FrameReader,
  PREFACE,
  SETTING,
} from "@weir/harness/http2/http2-frames";
import type { ReceivedFrame } from "../connection/received-frames.suite.ts";

const DEFAULT_WINDOW_BYTES = 65_535;
const FRAME_MAX_BYTES = 16_384;
const STREAM_ID_MASK = 0x7fff_ffff;

/**
 * Frames of control that one frame of a client may cause: its answer, WINDOW_UPDATE and a reset.
 * Some more are the server's own: SETTINGS, PING and GOAWAY.
 */
const CONTROL_PER_FRAME = 3;
const CONTROL_OF_SERVER = 8;

/** An answer as far as it was sent. */
interface Answer {
  state: "none" | "headers" | "ended";
  dataBytes: number;
}

/** The bytes of a client and the frames of its server so far. */
export class Exchange {
  /** The highest stream on which the client has sent HEADERS. */
  lastId = 0;
  /** Frames of the server, and the error code of its last GOAWAY. */
  received = 0;
  goaway: number | undefined;
  /** PINGs that the client has sent, and those that the server has acknowledged. */
  pings = 0;
  pongs = 0;
  /** How each answer ended: "grpc", "http" or "reset", and the status or the error code. */
  readonly ends = new Map<number, string>();
  readonly #opened = new Set<number>();
  readonly #answers = new Map<number, Answer>();
  /** Bytes that the client allowed the server to send: on the connection, and on a stream. */
  #windowBytes = DEFAULT_WINDOW_BYTES;
  #initialWindowMaxBytes = DEFAULT_WINDOW_BYTES;
  readonly #streamWindows = new Map<number, number>();
  #dataBytes = 0;
  #clientFrames = 0;
  #settings = 0;
  #settingsAcks = 0;
  #controlFrames = 0;
  readonly #client = new FrameReader((...read) => this.#clientFrame(...read), PREFACE.length);

  /** Reads what the client sends next. */
  clientSends(chunk: Buffer): void {
    this.#client.read(chunk);
  }

  /** Bytes that complete the preface and SETTINGS, or the last frame. */
  completion(): Buffer {
    const { rest, prefaceBytes } = this.#client;
    if (prefaceBytes > 0) return Buffer.concat([PREFACE.subarray(-prefaceBytes), frame(FRAME.SETTINGS, 0, 0)]);
    if (rest.length === 0) return this.#clientFrames === 0 ? frame(FRAME.SETTINGS, 0, 0) : Buffer.alloc(0);
    // Zeros complete the last frame: also its length, if that is cut off.
    const header = Buffer.concat([rest.subarray(0, 3), Buffer.alloc(3)]);
    return Buffer.alloc(FRAME_HEADER_BYTES + header.readUIntBE(0, 3) - rest.length);
  }

  /** Reads what the server sends next; throws when something is wrong. */
  serverSends(frames: readonly ReceivedFrame[]): void {
    for (const each of frames) {
      assert(this.goaway === undefined || this.goaway === 0, "a frame follows GOAWAY with an error");
      assert(each.payload.length <= FRAME_MAX_BYTES, "a frame is too long");
      const isFirst = this.received++ === 0;
      assert(!isFirst || each.type === "SETTINGS" || each.type === "GOAWAY", "the first frame is not SETTINGS");
      if (each.type === "DATA") this.#data(each);
      else if (each.type === "HEADERS") this.#headers(each);
      else this.#control(each);
    }
  }

  #clientFrame(type: number, flags: number, streamId: number, payload: Buffer): void {
    const isAck = (flags & FLAG.ACK) !== 0;
    const id = streamId & STREAM_ID_MASK;
    this.#clientFrames++;
    if (type === FRAME.HEADERS) {
      this.#opened.add(id);
      this.lastId = Math.max(this.lastId, id);
    } else if (type === FRAME.SETTINGS && !isAck) {
      this.#settings++;
      for (let at = 0; at + 6 <= payload.length; at += 6)
        if (payload.readUInt16BE(at) === SETTING.initialWindow)
          this.#initialWindowMaxBytes = Math.max(this.#initialWindowMaxBytes, payload.readUInt32BE(at + 2));
    } else if (type === FRAME.PING && !isAck) {
      this.pings++;
    } else if (type === FRAME.WINDOW_UPDATE && payload.length === 4) {
      const increment = payload.readUInt32BE(0) & STREAM_ID_MASK;
      if (id === 0) this.#windowBytes += increment;
      else this.#streamWindows.set(id, (this.#streamWindows.get(id) ?? 0) + increment);
    }
  }

  #data({ flags, streamId, payload }: ReceivedFrame): void {
    const answer = this.#answerOf(streamId);
    assert(answer.state === "headers", "DATA outside of an answer");
    assert((flags & ~FLAG.END_STREAM) === 0, "DATA with unknown flags");
    answer.dataBytes += payload.length;
    this.#dataBytes += payload.length;
    const streamWindowBytes = this.#initialWindowMaxBytes + (this.#streamWindows.get(streamId) ?? 0);
    assert(answer.dataBytes <= streamWindowBytes, "DATA beyond the window of the stream");
    assert(this.#dataBytes <= this.#windowBytes, "DATA beyond the window of the connection");
    if ((flags & FLAG.END_STREAM) !== 0) answer.state = "ended";
  }

  #headers({ flags, streamId, fields = {} }: ReceivedFrame): void {
    const answer = this.#answerOf(streamId);
    assert(answer.state !== "ended", "HEADERS after the end of an answer");
    assert((flags & ~FLAG.END_STREAM) === FLAG.END_HEADERS, "HEADERS with unknown flags, or without END_HEADERS");
    const isFirst = answer.state === "none";
    const isLast = (flags & FLAG.END_STREAM) !== 0;
    const { ":status": status, "grpc-status": grpcStatus } = fields;
    const isStatus = isFirst ? Object.keys(fields)[0] === ":status" : status === undefined;
    assert(isStatus, "an answer without one :status");
    assert(isFirst || isLast, "trailers without END_STREAM");
    assert(isFirst || grpcStatus !== undefined, "trailers without grpc-status");
    answer.state = isLast ? "ended" : "headers";
    if (grpcStatus !== undefined) this.ends.set(streamId, `grpc ${grpcStatus}`);
    else if (status !== "200") this.ends.set(streamId, `http ${status}`);
  }

  #control({ type, flags, streamId, payload, code }: ReceivedFrame): void {
    const most = CONTROL_PER_FRAME * this.#clientFrames + CONTROL_OF_SERVER;
    assert(++this.#controlFrames <= most, "more control frames than the client's frames ask for");
    const isAck = (flags & FLAG.ACK) !== 0;
    switch (type) {
      case "RST_STREAM":
        assert(payload.length === 4, "RST_STREAM of a wrong length");
        this.#answerOf(streamId).state = "ended";
        if (!this.ends.has(streamId)) this.ends.set(streamId, `reset ${code}`);
        return;
      case "SETTINGS":
        assert(streamId === 0 && payload.length % 6 === 0, "a malformed SETTINGS");
        if (isAck)
          assert(payload.length === 0 && ++this.#settingsAcks <= this.#settings, "an acknowledgement too many");
        return;
      case "PING":
        assert(streamId === 0 && payload.length === 8, "a malformed PING");
        if (isAck) assert(++this.pongs <= this.pings, "a PING that was not sent is acknowledged");
        return;
      case "GOAWAY":
        assert(streamId === 0 && code !== undefined, "a malformed GOAWAY");
        this.goaway = code;
        return;
      case "WINDOW_UPDATE":
        assert(payload.length === 4 && payload.readUInt32BE(0) > 0, "a malformed WINDOW_UPDATE");
        assert(streamId === 0 || this.#opened.has(streamId), "WINDOW_UPDATE of a stream that was not opened");
        return;
      default:
        assert(false, `a frame of ${type}`);
    }
  }

  #answerOf(id: number): Answer {
    assert(this.#opened.has(id), "an answer to a stream that was not opened");
    return this.#answers.getOrInsertComputed(id, () => ({ state: "none", dataBytes: 0 }));
  }
}

function assert(isTrue: boolean, fault: string): asserts isTrue {
  if (!isTrue) throw new Error(`Wrong bytes of the server: ${fault}`);
}
