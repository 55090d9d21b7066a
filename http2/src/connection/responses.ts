// Writes the answers of one connection's streams, and closes the streams.
import { CONTROL_FRAME_MAX_BYTES, writeReset } from "../frames/control-frames.ts";
import { ErrorCode, FRAME_HEADER_BYTES, FrameType, writeFrameHeader } from "../frames/frame.ts";
import type { ByteBudget } from "../limits/byte-budget.ts";
import type { Deadlines } from "../grpc/deadlines.ts";
import { MESSAGE_PREFIX_BYTES, writeMessagePrefix } from "../grpc/message-reader.ts";
import { GrpcStatus } from "../grpc/status.ts";
import type { HpackEncoder } from "../hpack/hpack-encoder.ts";
import type { MessageEncoder, StreamingReceiver } from "../grpc/method.ts";
import type { ConnectionState } from "./connection-state.ts";
import { DataFrames } from "./data-frames.ts";
import { CHUNK_BYTES } from "../output/chunk-pool.ts";
import type { Http2Counters } from "../limits/counters.ts";
import type { FrameBudget } from "../limits/frame-budget.ts";
import { HeaderFrames, HEADERS_MAX_BYTES, OK_TRAILERS_MAX_BYTES } from "./header-frames.ts";
import type { Output } from "../output/output.ts";
import type { Stream, StreamOwner } from "../streams/stream.ts";
import type { StreamTable } from "../streams/stream-table.ts";
import type { BodyEnd } from "../streams/unsent-data.ts";

/** Most bytes of an answer besides its message. */
const ANSWER_OVERHEAD_BYTES = HEADERS_MAX_BYTES + FRAME_HEADER_BYTES + MESSAGE_PREFIX_BYTES + OK_TRAILERS_MAX_BYTES;

/** The longest message that is encoded straight into the output, in bytes. */
const DIRECT_MAX_BYTES = CHUNK_BYTES - ANSWER_OVERHEAD_BYTES;

const OPEN: BodyEnd = { kind: "open" };
const DATA_END: BodyEnd = { kind: "data" };
const OK_TRAILERS: BodyEnd = { kind: "ok" };

export interface ResponsesDeps {
  readonly state: ConnectionState;
  readonly output: Output;
  readonly encoder: HpackEncoder;
  readonly streams: StreamTable;
  readonly frames: FrameBudget;
  readonly deadlines: Deadlines;
  readonly budget: ByteBudget;
  readonly counters: Http2Counters;
}

/** The answers of one connection. */
export class Responses implements StreamOwner {
  /** The bodies that flow control holds back. */
  readonly dataFrames: DataFrames;
  readonly #output: Output;
  readonly #headers: HeaderFrames;
  readonly #deps: ResponsesDeps;

  constructor(deps: ResponsesDeps) {
    this.#deps = deps;
    this.#output = deps.output;
    this.#headers = new HeaderFrames(deps.encoder, deps.output);
    this.dataFrames = new DataFrames(deps, (stream, end) => this.#finishBody(stream, end));
  }

  reply<T>(stream: Stream, encoder: MessageEncoder<T>, value: T): void {
    if (!this.#noteAnswer(stream)) return;
    const maxBytes = encoder.maxBytes(value);
    if (maxBytes > DIRECT_MAX_BYTES) {
      this.#sendMessage(stream, encodeBody(encoder, value, maxBytes), OK_TRAILERS);
      return;
    }
    const { state } = this.#deps;
    const output = this.#output;
    const start = output.reserve(maxBytes + ANSWER_OVERHEAD_BYTES);
    const { chunk } = output;
    const dataStart = this.#headers.encodeHeaders(stream.id, chunk, start);
    const prefixStart = dataStart + FRAME_HEADER_BYTES;
    const messageStart = prefixStart + MESSAGE_PREFIX_BYTES;
    const messageEnd = encoder.encode(value, chunk, messageStart);
    writeMessagePrefix(chunk, prefixStart, messageEnd - messageStart);
    const dataBytes = messageEnd - prefixStart;
    if (dataBytes > state.sendWindowBytes || dataBytes > stream.sendWindowBytes) {
      stream.hasSentHeaders = true;
      output.position = dataStart;
      this.#sendMessage(stream, Buffer.from(chunk.subarray(prefixStart, messageEnd)), OK_TRAILERS);
      return;
    }
    state.sendWindowBytes -= dataBytes;
    writeFrameHeader(chunk, dataStart, dataBytes, FrameType.DATA, 0, stream.id);
    output.position = this.#headers.encodeOkTrailers(stream.id, chunk, messageEnd);
    this.#endLocal(stream);
  }

  fail(stream: Stream, status: number, message: string): void {
    if (this.#noteAnswer(stream)) this.#sendStatus(stream, status, message);
  }

  send<T>(stream: Stream, encoder: MessageEncoder<T>, value: T): boolean {
    if (stream.isAnswered || stream.unsent !== undefined) return false;
    return this.#sendMessage(stream, encodeBody(encoder, value, encoder.maxBytes(value)), OPEN);
  }

  sendShared(stream: Stream, chunks: readonly Buffer[]): boolean {
    if (stream.isAnswered || stream.unsent !== undefined) return false;
    this.#beginAnswer(stream);
    this.dataFrames.sendShared(stream, [prefixOf(chunks), ...chunks], OPEN);
    return true;
  }

  end(stream: Stream, status: number, message: string): void {
    if (stream.isCalled && this.#noteAnswer(stream)) this.#sendStatus(stream, status, message);
  }

  abort(stream: Stream): void {
    if (this.#deps.streams.find(stream.id) === stream)
      this.reset(stream, stream.isLocalEnded ? ErrorCode.NO_ERROR : ErrorCode.CANCEL);
  }

  expire(stream: Stream): void {
    this.#deps.counters.deadlinesExceeded += 1;
    if (stream.isAnswered || stream.unsent !== undefined) this.reset(stream, ErrorCode.CANCEL);
    else this.refuse(stream, GrpcStatus.DEADLINE_EXCEEDED, "Deadline exceeded");
  }

  /** Responses in place of the method: with a gRPC status. */
  refuse(stream: Stream, status: number, message: string, namesEncodings = false): void {
    stream.isAnswered = true;
    this.#freeRequest(stream);
    this.#cancel(stream);
    this.#sendStatus(stream, status, message, namesEncodings);
  }

  /** Responses a request that is not gRPC: with an HTTP status and a text of ASCII. */
  refuseHttp(stream: Stream, status: number, text: string): void {
    stream.isAnswered = true;
    stream.hasSentHeaders = true;
    const hasBody = stream.head?.method !== "HEAD";
    this.#headers.sendHttpHeaders(stream.id, status, text.length, hasBody);
    if (hasBody) this.#sendMessage(stream, Buffer.from(text, "latin1"), DATA_END);
    else this.#endLocal(stream);
  }

  /** Responses 431 to a request whose header list is not read. */
  refuseHeaders(streamId: number, isRemoteEnded: boolean): void {
    this.#headers.sendHttpHeaders(streamId, 431, 0, false);
    if (isRemoteEnded) this.#deps.streams.closed.noteReset(streamId, false);
    else this.resetById(streamId, ErrorCode.NO_ERROR);
  }

  reset(stream: Stream, code: ErrorCode): void {
    this.resetById(stream.id, code);
    this.drop(stream);
  }

  /** Resets a stream that is not in the table. */
  resetById(streamId: number, code: ErrorCode): void {
    this.#deps.streams.closed.noteReset(streamId, false);
    const start = this.#output.reserve(CONTROL_FRAME_MAX_BYTES);
    this.#output.position = writeReset(this.#output.chunk, start, streamId, code);
  }

  /** Removes a stream that has ended, and all that is kept for it. */
  drop(stream: Stream): void {
    const { streams, deadlines } = this.#deps;
    streams.remove(stream);
    stream.isAnswered = true;
    if (stream.nextDeadline !== undefined) deadlines.remove(stream);
    this.#freeRequest(stream);
    if (stream.unsent !== undefined) this.dataFrames.drop(stream);
    if (stream.receiver !== undefined) this.#close(stream, stream.receiver);
  }

  /** Forgets the headers: they are read only while the method is being called. */
  freeHead(stream: Stream): void {
    stream.head = undefined;
    if (stream.headBytes === 0) return;
    this.#deps.budget.give(stream.headBytes);
    stream.headBytes = 0;
  }

  /** Gives the memory of a kept request back. */
  freeMessage(stream: Stream, message: Buffer): void {
    stream.message = undefined;
    this.#deps.budget.give(message.length);
  }

  /** Frees what is kept of a request that no method needs any more. */
  #freeRequest(stream: Stream): void {
    stream.unary = undefined;
    this.freeHead(stream);
    if (stream.reader !== undefined) stream.reader.free();
    if (stream.message !== undefined) this.freeMessage(stream, stream.message);
  }

  /** Notes that the method has answered; false when the answer comes too late to be sent. */
  #noteAnswer(stream: Stream): boolean {
    if (stream.isCalled) {
      stream.isCalled = false;
      this.#deps.state.callsInFlight -= 1;
    }
    if (stream.isAnswered) {
      this.#deps.counters.lateAnswers += 1;
      return false;
    }
    stream.isAnswered = true;
    return true;
  }

  /** Notifies a streaming method that has not ended its call that nothing can be sent any more. */
  #cancel(stream: Stream): void {
    const { receiver } = stream;
    if (receiver === undefined || !stream.isCalled) return;
    stream.isCalled = false;
    this.#deps.state.callsInFlight -= 1;
    receiver.cancelled();
  }

  #close(stream: Stream, receiver: StreamingReceiver): void {
    this.#cancel(stream);
    stream.receiver = undefined;
    receiver.closed?.();
  }

  /** Ends a call with a status: after its body, if that is not sent yet. */
  #sendStatus(stream: Stream, status: number, message: string, namesEncodings = false): void {
    if (stream.unsent !== undefined) {
      stream.unsent.end = { kind: "status", status, message };
      return;
    }
    this.#headers.sendStatus(stream.id, !stream.hasSentHeaders, { status, message, namesEncodings });
    this.#endLocal(stream);
  }

  /** Sends a body; without memory for it the stream is reset with what gRPC clients call RESOURCE_EXHAUSTED. */
  #sendMessage(stream: Stream, body: Buffer, end: BodyEnd): boolean {
    this.#beginAnswer(stream);
    if (this.dataFrames.send(stream, body, end)) return true;
    this.#deps.counters.answersWithoutMemory += 1;
    this.reset(stream, ErrorCode.ENHANCE_YOUR_CALM);
    return false;
  }

  #beginAnswer(stream: Stream): void {
    if (stream.hasSentHeaders) return;
    stream.hasSentHeaders = true;
    this.#headers.sendHeaders(stream.id);
  }

  #finishBody(stream: Stream, end: BodyEnd): void {
    switch (end.kind) {
      case "open":
        stream.receiver?.sent?.();
        return;
      case "data":
        break;
      case "ok":
        this.#headers.sendOkTrailers(stream.id);
        break;
      case "status":
        this.#headers.sendStatus(stream.id, false, { ...end, namesEncodings: false });
    }
    this.#endLocal(stream);
  }

  #endLocal(stream: Stream): void {
    this.#deps.frames.earn();
    stream.isLocalEnded = true;
    if (stream.isRemoteEnded) this.drop(stream);
    else if (stream.nextDeadline !== undefined) this.#deps.deadlines.remove(stream);
  }
}

/** The prefix of a message in chunks. */
function prefixOf(chunks: readonly Buffer[]): Buffer {
  const prefix = Buffer.allocUnsafe(MESSAGE_PREFIX_BYTES);
  writeMessagePrefix(
    prefix,
    0,
    chunks.reduce((sum, { length }) => sum + length, 0),
  );
  return prefix;
}

/** Encodes a message with its prefix into a buffer of its own. */
function encodeBody<T>(encoder: MessageEncoder<T>, value: T, maxBytes: number): Buffer {
  const bytes = Buffer.allocUnsafe(MESSAGE_PREFIX_BYTES + maxBytes);
  const end = encoder.encode(value, bytes, MESSAGE_PREFIX_BYTES);
  writeMessagePrefix(bytes, 0, end - MESSAGE_PREFIX_BYTES);
  return bytes.subarray(0, end);
}
