// Passes the requests of one connection to their methods: one message to a unary method, each
// message to a streaming one.
import type { ByteBudget } from "../limits/byte-budget.ts";
import { type MessageFault, MessageReader, type MessageReceiver } from "../grpc/message-reader.ts";
import type { Refusal, Route } from "../grpc/route.ts";
import { GrpcStatus } from "../grpc/status.ts";
import type { StreamingMethod, UnaryMethod } from "../grpc/method.ts";
import type { ConnectionState } from "./connection-state.ts";
import type { Responses } from "./responses.ts";
import type { Http2Counters } from "../limits/counters.ts";
import type { Http2Limits } from "../limits/limits.ts";
import type { Stream } from "../streams/stream.ts";

/** Bytes that a call costs while it waits for its message, in addition to its headers. */
const WAITING_CALL_BYTES = 512;

export interface CallsDeps {
  readonly state: ConnectionState;
  readonly responses: Responses;
  readonly budget: ByteBudget;
  readonly counters: Http2Counters;
  readonly limits: Http2Limits;
}

/** The calls of one connection. */
export class Calls {
  readonly #deps: CallsDeps;

  constructor(deps: CallsDeps) {
    this.#deps = deps;
  }

  /** Begins the call of a request, or refuses it. */
  begin(stream: Stream, route: Route): void {
    if (route.kind === "unary") stream.unary = route;
    else if (route.kind === "streaming") this.#open(stream, route);
    else this.#refuse(stream, route);
    if (route.kind !== "unary") this.#deps.responses.freeHead(stream);
  }

  /** Keeps the headers of a call that waits for its message. */
  keepHead(stream: Stream): void {
    if (stream.unary === undefined || stream.head === undefined) return;
    stream.head.keep();
    const bytes = stream.head.keptBytes + WAITING_CALL_BYTES;
    if (this.#deps.budget.take(bytes)) stream.headBytes = bytes;
    else this.#refuseMessage(stream, { kind: "no memory" });
  }

  /** Calls a unary method with its message. */
  call(stream: Stream, method: UnaryMethod, bytes: Buffer, start: number, end: number): void {
    stream.unary = undefined;
    if (this.#take(stream)) method.handle(stream, bytes, start, end);
    this.#deps.responses.freeHead(stream);
  }

  /** Reads DATA of a request that is not one message in one frame. */
  read(stream: Stream, bytes: Buffer, start: number, end: number): void {
    const { limits, budget } = this.#deps;
    stream.reader ??= new MessageReader(limits.messageMaxBytes, budget);
    const fault = stream.reader.read(bytes, start, end, this.#receiverOf(stream));
    if (fault !== undefined && !stream.isAnswered) this.#refuseMessage(stream, fault);
    if (stream.isAnswered) stream.reader.free(); // Nothing of the request is needed any more.
  }

  /** The client has ended a request that is not answered. */
  end(stream: Stream): void {
    const { responses } = this.#deps;
    const { message, unary } = stream;
    if (stream.reader !== undefined && !stream.reader.isBetweenMessages) {
      responses.refuse(stream, GrpcStatus.INTERNAL, "the request ends within a message");
    } else if (stream.receiver !== undefined) {
      stream.receiver.halfClosed();
    } else if (unary !== undefined && message === undefined) {
      responses.refuse(stream, GrpcStatus.UNIMPLEMENTED, "Received no request message for a unary method");
    } else if (unary !== undefined && message !== undefined) {
      responses.freeMessage(stream, message);
      this.call(stream, unary, message, 0, message.length);
    }
  }

  #open(stream: Stream, method: StreamingMethod): void {
    if (!this.#take(stream)) return;
    const receiver = method.open(stream);
    if (!stream.isAnswered) stream.receiver = receiver;
  }

  /** Counts a call that a method is going to answer; refuses it when there are too many. */
  #take(stream: Stream): boolean {
    const { state, responses, limits, counters } = this.#deps;
    if (state.callsInFlight >= limits.callsInFlightMax) {
      counters.callsRefused += 1;
      responses.refuse(stream, GrpcStatus.UNAVAILABLE, "too many calls are in flight on this connection");
      return false;
    }
    counters.calls += 1;
    state.callsInFlight += 1;
    stream.isCalled = true;
    return true;
  }

  #receiverOf(stream: Stream): MessageReceiver {
    return { message: (bytes, start, end) => this.#receive(stream, bytes, start, end) };
  }

  #receive(stream: Stream, bytes: Buffer, start: number, end: number): void {
    const { responses, budget } = this.#deps;
    if (stream.isAnswered) {
      return;
    } else if (stream.receiver !== undefined) {
      stream.receiver.message(bytes, start, end);
    } else if (stream.message !== undefined) {
      responses.refuse(stream, GrpcStatus.UNIMPLEMENTED, "Received a second request message for a unary method");
    } else if (budget.take(end - start)) {
      stream.message = Buffer.from(bytes.subarray(start, end));
    } else {
      this.#refuseMessage(stream, { kind: "no memory" });
    }
  }

  #refuse(stream: Stream, refusal: Refusal): void {
    const { responses, counters } = this.#deps;
    if (refusal.kind === "http") {
      counters.notGrpc += 1;
      responses.refuseHttp(stream, refusal.status, refusal.text);
    } else {
      counters.grpcRefused += 1;
      responses.refuse(stream, refusal.status, refusal.message, refusal.namesEncodings);
    }
  }

  #refuseMessage(stream: Stream, fault: MessageFault): void {
    const { responses, counters, limits } = this.#deps;
    switch (fault.kind) {
      case "compressed":
        responses.refuse(stream, GrpcStatus.INTERNAL, "grpc: compressed flag set with identity or empty encoding");
        return;
      case "too large": {
        counters.messagesTooLarge += 1;
        const sizes = `${fault.lengthBytes} vs. ${limits.messageMaxBytes}`;
        responses.refuse(stream, GrpcStatus.RESOURCE_EXHAUSTED, `grpc: received message larger than max (${sizes})`);
        return;
      }
      case "no memory":
        counters.messagesWithoutMemory += 1;
        responses.refuse(stream, GrpcStatus.RESOURCE_EXHAUSTED, "the server has no memory for further requests");
    }
  }
}
