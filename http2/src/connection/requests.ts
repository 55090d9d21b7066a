// Reads the requests of one connection: HEADERS, CONTINUATION and DATA become calls of methods.
import { writeWindowUpdate, CONTROL_FRAME_MAX_BYTES } from "../frames/control-frames.ts";
import { ConnectionError, ErrorCode, Flag, readUint31 } from "../frames/frame.ts";
import type { ByteBudget } from "../flow/byte-budget.ts";
import { ReceiveWindow } from "../flow/receive-window.ts";
import { DEFAULT_WINDOW_BYTES } from "../flow/send-window.ts";
import { isWholeMessage, type MessageFault, MessageReader, MESSAGE_PREFIX_BYTES } from "../grpc/message-reader.ts";
import { findRoute, type Refusal, type Route } from "../grpc/route.ts";
import { GrpcStatus } from "../grpc/status.ts";
import type { HeaderBlocks, HeaderFault } from "../headers/header-blocks.ts";
import type { RequestHead } from "../headers/request-head.ts";
import type { Methods, StreamingMethod, Turn, UnaryMethod } from "../server/method.ts";
import type { Answers } from "./answers.ts";
import type { Http2Counters } from "./counters.ts";
import type { FrameBudget } from "./frame-budget.ts";
import type { Http2Limits } from "./limits.ts";
import type { Output } from "./output.ts";
import { Stream } from "./stream.ts";
import type { StreamTable } from "./stream-table.ts";

/** What requests work with. */
export interface RequestsDeps {
  readonly methods: Methods;
  readonly heads: HeaderBlocks;
  readonly streams: StreamTable;
  readonly answers: Answers;
  readonly output: Output;
  readonly frames: FrameBudget;
  readonly budget: ByteBudget;
  readonly turn: Turn;
  readonly counters: Http2Counters;
  readonly limits: Http2Limits;
}

/** A header block whose frames are not complete. */
interface OpenBlock {
  readonly streamId: number;
  readonly isLast: boolean;
  readonly parts: Buffer[];
  bytes: number;
}

/** The requests of one connection. */
export class Requests {
  /** Streams above this identifier are ignored: the client was told so in a GOAWAY. */
  lastAcceptedId = Infinity;
  readonly #deps: RequestsDeps;
  readonly #window: ReceiveWindow;
  #block: OpenBlock | undefined;
  /** The route of the head that was routed last: equal blocks share a head. */
  #routedHead: RequestHead | undefined;
  #route: Route | undefined;

  constructor(deps: RequestsDeps) {
    this.#deps = deps;
    this.#window = new ReceiveWindow(deps.limits.connectionWindowBytes);
  }

  /** Whether a header block is incomplete: nothing but its CONTINUATION may follow (RFC 9113, 6.10). */
  get isInBlock(): boolean {
    return this.#block !== undefined;
  }

  /** HEADERS (6.2). */
  headers(flags: number, streamId: number, bytes: Buffer, payloadStart: number, payloadEnd: number): void {
    let start = payloadStart;
    let end = payloadEnd;
    if ((flags & (Flag.PADDED | Flag.PRIORITY)) !== 0) {
      if ((flags & Flag.PADDED) !== 0) {
        end -= paddingOf(bytes, start, end);
        start += 1;
      }
      if ((flags & Flag.PRIORITY) !== 0) {
        if (end - start < 5) throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, "HEADERS is too short");
        if (readUint31(bytes, start) === streamId)
          throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "A stream depends on itself");
        start += 5;
      }
    }
    if (streamId === 0) throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "HEADERS on stream 0");
    const isLast = (flags & Flag.END_STREAM) !== 0;
    if ((flags & Flag.END_HEADERS) !== 0) {
      this.#readBlock(streamId, isLast, bytes, start, end);
      return;
    }
    this.#block = { streamId, isLast, parts: [Buffer.from(bytes.subarray(start, end))], bytes: end - start };
  }

  /** CONTINUATION (6.10); its block is bounded before it is complete (CVE-2024-27316). */
  continuation(flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    const block = this.#block;
    if (block?.streamId !== streamId)
      throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "CONTINUATION follows no HEADERS");
    const { limits, counters } = this.#deps;
    block.bytes += end - start;
    if (block.parts.length > limits.continuationFramesMax || block.bytes > limits.headerBlockMaxBytes) {
      counters.headerFloods += 1;
      throw new ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, "The header block is too long");
    }
    block.parts.push(Buffer.from(bytes.subarray(start, end)));
    if ((flags & Flag.END_HEADERS) === 0) return;
    this.#block = undefined;
    this.#readBlock(streamId, block.isLast, Buffer.concat(block.parts), 0, block.bytes);
  }

  /** DATA (6.1). */
  data(flags: number, streamId: number, bytes: Buffer, payloadStart: number, payloadEnd: number): void {
    const { streams } = this.#deps;
    if (streamId === 0) throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "DATA on stream 0");
    const increment = this.#window.use(payloadEnd - payloadStart);
    if (increment !== 0) this.#widen(0, increment);
    const stream = streams.find(streamId);
    if (stream === undefined || stream.isRemoteEnded) {
      this.#refuseStray(streamId, stream);
      return;
    }
    const { unary } = stream;
    if (
      flags === Flag.END_STREAM &&
      unary !== undefined &&
      stream.reader === undefined &&
      stream.missingBytes < 0 &&
      isWholeMessage(bytes, payloadStart, payloadEnd) &&
      payloadEnd - payloadStart <= this.#deps.limits.messageMaxBytes
    ) {
      stream.isRemoteEnded = true;
      this.#call(stream, unary, bytes, payloadStart + MESSAGE_PREFIX_BYTES, payloadEnd);
      return;
    }
    let start = payloadStart;
    let end = payloadEnd;
    if ((flags & Flag.PADDED) !== 0) {
      end -= paddingOf(bytes, start, end);
      start += 1;
    }
    this.#readData(stream, (flags & Flag.END_STREAM) !== 0, payloadEnd - payloadStart, bytes, start, end);
  }

  /** A complete header block: a request, its trailers, or an error. */
  #readBlock(streamId: number, isLast: boolean, bytes: Buffer, start: number, end: number): void {
    const { streams, heads, frames, answers } = this.#deps;
    if (streamId > streams.lastId) {
      streams.hold(); // Its head is valid until the next block is decoded.
      this.#open(streamId, isLast, heads.request(bytes, start, end));
      return;
    }
    const stream = streams.find(streamId);
    if (stream === undefined || stream.isRemoteEnded) {
      this.#throwIfBroken(heads.discard(bytes, start, end));
      this.#refuseStray(streamId, stream);
      return;
    }
    const fault = heads.trailers(bytes, start, end);
    this.#throwIfBroken(fault);
    if (fault === undefined && isLast) {
      this.#endRequest(stream);
      return;
    }
    answers.reset(stream, ErrorCode.PROTOCOL_ERROR);
    frames.spendStreamError();
  }

  #open(streamId: number, isLast: boolean, head: RequestHead | HeaderFault): void {
    const { streams, answers, limits, counters, frames } = this.#deps;
    if (!streams.accept(streamId))
      throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "The client opened a stream with an even identifier");
    if (head.kind !== "head") {
      this.#throwIfBroken(head);
      if (head.kind === "too large") counters.headersTooLarge += 1;
      answers.resetById(streamId, head.kind === "too large" ? ErrorCode.REFUSED_STREAM : ErrorCode.PROTOCOL_ERROR);
      frames.spendStreamError();
      return;
    }
    if (streamId > this.lastAcceptedId) return;
    if (streams.size >= limits.concurrentStreamsMax) {
      counters.streamsRefused += 1;
      answers.resetById(streamId, ErrorCode.REFUSED_STREAM);
      frames.spendStreamError();
      return;
    }
    frames.earn();
    const stream = new Stream(streamId, head, answers, answers.initialWindowBytes);
    if (head.timeoutMs !== undefined) stream.deadlineMs = this.#deps.turn.nowMs() + head.timeoutMs;
    streams.add(stream);
    this.#begin(stream, this.#routeOf(head));
    if (isLast) this.#endRequest(stream);
  }

  #routeOf(head: RequestHead): Route {
    if (head === this.#routedHead && this.#route !== undefined) return this.#route;
    this.#routedHead = head;
    return (this.#route = findRoute(this.#deps.methods, head));
  }

  #begin(stream: Stream, route: Route): void {
    if (route.kind === "unary") stream.unary = route;
    else if (route.kind === "streaming") this.#openStreaming(stream, route);
    else this.#refuse(stream, route);
  }

  #refuse(stream: Stream, refusal: Refusal): void {
    const { answers, counters } = this.#deps;
    if (refusal.kind === "http") {
      counters.notGrpc += 1;
      answers.refuseHttp(stream, refusal.status, refusal.text);
      return;
    }
    counters.grpcRefused += 1;
    if (refusal.acceptsIdentity) answers.refuseEncoding(stream, refusal.message);
    else answers.refuse(stream, refusal.status, refusal.message);
  }

  #openStreaming(stream: Stream, method: StreamingMethod): void {
    if (!this.#takeCall(stream)) return;
    const receiver = method.open(stream);
    if (!stream.isAnswered) stream.receiver = receiver;
  }

  #call(stream: Stream, method: UnaryMethod, bytes: Buffer, start: number, end: number): void {
    stream.unary = undefined;
    if (this.#takeCall(stream)) method.handle(stream, bytes, start, end);
  }

  /** Counts a call that a method is going to answer; refuses it when there are too many. */
  #takeCall(stream: Stream): boolean {
    const { answers, limits, counters } = this.#deps;
    if (answers.callsInFlight >= limits.callsInFlightMax) {
      counters.callsRefused += 1;
      answers.refuse(stream, GrpcStatus.UNAVAILABLE, "too many calls are in flight on this connection");
      return false;
    }
    counters.calls += 1;
    answers.callsInFlight += 1;
    stream.isCalled = true;
    return true;
  }

  /** DATA that is not the whole request of a unary call. `frameBytes` includes its padding. */
  #readData(
    stream: Stream,
    isLast: boolean,
    frameBytes: number,
    bytes: Buffer,
    start: number,
    end: number,
  ): void {
    const { answers, frames } = this.#deps;
    if (start === end && !isLast) frames.spendControlFrame();
    else frames.earn();
    if (stream.missingBytes >= 0) {
      stream.missingBytes -= end - start;
      if (stream.missingBytes < 0) {
        answers.reset(stream, ErrorCode.PROTOCOL_ERROR);
        frames.spendStreamError();
        return;
      }
    }
    stream.receivedBytes += frameBytes;
    if (stream.receivedBytes > DEFAULT_WINDOW_BYTES) {
      answers.reset(stream, ErrorCode.FLOW_CONTROL_ERROR);
      frames.spendStreamError();
      return;
    }
    if (start < end && !stream.isAnswered) this.#readMessages(stream, bytes, start, end);
    if (isLast) this.#endRequest(stream);
    else if (stream.receivedBytes * 2 > DEFAULT_WINDOW_BYTES) this.#continueRequest(stream);
  }

  /** Lets the client send on; a client that has its answer is asked to stop (RFC 9113, 8.1). */
  #continueRequest(stream: Stream): void {
    if (stream.isLocalEnded) {
      this.#deps.answers.reset(stream, ErrorCode.NO_ERROR);
      return;
    }
    this.#widen(stream.id, stream.receivedBytes);
    stream.receivedBytes = 0;
  }

  #readMessages(stream: Stream, bytes: Buffer, start: number, end: number): void {
    const { limits, budget } = this.#deps;
    stream.reader ??= new MessageReader(limits.messageMaxBytes, budget);
    const fault = stream.reader.read(bytes, start, end, {
      message: (message, messageStart, messageEnd) => {
        this.#receive(stream, message, messageStart, messageEnd);
      },
    });
    if (fault !== undefined && !stream.isAnswered) this.#refuseMessage(stream, fault);
  }

  /** One message of a request whose end is still to come. */
  #receive(stream: Stream, bytes: Buffer, start: number, end: number): void {
    const { answers, budget } = this.#deps;
    if (stream.receiver !== undefined) {
      stream.receiver.message(bytes, start, end);
    } else if (stream.unary !== undefined) {
      if (stream.message !== undefined) {
        answers.refuse(stream, GrpcStatus.UNIMPLEMENTED, "Received a second request message for a unary method");
      } else if (budget.take(end - start)) {
        stream.message = Buffer.from(bytes.subarray(start, end));
      } else {
        this.#refuseMessage(stream, { kind: "no memory" });
      }
    }
  }

  #refuseMessage(stream: Stream, fault: MessageFault): void {
    const { answers, counters, limits } = this.#deps;
    stream.unary = undefined;
    switch (fault.kind) {
      case "compressed":
        answers.refuse(stream, GrpcStatus.INTERNAL, "grpc: compressed flag set with identity or empty encoding");
        return;
      case "too large": {
        counters.messagesTooLarge += 1;
        const sizes = `${fault.lengthBytes} vs. ${limits.messageMaxBytes}`;
        answers.refuse(stream, GrpcStatus.RESOURCE_EXHAUSTED, `grpc: received message larger than max (${sizes})`);
        return;
      }
      case "no memory":
        counters.messagesWithoutMemory += 1;
        answers.refuse(stream, GrpcStatus.RESOURCE_EXHAUSTED, "the server has no memory for further requests");
    }
  }

  /** The client has ended its direction. */
  #endRequest(stream: Stream): void {
    const { answers, frames } = this.#deps;
    stream.isRemoteEnded = true;
    if (stream.missingBytes > 0) {
      answers.reset(stream, ErrorCode.PROTOCOL_ERROR);
      frames.spendStreamError();
      return;
    }
    if (stream.isLocalEnded) {
      answers.drop(stream);
      return;
    }
    if (stream.isAnswered) return;
    if (stream.reader !== undefined && !stream.reader.isBetweenMessages) {
      answers.refuse(stream, GrpcStatus.INTERNAL, "the request ends within a message");
    } else if (stream.receiver !== undefined) {
      stream.receiver.halfClosed();
    } else if (stream.unary !== undefined) {
      const { message } = stream;
      if (message === undefined)
        answers.refuse(stream, GrpcStatus.UNIMPLEMENTED, "Received no request message for a unary method");
      else this.#call(stream, stream.unary, message, 0, message.length);
    }
  }

  /** DATA or HEADERS on a stream that the client has ended, or that is closed (RFC 9113, 5.1). */
  #refuseStray(streamId: number, stream: Stream | undefined): void {
    const { streams, answers, frames } = this.#deps;
    if (streamId > streams.lastId) throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "DATA on an idle stream");
    const end = stream === undefined ? streams.closed.find(streamId) : "reset by client";
    switch (end) {
      case "reset by server":
        return; // It may have been on its way.
      case "skipped":
        throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "A stream identifier was left out, and then used");
      case "ended":
        throw new ConnectionError(ErrorCode.STREAM_CLOSED, "A frame follows the end of its stream");
      case "reset by client":
        if (stream === undefined) answers.resetById(streamId, ErrorCode.STREAM_CLOSED);
        else answers.reset(stream, ErrorCode.STREAM_CLOSED);
        frames.spendStreamError();
    }
  }

  #widen(streamId: number, incrementBytes: number): void {
    if (incrementBytes < 0) throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, "The client exceeds the window");
    const { output } = this.#deps;
    const start = output.reserve(CONTROL_FRAME_MAX_BYTES);
    output.position = writeWindowUpdate(output.chunk, start, streamId, incrementBytes);
  }

  #throwIfBroken(fault: HeaderFault | undefined): void {
    if (fault?.kind === "connection") throw new ConnectionError(ErrorCode.COMPRESSION_ERROR, fault.reason);
  }
}

/** The length of the padding and its own byte, with which a payload begins (RFC 9113, 6.1). */
function paddingOf(bytes: Buffer, start: number, end: number): number {
  const padding = bytes[start] ?? 0;
  if (padding >= end - start) throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "The padding exceeds the frame");
  return padding;
}
