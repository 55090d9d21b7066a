// One HTTP/2 connection: a state machine over bytes in and bytes out. It has no socket and no clock.
import {
  CONTROL_FRAME_MAX_BYTES,
  GOAWAY_REASON_MAX_BYTES,
  PING_BYTES,
  writeGoaway,
  writePing,
  writeSettingsAck,
  writeWindowUpdate,
} from "../frames/control-frames.ts";
import {
  ConnectionError,
  ErrorCode,
  Flag,
  FRAME_HEADER_BYTES,
  FrameType,
  MAX_STREAM_ID,
  readUint31,
} from "../frames/frame.ts";
import { type FrameReceiver, FrameReader } from "../frames/frame-reader.ts";
import { CLIENT_PREFACE, classifyPreface, HTTP1_REFUSAL } from "../frames/preface.ts";
import { checkFrame } from "../frames/frame-rules.ts";
import { readSettings, writeSettings } from "../frames/settings.ts";
import type { ByteBudget } from "../flow/byte-budget.ts";
import { DEFAULT_WINDOW_BYTES } from "../flow/send-window.ts";
import type { Deadlines } from "../grpc/deadlines.ts";
import { HeaderBlocks } from "../headers/header-blocks.ts";
import type { FieldList } from "../hpack/field-list.ts";
import type { HpackLimits } from "../hpack/hpack-decoder.ts";
import { HpackEncoder } from "../hpack/hpack-encoder.ts";
import type { Methods, Turn, TurnTask } from "../server/method.ts";
import { Answers } from "./answers.ts";
import type { ChunkPool } from "./chunk-pool.ts";
import type { Http2Counters } from "./counters.ts";
import { FrameBudget } from "./frame-budget.ts";
import type { Http2Limits } from "./limits.ts";
import { type ByteSink, Output } from "./output.ts";
import { Requests } from "./requests.ts";
import { StreamTable } from "./stream-table.ts";
import { Upkeep } from "./upkeep.ts";

/** What the connections of a server share. */
export interface ConnectionDeps {
  readonly methods: Methods;
  readonly turn: Turn;
  readonly limits: Http2Limits;
  readonly counters: Http2Counters;
  readonly pool: ChunkPool;
  readonly budget: ByteBudget;
  readonly deadlines: Deadlines;
  /** Scratch space for header blocks. */
  readonly fields: FieldList;
}

const NOTHING: Buffer = Buffer.alloc(0);

/** Bytes that say which PING an acknowledgement belongs to. */
const KEEP_ALIVE_PING = Buffer.from("keep-alv", "latin1");
const DRAIN_PING = Buffer.from("draining", "latin1");

/** Most time from the first GOAWAY of a graceful close to the second, in milliseconds. */
const DRAIN_PING_TIMEOUT_MS = 1000;

/** Time for a client to close its direction after the server has closed its own, in milliseconds. */
const CLOSE_TIMEOUT_MS = 1000;

/** The life of a connection; "ending" = the server has sent its last byte. */
type Phase = "preface" | "open" | "draining" | "drained" | "ending" | "closed";

/** A connection. Its owner passes in what was read and when time has passed, and takes what is written. */
export class Connection implements FrameReceiver, TurnTask {
  readonly #deps: ConnectionDeps;
  readonly #sink: ByteSink;
  readonly #output: Output;
  readonly #encoder = new HpackEncoder();
  readonly #streams: StreamTable;
  readonly #answers: Answers;
  readonly #requests: Requests;
  readonly #frames: FrameBudget;
  readonly #reader: FrameReader;
  readonly #upkeep: Upkeep;
  #phase: Phase = "preface";
  /** The first bytes, until it is clear what they are. */
  #first = NOTHING;
  #hasSettings = false;
  /** Reads so far: the client is alive while it grows. */
  #reads = 0;
  /** When the current phase of closing ends at the latest. */
  #phaseEndMs = 0;

  /** `maxAgeMs` is the age at which the connection is closed gracefully. */
  constructor(deps: ConnectionDeps, sink: ByteSink, nowMs: number, maxAgeMs: number) {
    const { limits, counters, budget, deadlines, turn } = deps;
    this.#deps = deps;
    this.#sink = sink;
    this.#output = new Output({ ...deps, sink, task: this }, limits.unsentMaxBytes);
    this.#streams = new StreamTable((stream) => {
      if (stream.unary !== undefined) stream.head.keep();
      if (stream.deadlineMs !== undefined) deadlines.add(stream, stream.deadlineMs, turn.nowMs());
    });
    const parts = { output: this.#output, streams: this.#streams };
    this.#answers = new Answers({ ...parts, encoder: this.#encoder, deadlines, budget, counters });
    this.#frames = new FrameBudget(limits, counters);
    const heads = new HeaderBlocks(hpackLimits(limits), deps.fields);
    this.#requests = new Requests({ ...deps, ...parts, heads, answers: this.#answers, frames: this.#frames });
    this.#reader = new FrameReader(this, budget);
    this.#upkeep = new Upkeep(limits, counters, nowMs, maxAgeMs);
    counters.connections += 1;
  }

  /** Calls that methods have not answered. */
  get callsInFlight(): number {
    return this.#answers.callsInFlight;
  }

  /** Open streams. */
  get openStreams(): number {
    return this.#streams.size;
  }

  /** Bytes were read; they are not used after this returns. */
  receive(bytes: Buffer): void {
    this.#reads += 1;
    try {
      if (this.#phase === "preface") this.#receiveFirst(bytes);
      else if (this.#phase !== "ending" && this.#phase !== "closed") this.#reader.read(bytes);
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error;
      this.#fail(error);
    }
    this.#streams.hold();
    if (this.#phase === "drained") this.#endWhenIdle();
  }

  /** Sends what the turn has gathered. */
  runAtTurnEnd(): void {
    this.#output.runAtTurnEnd();
    if (this.#phase === "drained") this.#endWhenIdle();
  }

  /** The sink has sent bytes that it did not send immediately. */
  sent(): void {
    this.#output.sent();
    if (!this.#output.isCongested) this.#answers.resume();
  }

  /** Time has passed. To be called about every second. */
  tick(nowMs: number): void {
    this.#frames.tick(nowMs);
    if (this.#phase === "closed") return;
    if (this.#phase === "ending") {
      if (nowMs >= this.#phaseEndMs) this.#sink.destroy();
      return;
    }
    if (this.#phase === "draining" && nowMs >= this.#phaseEndMs) this.#finishDrain();
    this.#resetStalled(nowMs);
    const action = this.#upkeep.check(nowMs, {
      hasSettings: this.#hasSettings,
      lastId: this.#streams.lastId,
      isBusy: this.#streams.size > 0 || this.#answers.callsInFlight > 0,
      reads: this.#reads,
      partialBytes: this.#reader.partialBytes,
      framesRead: this.#reader.progress,
      isUnsent: this.#output.isUnsent,
      sends: this.#output.progress,
    });
    if (action === "ping") this.#writePing(KEEP_ALIVE_PING);
    else if (action === "drain") this.drain();
    else if (action === "destroy") this.#sink.destroy();
  }

  /**
   * Closes gracefully (RFC 9113, 6.8): the client opens no more calls; the connection ends when the
   * open ones are answered.
   */
  drain(): void {
    if (this.#phase === "preface") this.#end();
    if (this.#phase !== "open") return;
    this.#phase = "draining";
    this.#phaseEndMs = this.#deps.turn.nowMs() + DRAIN_PING_TIMEOUT_MS;
    this.#writeGoaway(MAX_STREAM_ID, ErrorCode.NO_ERROR, "");
    this.#writePing(DRAIN_PING); // Its acknowledgement follows the calls that were on their way.
  }

  /** The sink is closed: by the client, or after `destroy`. */
  closed(): void {
    this.#phase = "closed";
    this.#output.close();
    this.#dropStreams();
    this.#reader.free();
  }

  frame(type: number, flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    if (this.#requests.isInBlock && type !== FrameType.CONTINUATION)
      throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "A header block is interrupted");
    if (type === FrameType.DATA) this.#requests.data(flags, streamId, bytes, start, end);
    else if (type === FrameType.HEADERS && this.#hasSettings) this.#requests.headers(flags, streamId, bytes, start, end);
    else this.#control(type, flags, streamId, bytes, start, end);
  }

  #control(type: number, flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    if (!this.#hasSettings && (type !== FrameType.SETTINGS || flags === Flag.ACK))
      throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "The first frame is not SETTINGS");
    if (type === FrameType.CONTINUATION) {
      this.#requests.continuation(flags, streamId, bytes, start, end);
      return;
    }
    checkFrame(type, streamId, end - start);
    if (type === FrameType.RST_STREAM) {
      this.#resetByClient(streamId);
      return;
    }
    this.#frames.spendControlFrame();
    if (type === FrameType.SETTINGS) this.#settings(flags, bytes, start, end);
    else if (type === FrameType.PING) this.#ping(flags, bytes, start);
    else if (type === FrameType.WINDOW_UPDATE) this.#windowUpdate(streamId, readUint31(bytes, start));
    else if (type === FrameType.PRIORITY && readUint31(bytes, start) === streamId)
      throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "A stream depends on itself");
    // GOAWAY needs no answer: the client opens no more streams. Unknown types are ignored (4.1).
  }

  #receiveFirst(bytes: Buffer): void {
    const first = this.#first.length === 0 ? bytes : Buffer.concat([this.#first, bytes]);
    switch (classifyPreface(first)) {
      case "incomplete":
        this.#first = Buffer.from(first);
        return;
      case "http1":
        this.#deps.counters.http1Refused += 1;
        this.#sink.write(HTTP1_REFUSAL);
        this.#end();
        return;
      case "foreign":
        this.#deps.counters.foreignPreface += 1;
        throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "This port speaks HTTP/2 (gRPC)");
      case "http2":
        this.#phase = "open";
        this.#first = NOTHING;
        this.#writeSettings();
        this.#reader.read(first.subarray(CLIENT_PREFACE.length));
    }
  }

  #settings(flags: number, bytes: Buffer, start: number, end: number): void {
    if ((flags & Flag.ACK) !== 0) {
      if (end > start) throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, "An acknowledgement of SETTINGS has content");
      return;
    }
    const change = readSettings(bytes, start, end);
    this.#hasSettings = true;
    if (change.headerTableMinBytes !== undefined) this.#encoder.setTableMaxBytes(change.headerTableMinBytes);
    if (change.headerTableBytes !== undefined) this.#encoder.setTableMaxBytes(change.headerTableBytes);
    const offset = this.#output.reserve(CONTROL_FRAME_MAX_BYTES);
    this.#output.position = writeSettingsAck(this.#output.chunk, offset);
    if (change.initialWindowBytes !== undefined) this.#answers.setInitialWindow(change.initialWindowBytes);
  }

  #ping(flags: number, bytes: Buffer, start: number): void {
    if ((flags & Flag.ACK) === 0) {
      const offset = this.#output.reserve(CONTROL_FRAME_MAX_BYTES);
      this.#output.position = writePing(this.#output.chunk, offset, Flag.ACK, bytes, start);
    } else if (this.#phase === "draining" && bytes.compare(DRAIN_PING, 0, PING_BYTES, start, start + PING_BYTES) === 0) {
      this.#finishDrain();
    }
  }

  #windowUpdate(streamId: number, increment: number): void {
    if (streamId === 0) {
      if (increment === 0) throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "WINDOW_UPDATE of 0");
      if (!this.#answers.widen(undefined, increment))
        throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, "The window of the connection exceeds 2^31-1");
      return;
    }
    this.#throwIfIdle(streamId);
    const stream = this.#streams.find(streamId);
    if (stream === undefined) return; // It may have been on its way when the stream was closed.
    if (increment > 0 && this.#answers.widen(stream, increment)) return;
    this.#answers.reset(stream, increment === 0 ? ErrorCode.PROTOCOL_ERROR : ErrorCode.FLOW_CONTROL_ERROR);
    this.#frames.spendStreamError();
  }

  #resetByClient(streamId: number): void {
    this.#throwIfIdle(streamId);
    const stream = this.#streams.find(streamId);
    if (stream !== undefined) {
      this.#streams.closed.noteReset(streamId, true);
      this.#answers.drop(stream);
    }
    this.#frames.spendClientReset();
  }

  #throwIfIdle(streamId: number): void {
    if (streamId > this.#streams.lastId) throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "A frame on an idle stream");
  }

  /** Ends streams that wait for a client which does not move. */
  #resetStalled(nowMs: number): void {
    const { limits, counters } = this.#deps;
    for (const stream of this.#streams) {
      const hasStalled =
        stream.unsent?.hasStalled(nowMs, limits.stallTimeoutMs) ??
        stream.reader?.hasStalled(nowMs, limits.stallTimeoutMs) ??
        false;
      if (!hasStalled) continue;
      counters.streamStalls += 1;
      this.#answers.reset(stream, ErrorCode.CANCEL);
    }
  }

  /** Announces the last call that is answered. */
  #finishDrain(): void {
    const { lastId } = this.#streams;
    this.#phase = "drained";
    this.#requests.lastAcceptedId = lastId;
    this.#writeGoaway(lastId, ErrorCode.NO_ERROR, "");
  }

  #endWhenIdle(): void {
    if (this.#streams.size === 0) this.#end();
  }

  /** Closes the connection for a fault of the client (RFC 9113, 5.4.1). */
  #fail(error: ConnectionError): void {
    this.#deps.counters.connectionErrors += 1;
    this.#writeGoaway(this.#streams.lastId, error.code, error.message);
    this.#end();
  }

  /** Sends what is written, and the end. Nothing is read any more. */
  #end(): void {
    this.#phase = "ending";
    this.#phaseEndMs = this.#deps.turn.nowMs() + CLOSE_TIMEOUT_MS;
    this.#output.flush();
    this.#output.close();
    this.#dropStreams();
    this.#sink.end();
  }

  #dropStreams(): void {
    for (const stream of this.#streams) this.#answers.drop(stream);
  }

  /** The preface of the server: its SETTINGS, and a larger window for the connection. */
  #writeSettings(): void {
    const { limits } = this.#deps;
    const output = this.#output;
    const start = output.reserve(64);
    const position = writeSettings(output.chunk, start, limits);
    output.position = writeWindowUpdate(output.chunk, position, 0, limits.connectionWindowBytes - DEFAULT_WINDOW_BYTES);
  }

  #writePing(data: Buffer): void {
    const start = this.#output.reserve(CONTROL_FRAME_MAX_BYTES);
    this.#output.position = writePing(this.#output.chunk, start, 0, data, 0);
  }

  #writeGoaway(lastId: number, code: ErrorCode, reason: string): void {
    const start = this.#output.reserve(FRAME_HEADER_BYTES + 8 + GOAWAY_REASON_MAX_BYTES);
    this.#output.position = writeGoaway(this.#output.chunk, start, lastId, code, reason);
  }
}

/** The limits of header blocks. */
export function hpackLimits(limits: Http2Limits): HpackLimits {
  return { tableMaxBytes: 4096, listMaxBytes: limits.headerListMaxBytes, tableUpdatesMax: 2 };
}
