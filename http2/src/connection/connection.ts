// One HTTP/2 connection: a state machine over bytes in and bytes out. It has no socket and no clock.
import { ConnectionError, ErrorCode, FrameType, MAX_STREAM_ID } from "../frames/frame.ts";
import { FrameReader, type FrameReceiver } from "../frames/frame-reader.ts";
import { CLIENT_PREFACE, classifyPreface, HTTP1_REFUSAL } from "../frames/preface.ts";
import { HeaderBlocks } from "../headers/header-blocks.ts";
import { HpackEncoder } from "../hpack/hpack-encoder.ts";
import type { TurnTask } from "../grpc/method.ts";
import { ReadGate, ReadPause } from "../output/read-gate.ts";
import { Responses } from "./responses.ts";
import { Calls } from "./calls.ts";
import { type ConnectionDeps, hpackLimits } from "./connection-deps.ts";
import { newConnectionState } from "./connection-state.ts";
import { Control } from "./control.ts";
import { FrameBudget } from "../limits/frame-budget.ts";
import { HeaderAssembly } from "./header-assembly.ts";
import { type ByteSink, Output } from "../output/output.ts";
import { ConnectionFrames } from "./connection-frames.ts";
import { Requests } from "./requests.ts";
import type { Stream } from "../streams/stream.ts";
import { StreamTable } from "../streams/stream-table.ts";
import { Keepalive } from "./keepalive.ts";

const NOTHING: Buffer = Buffer.alloc(0);

/** Most time from the first GOAWAY of a graceful close to the second, in milliseconds. */
const DRAIN_PING_TIMEOUT_MS = 1000;

/**
 * Bytes after which a connection is not read from until the end of the event-loop turn, so that
 * others have their turn: the system would hand over 32 pieces of this size.
 */
const READ_MAX_BYTES = 65_536;

/** Time for a client to close its direction after the server has closed its own, in milliseconds. */
const CLOSE_TIMEOUT_MS = 1000;

/** A connection. Its owner passes in what was read and that time has passed, and sends the output. */
export class Connection implements FrameReceiver, TurnTask {
  readonly #deps: ConnectionDeps;
  readonly #sink: ByteSink;
  readonly #state = newConnectionState();
  readonly #gate: ReadGate;
  readonly #output: Output;
  readonly #streams: StreamTable;
  readonly #responses: Responses;
  readonly #calls: Calls;
  readonly #requests: Requests;
  readonly #blocks: HeaderAssembly;
  readonly #control: Control;
  readonly #connectionFrames: ConnectionFrames;
  readonly #frames: FrameBudget;
  readonly #reader: FrameReader;
  readonly #keepalive: Keepalive;
  /** The first bytes, until it is clear what they are. */
  #first = NOTHING;

  /** `maxAgeMs` is the age at which the connection is closed gracefully. */
  constructor(deps: ConnectionDeps, sink: ByteSink, nowMs: number, maxAgeMs: number) {
    const { limits, counters, budget } = deps;
    const encoder = new HpackEncoder();
    this.#deps = deps;
    this.#sink = sink;
    this.#gate = new ReadGate(sink);
    this.#output = new Output({ ...deps, sink, gate: this.#gate, task: this }, limits.unsentMaxBytes);
    this.#connectionFrames = new ConnectionFrames(this.#output);
    this.#streams = new StreamTable((stream) => this.#hold(stream));
    this.#frames = new FrameBudget(limits, counters);
    const parts = {
      ...deps,
      state: this.#state,
      output: this.#output,
      streams: this.#streams,
      frames: this.#frames,
      encoder,
    };
    this.#responses = new Responses(parts);
    this.#calls = new Calls({ ...parts, responses: this.#responses });
    const heads = new HeaderBlocks(hpackLimits(limits), deps.fields);
    this.#requests = new Requests({ ...parts, heads, calls: this.#calls, responses: this.#responses });
    this.#blocks = new HeaderAssembly({ ...deps, receiver: this.#requests });
    this.#control = new Control({ ...parts, responses: this.#responses }, (bytes, start) =>
      this.#receivePong(bytes, start),
    );
    this.#reader = new FrameReader(this, budget);
    this.#keepalive = new Keepalive(limits, counters, nowMs, maxAgeMs);
    counters.connections += 1;
  }

  /** Calls that methods have not answered. */
  get callsInFlight(): number {
    return this.#state.callsInFlight;
  }

  get openStreams(): number {
    return this.#streams.size;
  }

  /** Bytes were read; they are not used after this returns. */
  receive(bytes: Buffer): void {
    this.#state.reads += 1;
    this.#state.turnBytes += bytes.length;
    if (this.#state.turnBytes >= READ_MAX_BYTES) this.#waitForTurnEnd();
    try {
      if (this.#state.phase === "preface") this.#receiveFirst(bytes);
      else if (this.#state.phase !== "ending" && this.#state.phase !== "closed") this.#reader.read(bytes);
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error;
      this.#fail(error);
    }
    this.#streams.hold();
    if (this.#state.phase === "drained") this.#endWhenIdle();
  }

  frame(type: number, flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    if (this.#blocks.isOpen && type !== FrameType.CONTINUATION)
      throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "A header block is interrupted");
    if (!this.#state.hasSettings) this.#control.frame(type, flags, streamId, bytes, start, end);
    else if (type === FrameType.DATA) this.#requests.data(flags, streamId, bytes, start, end);
    else if (type === FrameType.HEADERS) this.#blocks.headers(flags, streamId, bytes, start, end);
    else if (type === FrameType.CONTINUATION) this.#blocks.continuation(flags, streamId, bytes, start, end);
    else this.#control.frame(type, flags, streamId, bytes, start, end);
  }

  /** Sends what the turn has gathered, and what is left of long responses. */
  runAtTurnEnd(): void {
    this.#state.turnBytes = 0;
    this.#responses.dataFrames.resume();
    this.#output.runAtTurnEnd();
    this.#gate.resume(ReadPause.TURN);
    if (this.#state.phase === "drained") this.#endWhenIdle();
  }

  /**
   * The sink has sent bytes that it did not send immediately. More of long responses waits for the end of the turn: what the
   * client has sent meanwhile is read first, also when its windows admit all of them.
   */
  sent(): void {
    this.#output.sent();
    this.#output.schedule();
  }

  /** Time has passed. To be called about every second. */
  tick(nowMs: number): void {
    if (this.#state.phase === "closed") return;
    if (this.#state.phase === "ending") {
      this.#destroyWhenSent(nowMs);
      return;
    }
    this.#frames.tick(nowMs);
    if (this.#state.phase === "draining" && nowMs >= this.#state.phaseEndMs) this.#finishDrain();
    this.#resetStalled(nowMs);
    const action = this.#keepalive.check(nowMs, {
      hasSettings: this.#state.hasSettings,
      lastId: this.#streams.lastId,
      reads: this.#state.reads,
      isReading: !this.#output.isCongested,
      framesRead: this.#reader.progress,
      partialBytes: this.#reader.partialBytes + this.#blocks.keptBytes,
      isUnsent: this.#output.isUnsent,
      sends: this.#output.progress,
    });
    if (action === "ping") this.#connectionFrames.sendKeepAlivePing();
    else if (action === "drain") this.drain();
    else if (action === "destroy") this.#destroy();
  }

  /**
   * Closes gracefully (RFC 9113, 6.8): the client opens no more calls, and the connection ends when
   * the open ones are answered.
   */
  drain(): void {
    if (this.#state.phase === "preface") this.#end();
    if (this.#state.phase !== "open") return;
    this.#state.phase = "draining";
    this.#state.phaseEndMs = this.#deps.turn.monotonicMs() + DRAIN_PING_TIMEOUT_MS;
    this.#connectionFrames.sendGoaway(MAX_STREAM_ID, ErrorCode.NO_ERROR, "");
    this.#connectionFrames.sendDrainPing();
  }

  /** The sink is closed: by the client, or after `destroy`. */
  closed(): void {
    this.#state.phase = "closed";
    this.#forget();
    this.#output.close();
  }

  #waitForTurnEnd(): void {
    this.#gate.pause(ReadPause.TURN);
    this.#output.schedule();
  }

  #receiveFirst(bytes: Buffer): void {
    const first = this.#first.length === 0 ? bytes : Buffer.concat([this.#first, bytes]);
    switch (classifyPreface(first)) {
      case "incomplete":
        this.#first = Buffer.from(first);
        return;
      case "http1":
        this.#deps.counters.http1Refused += 1;
        this.#sink.refused("http1");
        this.#sink.write(HTTP1_REFUSAL);
        this.#end();
        return;
      case "foreign":
        this.#deps.counters.foreignPreface += 1;
        this.#sink.refused("foreign");
        throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "This port speaks HTTP/2 (gRPC)");
      case "http2":
        this.#state.phase = "open";
        this.#first = NOTHING;
        this.#connectionFrames.sendPreface(this.#deps.limits);
        this.#reader.read(first.subarray(CLIENT_PREFACE.length));
    }
  }

  /** A stream outlives the frames in which it was received. */
  #hold(stream: Stream): void {
    this.#calls.keepHead(stream);
    if (stream.deadlineMs === undefined || stream.isLocalEnded) return;
    const { deadlines, turn } = this.#deps;
    deadlines.add(stream, stream.deadlineMs, turn.monotonicMs());
  }

  #receivePong(bytes: Buffer, start: number): void {
    if (this.#state.phase === "draining" && this.#connectionFrames.isDrainPong(bytes, start)) this.#finishDrain();
  }

  /** Ends streams whose client does not move. */
  #resetStalled(nowMs: number): void {
    const { limits, counters } = this.#deps;
    for (const stream of this.#streams) {
      if (!stream.hasStalled(nowMs, limits.streamStallTimeoutMs, limits.messageTimeoutMs)) continue;
      counters.streamStalls += 1;
      this.#responses.reset(stream, stream.isLocalEnded ? ErrorCode.NO_ERROR : ErrorCode.CANCEL);
    }
  }

  /** Announces the last call that is answered. */
  #finishDrain(): void {
    const { lastId } = this.#streams;
    this.#state.phase = "drained";
    this.#state.lastAcceptedId = lastId;
    this.#connectionFrames.sendGoaway(lastId, ErrorCode.NO_ERROR, "");
  }

  /** Ends the connection when all calls are answered, also those whose requests have no end. */
  #endWhenIdle(): void {
    for (const stream of this.#streams) if (!stream.isLocalEnded) return;
    this.#end();
  }

  /** Closes the connection for a fault of the client (RFC 9113, 5.4.1). */
  #fail(error: ConnectionError): void {
    this.#deps.counters.connectionErrors += 1;
    // A GOAWAY never announces a later call than the one before (6.8).
    this.#connectionFrames.sendGoaway(
      Math.min(this.#streams.lastId, this.#state.lastAcceptedId),
      error.code,
      error.message,
    );
    this.#end();
  }

  /** Sends what is written, and the end. Bytes that are read from now on are dropped. */
  #end(): void {
    this.#state.phase = "ending";
    this.#state.phaseEndMs = this.#deps.turn.monotonicMs() + CLOSE_TIMEOUT_MS;
    this.#output.flush();
    this.#forget();
    this.#sink.end();
  }

  /** Closes a connection whose client does not: but not before it has taken the last answers, or stalls. */
  #destroyWhenSent(nowMs: number): void {
    const patienceMs = this.#sink.unsentBytes() > 0 ? this.#deps.limits.stallTimeoutMs - CLOSE_TIMEOUT_MS : 0;
    if (nowMs >= this.#state.phaseEndMs + patienceMs) this.#destroy();
  }

  /** Closes the connection without a word: the peer would not receive it. */
  #destroy(): void {
    this.#state.phase = "closed";
    this.#sink.destroy();
  }

  #forget(): void {
    for (const stream of this.#streams) this.#responses.drop(stream);
    this.#reader.free();
    this.#blocks.free();
    this.#first = NOTHING;
  }
}
