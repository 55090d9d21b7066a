// Reads the requests of one connection: header blocks open streams, DATA belongs to them.
import { CONTROL_FRAME_MAX_BYTES, writeWindowUpdate } from "../frames/control-frames.ts";
import { ConnectionError, ErrorCode, Flag } from "../frames/frame.ts";
import { paddingBytes } from "../frames/padding.ts";
import { isHalfUsed, ReceiveWindow } from "../flow/receive-window.ts";
import { DEFAULT_WINDOW_BYTES } from "../flow/send-window.ts";
import { isWholeMessage, MESSAGE_PREFIX_BYTES } from "../grpc/message-reader.ts";
import { findRoute, type Route } from "../grpc/route.ts";
import type { HeaderBlocks, HeaderFault } from "../headers/header-blocks.ts";
import type { RequestHead } from "../headers/request-head.ts";
import type { Methods, Turn } from "../grpc/method.ts";
import type { Responses } from "./responses.ts";
import type { Calls } from "./calls.ts";
import type { ConnectionState } from "./connection-state.ts";
import type { Http2Counters } from "../limits/counters.ts";
import type { FrameBudget } from "../limits/frame-budget.ts";
import type { BlockReceiver } from "./header-assembly.ts";
import type { Http2Limits } from "../limits/limits.ts";
import type { Output } from "../output/output.ts";
import { Stream } from "../streams/stream.ts";
import type { StreamTable } from "../streams/stream-table.ts";

export interface RequestsDeps {
  readonly state: Readonly<ConnectionState>;
  readonly methods: Methods;
  readonly heads: HeaderBlocks;
  readonly streams: StreamTable;
  readonly calls: Calls;
  readonly responses: Responses;
  readonly output: Output;
  readonly frames: FrameBudget;
  readonly turn: Turn;
  readonly counters: Http2Counters;
  readonly limits: Http2Limits;
}

/** The requests of one connection. */
export class Requests implements BlockReceiver {
  readonly #deps: RequestsDeps;
  readonly #window: ReceiveWindow;
  readonly #messageMaxBytes: number;
  /** The route of the head that was routed last: equal blocks share a head. */
  #routedHead: RequestHead | undefined;
  #route: Route | undefined;

  constructor(deps: RequestsDeps) {
    this.#deps = deps;
    this.#window = new ReceiveWindow(deps.limits.connectionWindowBytes);
    this.#messageMaxBytes = deps.limits.messageMaxBytes;
  }

  /** A complete header block: a request, its trailers, or an error. */
  block(streamId: number, isLast: boolean, bytes: Buffer, start: number, end: number): void {
    const { streams, heads } = this.#deps;
    streams.hold(); // The head of the last stream is valid until the next block is decoded.
    if (streamId > streams.lastId) {
      this.#open(streamId, isLast, heads.request(bytes, start, end));
      return;
    }
    const stream = streams.find(streamId);
    if (stream === undefined || stream.isRemoteEnded) {
      throwIfBroken(heads.discard(bytes, start, end));
      this.#refuseStray(streamId, stream);
      return;
    }
    const fault = heads.trailers(bytes, start, end);
    throwIfBroken(fault);
    if (fault === undefined && isLast) this.#endRequest(stream);
    else this.#resetFaulty(stream, ErrorCode.PROTOCOL_ERROR);
  }

  /** A DATA frame (RFC 9113, 6.1). */
  data(flags: number, streamId: number, bytes: Buffer, payloadStart: number, payloadEnd: number): void {
    const lengthBytes = payloadEnd - payloadStart;
    const increment = this.#window.use(lengthBytes);
    if (increment > 0) this.#sendWindowUpdate(0, increment);
    const stream = this.#deps.streams.find(streamId);
    if (stream === undefined || stream.isRemoteEnded) {
      this.#refuseStray(streamId, stream);
      return;
    }
    const { unary } = stream;
    if (
      unary !== undefined &&
      flags === Flag.END_STREAM &&
      stream.isUntouched &&
      lengthBytes <= this.#messageMaxBytes &&
      isWholeMessage(bytes, payloadStart, payloadEnd)
    ) {
      stream.isRemoteEnded = true;
      this.#deps.calls.call(stream, unary, bytes, payloadStart + MESSAGE_PREFIX_BYTES, payloadEnd);
      return;
    }
    let start = payloadStart;
    let end = payloadEnd;
    if ((flags & Flag.PADDED) !== 0) {
      end -= paddingBytes(bytes, start, end);
      start += 1;
    }
    stream.receivedBytes += lengthBytes;
    this.#readData(stream, (flags & Flag.END_STREAM) !== 0, bytes, start, end);
  }

  #open(streamId: number, isLast: boolean, head: RequestHead | HeaderFault): void {
    const { state, streams, responses, limits, calls, turn, frames } = this.#deps;
    if (!streams.accept(streamId))
      throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "A client cannot open a stream with an even identifier");
    if (head.kind !== "head") {
      this.#refuseHead(streamId, isLast, head);
      return;
    }
    if (streamId > state.lastAcceptedId) {
      streams.closed.noteReset(streamId, false);
      frames.spendControlFrame(); // It may have been on its way.
      return;
    }
    if (streams.size >= limits.concurrentStreamsMax) {
      this.#refuseStream(streamId);
      return;
    }
    const stream = new Stream(streamId, head, responses, state.initialWindowBytes);
    const { timeoutMs } = head;
    if (timeoutMs !== undefined) stream.deadlineMs = turn.monotonicMs() + timeoutMs;
    streams.add(stream);
    calls.begin(stream, this.#routeOf(head));
    if (isLast) this.#endRequest(stream);
  }

  #routeOf(head: RequestHead): Route {
    if (head === this.#routedHead && this.#route !== undefined) return this.#route;
    this.#routedHead = head;
    return (this.#route = findRoute(this.#deps.methods, head));
  }

  #refuseHead(streamId: number, isLast: boolean, fault: HeaderFault): void {
    const { responses, counters, frames } = this.#deps;
    throwIfBroken(fault);
    if (fault.kind === "too large") {
      counters.headersTooLarge += 1;
      responses.refuseHeaders(streamId, isLast);
    } else {
      responses.resetById(streamId, ErrorCode.PROTOCOL_ERROR);
    }
    frames.spendStreamError();
  }

  #refuseStream(streamId: number): void {
    const { state, responses, counters, frames } = this.#deps;
    counters.streamsRefused += 1;
    responses.resetById(streamId, ErrorCode.REFUSED_STREAM);
    if (state.isLimitAcknowledged) frames.spendStreamError();
    else frames.spendControlFrame();
  }

  /** Content of a request that is not one message in one frame. */
  #readData(stream: Stream, isLast: boolean, bytes: Buffer, start: number, end: number): void {
    const { frames, calls } = this.#deps;
    if (start === end && !isLast) frames.spendControlFrame();
    if (stream.missingBytes >= 0) {
      stream.missingBytes -= end - start;
      if (stream.missingBytes < 0) {
        this.#resetFaulty(stream, ErrorCode.PROTOCOL_ERROR);
        return;
      }
    }
    if (start < end) {
      stream.dataFrames += 1;
      if (!stream.isAnswered) calls.read(stream, bytes, start, end);
    }
    if (isLast) this.#endRequest(stream);
    else if (isHalfUsed(stream.receivedBytes, DEFAULT_WINDOW_BYTES)) this.#continueRequest(stream);
  }

  /** Allows the client to send on; a client that has its answer is asked to stop (RFC 9113, 8.1). */
  #continueRequest(stream: Stream): void {
    if (stream.isLocalEnded) {
      this.#deps.responses.reset(stream, ErrorCode.NO_ERROR);
      return;
    }
    this.#sendWindowUpdate(stream.id, stream.receivedBytes);
    stream.receivedBytes = 0;
  }

  /** The client has ended its direction. */
  #endRequest(stream: Stream): void {
    stream.isRemoteEnded = true;
    if (stream.missingBytes > 0) this.#resetFaulty(stream, ErrorCode.PROTOCOL_ERROR);
    else if (stream.isLocalEnded) this.#deps.responses.drop(stream);
    else if (!stream.isAnswered) this.#deps.calls.end(stream);
  }

  #resetFaulty(stream: Stream, code: ErrorCode): void {
    this.#deps.responses.reset(stream, code);
    this.#deps.frames.spendStreamError();
  }

  /** DATA or HEADERS on a stream that the client has ended, or that is closed (RFC 9113, 5.1). */
  #refuseStray(streamId: number, stream: Stream | undefined): void {
    const { streams, responses, frames } = this.#deps;
    if (stream !== undefined) {
      this.#resetFaulty(stream, ErrorCode.STREAM_CLOSED);
      return;
    }
    if (streamId === 0 || streamId > streams.lastId)
      throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, `DATA on stream ${streamId}, which is not open`);
    switch (streams.closed.find(streamId)) {
      case "reset by server":
        frames.spendControlFrame(); // It may have been on its way.
        return;
      case "reset by client":
        responses.resetById(streamId, ErrorCode.STREAM_CLOSED);
        frames.spendStreamError();
        return;
      case "skipped":
        throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, `Stream ${streamId} was left out`);
      case "ended":
        throw new ConnectionError(ErrorCode.STREAM_CLOSED, `Stream ${streamId} has ended`);
    }
  }

  #sendWindowUpdate(streamId: number, incrementBytes: number): void {
    const { output } = this.#deps;
    const start = output.reserve(CONTROL_FRAME_MAX_BYTES);
    output.position = writeWindowUpdate(output.chunk, start, streamId, incrementBytes);
  }
}

function throwIfBroken(fault: HeaderFault | undefined): void {
  if (fault?.kind === "connection") throw new ConnectionError(ErrorCode.COMPRESSION_ERROR, fault.reason);
}
