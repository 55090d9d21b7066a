// Writes the answers of one connection's streams, as far as flow control allows.
import { writeReset, CONTROL_FRAME_MAX_BYTES } from "../frames/control-frames.ts";
import {
  ConnectionError,
  ErrorCode,
  Flag,
  FRAME_HEADER_BYTES,
  FrameType,
  MAX_FRAME_BYTES,
  writeFrameHeader,
} from "../frames/frame.ts";
import type { ByteBudget } from "../flow/byte-budget.ts";
import { DEFAULT_WINDOW_BYTES, widenWindow } from "../flow/send-window.ts";
import type { Deadlines } from "../grpc/deadlines.ts";
import { MESSAGE_PREFIX_BYTES, writeMessagePrefix } from "../grpc/message-reader.ts";
import { encodeGrpcMessage, GrpcStatus } from "../grpc/status.ts";
import type { HpackEncoder } from "../hpack/hpack-encoder.ts";
import type { MessageEncoder } from "../server/method.ts";
import { CHUNK_BYTES } from "./chunk-pool.ts";
import type { Http2Counters } from "./counters.ts";
import type { Output } from "./output.ts";
import type { Stream, StreamOwner } from "./stream.ts";
import type { StreamTable } from "./stream-table.ts";
import { type BodyEnd, UnsentBody } from "./unsent-body.ts";

/** Most bytes of HEADERS before a message, and of trailers after it, with the encoder's bounds. */
const HEADERS_MAX_BYTES = FRAME_HEADER_BYTES + 40;
const OK_TRAILERS_MAX_BYTES = FRAME_HEADER_BYTES + 24;

/** Most bytes of an answer besides its message. */
const ANSWER_OVERHEAD_BYTES =
  HEADERS_MAX_BYTES + FRAME_HEADER_BYTES + MESSAGE_PREFIX_BYTES + OK_TRAILERS_MAX_BYTES;

/** The longest message that is encoded straight into the output, in bytes. */
const DIRECT_MAX_BYTES = CHUNK_BYTES - ANSWER_OVERHEAD_BYTES;

/** The longest piece of a body in one frame: header and piece fit into a chunk. */
const PIECE_MAX_BYTES = Math.min(MAX_FRAME_BYTES, CHUNK_BYTES - FRAME_HEADER_BYTES);

const OPEN: BodyEnd = { kind: "open" };
const DATA_END: BodyEnd = { kind: "data" };
const OK_TRAILERS: BodyEnd = { kind: "trailers", status: GrpcStatus.OK, message: "" };

/** What answers work with. */
export interface AnswersDeps {
  readonly output: Output;
  readonly encoder: HpackEncoder;
  readonly streams: StreamTable;
  readonly deadlines: Deadlines;
  readonly budget: ByteBudget;
  readonly counters: Http2Counters;
}

/** The answers of one connection. */
export class Answers implements StreamOwner {
  /** Calls that methods have not answered, also those whose stream is closed. */
  callsInFlight = 0;
  /** What a new stream may send, in bytes. */
  initialWindowBytes = DEFAULT_WINDOW_BYTES;
  #windowBytes = DEFAULT_WINDOW_BYTES;
  /** Streams with an unsent body. */
  readonly #blocked = new Set<Stream>();
  readonly #output: Output;
  readonly #encoder: HpackEncoder;
  readonly #deps: AnswersDeps;

  constructor(deps: AnswersDeps) {
    this.#deps = deps;
    this.#output = deps.output;
    this.#encoder = deps.encoder;
  }

  /** Streams whose answers wait for the client. */
  get blocked(): ReadonlySet<Stream> {
    return this.#blocked;
  }

  reply<T>(stream: Stream, encoder: MessageEncoder<T>, value: T): void {
    if (!this.#answer(stream)) return;
    const maxBytes = encoder.maxBytes(value);
    if (maxBytes > DIRECT_MAX_BYTES || stream.unsent !== undefined) {
      this.#sendBody(stream, encodeBody(encoder, value, maxBytes), OK_TRAILERS);
      return;
    }
    const output = this.#output;
    const start = output.reserve(maxBytes + ANSWER_OVERHEAD_BYTES);
    const { chunk } = output;
    const dataStart = this.#writeHeaders(stream.id, chunk, start);
    const prefixStart = dataStart + FRAME_HEADER_BYTES;
    const messageStart = prefixStart + MESSAGE_PREFIX_BYTES;
    const messageEnd = encoder.encode(value, chunk, messageStart);
    writeMessagePrefix(chunk, prefixStart, messageEnd - messageStart);
    const dataBytes = messageEnd - prefixStart;
    if (dataBytes > this.#windowBytes || dataBytes > stream.sendWindowBytes) {
      stream.hasSentHeaders = true;
      output.position = dataStart;
      this.#sendBody(stream, Buffer.from(chunk.subarray(prefixStart, messageEnd)), OK_TRAILERS);
      return;
    }
    this.#windowBytes -= dataBytes;
    writeFrameHeader(chunk, dataStart, dataBytes, FrameType.DATA, 0, stream.id);
    output.position = this.#writeOkTrailers(stream.id, chunk, messageEnd);
    this.#endLocal(stream);
  }

  fail(stream: Stream, status: number, message: string): void {
    if (this.#answer(stream)) this.#writeStatus(stream, status, message, false);
  }

  send<T>(stream: Stream, encoder: MessageEncoder<T>, value: T): boolean {
    if (stream.isAnswered || stream.unsent !== undefined) return false;
    this.#sendBody(stream, encodeBody(encoder, value, encoder.maxBytes(value)), OPEN);
    return true;
  }

  end(stream: Stream, status: number, message: string): void {
    if (stream.isCalled && this.#answer(stream)) this.#writeStatus(stream, status, message, false);
  }

  expire(stream: Stream): void {
    this.#deps.counters.deadlinesExceeded += 1;
    if (stream.isAnswered || stream.unsent !== undefined) {
      this.reset(stream, ErrorCode.CANCEL);
      return;
    }
    this.refuse(stream, GrpcStatus.DEADLINE_EXCEEDED, "Deadline exceeded");
  }

  /** Answers in place of the method: with a gRPC status. */
  refuse(stream: Stream, status: number, message: string): void {
    stream.isAnswered = true;
    this.#cancel(stream);
    this.#writeStatus(stream, status, message, false);
  }

  /** Answers "UNIMPLEMENTED" and names the encodings of messages that are implemented: none. */
  refuseEncoding(stream: Stream, message: string): void {
    stream.isAnswered = true;
    this.#writeStatus(stream, GrpcStatus.UNIMPLEMENTED, message, true);
  }

  /** Answers a request that is not gRPC: with an HTTP status and a text of ASCII. */
  refuseHttp(stream: Stream, status: number, text: string): void {
    stream.isAnswered = true;
    stream.hasSentHeaders = true;
    const hasBody = stream.head.method !== "HEAD";
    const output = this.#output;
    const start = output.reserve(CHUNK_BYTES / 2);
    const { chunk } = output;
    let position = this.#encoder.begin(chunk, start + FRAME_HEADER_BYTES);
    position = this.#encoder.status(chunk, position, status);
    position = this.#encoder.field(chunk, position, "content-type", "text/plain; charset=utf-8");
    position = this.#encoder.field(chunk, position, "content-length", String(text.length));
    const flags = hasBody ? Flag.END_HEADERS : Flag.END_HEADERS | Flag.END_STREAM;
    output.position = finishHeaders(chunk, start, position, flags, stream.id);
    if (hasBody) this.#sendBody(stream, Buffer.from(text, "latin1"), DATA_END);
    else this.#endLocal(stream);
  }

  /** Resets a stream. */
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
    const { streams, deadlines, budget } = this.#deps;
    streams.remove(stream);
    stream.isAnswered = true;
    if (stream.nextDeadline !== undefined) deadlines.remove(stream);
    if (stream.reader !== undefined) stream.reader.free();
    if (stream.message !== undefined) {
      budget.give(stream.message.length);
      stream.message = undefined;
    }
    if (stream.unsent !== undefined) this.#dropBody(stream, stream.unsent);
    if (stream.receiver !== undefined) this.#cancel(stream);
  }

  /** The client allows more DATA: on one stream, or on all of the connection. */
  widen(stream: Stream | undefined, incrementBytes: number): boolean {
    const window = widenWindow(stream === undefined ? this.#windowBytes : stream.sendWindowBytes, incrementBytes);
    if (window === undefined) return false;
    if (stream === undefined) {
      this.#windowBytes = window;
      this.resume();
    } else {
      stream.sendWindowBytes = window;
      if (stream.unsent !== undefined) this.#continueBody(stream, stream.unsent);
    }
    return true;
  }

  /** The client has changed the initial window, and with it that of every stream (RFC 9113, 6.9.2). */
  setInitialWindow(bytes: number): void {
    const change = bytes - this.initialWindowBytes;
    this.initialWindowBytes = bytes;
    for (const stream of this.#deps.streams) {
      const window = widenWindow(stream.sendWindowBytes, change);
      if (window === undefined)
        throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, "SETTINGS_INITIAL_WINDOW_SIZE overflows a window");
      stream.sendWindowBytes = window;
    }
    this.resume();
  }

  /** Sends what has become possible to send. */
  resume(): void {
    for (const stream of this.#blocked) {
      if (this.#windowBytes <= 0 || this.#output.isCongested) return;
      if (stream.unsent !== undefined) this.#continueBody(stream, stream.unsent);
    }
  }

  /** Notes that the method has answered; false when the answer comes too late to be sent. */
  #answer(stream: Stream): boolean {
    if (stream.isCalled) {
      stream.isCalled = false;
      this.callsInFlight -= 1;
    }
    if (stream.isAnswered) {
      this.#deps.counters.lateAnswers += 1;
      return false;
    }
    stream.isAnswered = true;
    stream.receiver = undefined;
    return true;
  }

  /** Notifies a streaming method that nothing can be sent any more. */
  #cancel(stream: Stream): void {
    const { receiver } = stream;
    if (receiver === undefined) return;
    stream.receiver = undefined;
    if (stream.isCalled) {
      stream.isCalled = false;
      this.callsInFlight -= 1;
    }
    receiver.cancelled();
  }

  /** Ends a stream with a status: in trailers after a message, else in the only HEADERS. */
  #writeStatus(stream: Stream, status: number, message: string, acceptsIdentity: boolean): void {
    if (stream.unsent !== undefined) {
      stream.unsent.end = { kind: "trailers", status, message };
      return;
    }
    const output = this.#output;
    const encoder = this.#encoder;
    const start = output.reserve(CHUNK_BYTES / 2);
    const { chunk } = output;
    let position = encoder.begin(chunk, start + FRAME_HEADER_BYTES);
    if (!stream.hasSentHeaders) {
      position = encoder.status(chunk, position, 200);
      position = encoder.grpcContentType(chunk, position);
    }
    position = encoder.field(chunk, position, "grpc-status", String(status));
    if (message !== "") position = encoder.field(chunk, position, "grpc-message", encodeGrpcMessage(message));
    if (acceptsIdentity) position = encoder.field(chunk, position, "grpc-accept-encoding", "identity");
    output.position = finishHeaders(chunk, start, position, Flag.END_HEADERS | Flag.END_STREAM, stream.id);
    this.#endLocal(stream);
  }

  #writeHeaders(streamId: number, chunk: Buffer, start: number): number {
    const end = this.#encoder.responseHeaders(chunk, start + FRAME_HEADER_BYTES);
    return finishHeaders(chunk, start, end, Flag.END_HEADERS, streamId);
  }

  #writeOkTrailers(streamId: number, chunk: Buffer, start: number): number {
    const end = this.#encoder.okTrailers(chunk, start + FRAME_HEADER_BYTES);
    return finishHeaders(chunk, start, end, Flag.END_HEADERS | Flag.END_STREAM, streamId);
  }

  #sendBody(stream: Stream, bytes: Buffer, end: BodyEnd): void {
    if (!stream.hasSentHeaders) {
      stream.hasSentHeaders = true;
      const start = this.#output.reserve(HEADERS_MAX_BYTES);
      this.#output.position = this.#writeHeaders(stream.id, this.#output.chunk, start);
    }
    const body = new UnsentBody(bytes, end);
    stream.unsent = body;
    this.#deps.budget.takeAnyway(bytes.length);
    this.#blocked.add(stream);
    this.#continueBody(stream, body);
  }

  /** Sends as much of a body as the windows allow, and its end after the last byte. */
  #continueBody(stream: Stream, body: UnsentBody): void {
    const output = this.#output;
    const { bytes } = body;
    while (body.sentBytes < bytes.length) {
      const left = bytes.length - body.sentBytes;
      const piece = Math.min(PIECE_MAX_BYTES, this.#windowBytes, stream.sendWindowBytes, left);
      if (piece <= 0 || output.isCongested) return;
      const start = output.reserve(FRAME_HEADER_BYTES + piece);
      const flags = piece === left && body.end.kind === "data" ? Flag.END_STREAM : 0;
      const position = writeFrameHeader(output.chunk, start, piece, FrameType.DATA, flags, stream.id);
      bytes.copy(output.chunk, position, body.sentBytes, body.sentBytes + piece);
      output.position = position + piece;
      body.sentBytes += piece;
      this.#windowBytes -= piece;
      stream.sendWindowBytes -= piece;
    }
    this.#dropBody(stream, body);
    this.#finishBody(stream, body.end);
  }

  #finishBody(stream: Stream, end: BodyEnd): void {
    switch (end.kind) {
      case "open":
        return;
      case "data":
        this.#endLocal(stream);
        return;
      case "trailers": {
        if (end.status !== GrpcStatus.OK || end.message !== "") {
          this.#writeStatus(stream, end.status, end.message, false);
          return;
        }
        const start = this.#output.reserve(OK_TRAILERS_MAX_BYTES);
        this.#output.position = this.#writeOkTrailers(stream.id, this.#output.chunk, start);
        this.#endLocal(stream);
      }
    }
  }

  #dropBody(stream: Stream, body: UnsentBody): void {
    this.#deps.budget.give(body.bytes.length);
    this.#blocked.delete(stream);
    stream.unsent = undefined;
  }

  #endLocal(stream: Stream): void {
    stream.isLocalEnded = true;
    if (stream.isRemoteEnded) this.drop(stream);
  }
}

/** Encodes a message with its prefix into a buffer of its own. */
function encodeBody<T>(encoder: MessageEncoder<T>, value: T, maxBytes: number): Buffer {
  const bytes = Buffer.allocUnsafe(MESSAGE_PREFIX_BYTES + maxBytes);
  const end = encoder.encode(value, bytes, MESSAGE_PREFIX_BYTES);
  writeMessagePrefix(bytes, 0, end - MESSAGE_PREFIX_BYTES);
  return bytes.subarray(0, end);
}

/** Writes the header of a HEADERS frame before a block that ends at `end`, which it returns. */
function finishHeaders(chunk: Buffer, start: number, end: number, flags: number, streamId: number): number {
  writeFrameHeader(chunk, start, end - start - FRAME_HEADER_BYTES, FrameType.HEADERS, flags, streamId);
  return end;
}
