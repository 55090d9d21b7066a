// One stream: the call as its method sees it, and the state of RFC 9113, 5.1, that the server needs.
import type { DeadlineEntry } from "../grpc/deadlines.ts";
import type { MessageReader } from "../grpc/message-reader.ts";
import type { RequestHead } from "../headers/request-head.ts";
import type { MessageEncoder, StreamingCall, StreamingReceiver, UnaryCall, UnaryMethod } from "../grpc/method.ts";
import type { UnsentData } from "./unsent-data.ts";

/** Writes the answers of streams. */
export interface StreamOwner {
  /** See UnaryCall.reply. */
  reply<T>(stream: Stream, encoder: MessageEncoder<T>, value: T): void;
  /** See UnaryCall.fail. */
  fail(stream: Stream, status: number, message: string): void;
  /** See StreamingCall.send. */
  send<T>(stream: Stream, encoder: MessageEncoder<T>, value: T): boolean;
  /** See StreamingCall.sendShared. */
  sendShared(stream: Stream, chunks: readonly Buffer[]): boolean;
  /** See StreamingCall.end. */
  end(stream: Stream, status: number, message: string): void;
  /** See StreamingCall.reset. */
  abort(stream: Stream): void;
  /** The deadline of a stream has passed. */
  expire(stream: Stream): void;
}

/** A stream from its HEADERS until both directions have ended: the one object that a call costs. */
export class Stream implements UnaryCall, StreamingCall, DeadlineEntry {
  readonly id: number;
  /** The headers, until the method has been called. */
  head: RequestHead | undefined;
  /** The memory of the process that they take, in bytes: when they outlive the frames of the request. */
  headBytes = 0;
  readonly #owner: StreamOwner;

  /** The unary method, until it is called. */
  unary: UnaryMethod | undefined = undefined;
  /** The method has been called, and has not answered. */
  isCalled = false;
  /** The answer has been begun that ends the stream, or the client cannot receive one. */
  isAnswered = false;
  /** HEADERS have been sent. */
  hasSentHeaders = false;
  /** The client has ended its direction; the server has ended its own. */
  isRemoteEnded = false;
  isLocalEnded = false;

  /** The send window; negative after a smaller SETTINGS_INITIAL_WINDOW_SIZE. */
  sendWindowBytes: number;
  /** DATA received since the last WINDOW_UPDATE, in bytes. */
  receivedBytes = 0;
  /** DATA that content-length announces and that is not received yet, in bytes; -1 = not announced. */
  missingBytes: number;
  /** DATA frames with content, of a request that is not one message in one frame. */
  dataFrames = 0;

  deadlineMs: number | undefined = undefined;
  deadlineTick = 0;
  previousDeadline: DeadlineEntry | undefined = undefined;
  nextDeadline: DeadlineEntry | undefined = undefined;

  /** The method's receiver of a streaming call, until the stream is closed. */
  receiver: StreamingReceiver | undefined = undefined;
  /** Reads a request that is not one message in one frame; the message of a unary call, once it is complete. */
  reader: MessageReader | undefined = undefined;
  message: Buffer | undefined = undefined;
  /** The body that flow control holds back. */
  unsent: UnsentData | undefined = undefined;

  /** Progress and the message that was on its way at the last look of {@link hasStalled}, and since when. */
  #seenProgress: number | undefined = undefined;
  #seenMs = 0;
  #seenMessage: UnsentData | number | undefined = undefined;
  #messageMs = 0;

  constructor(id: number, head: RequestHead, owner: StreamOwner, sendWindowBytes: number) {
    this.id = id;
    this.head = head;
    this.#owner = owner;
    this.sendWindowBytes = sendWindowBytes;
    this.missingBytes = head.contentLength ?? -1;
  }

  /** True if no DATA was received, and content-length does not announce how much will be. */
  get isUntouched(): boolean {
    return this.receivedBytes === 0 && this.missingBytes < 0 && this.reader === undefined;
  }

  /**
   * Returns true if the client has not moved for the first time although the stream waits for it, or
   * has moved one message for all of the second, between looks at it.
   */
  hasStalled(nowMs: number, stallTimeoutMs: number, messageTimeoutMs: number): boolean {
    const progress = this.#progress();
    if (progress === undefined || progress !== this.#seenProgress) {
      this.#seenProgress = progress;
      this.#seenMs = nowMs;
    }
    const message = this.#message();
    if (message === undefined || message !== this.#seenMessage) {
      this.#seenMessage = message;
      this.#messageMs = nowMs;
    }
    return nowMs - this.#seenMs >= stallTimeoutMs || nowMs - this.#messageMs >= messageTimeoutMs;
  }

  headers(): Readonly<Record<string, string>> {
    if (this.head === undefined) throw new Error("Cannot read headers: the method has been called");
    return this.head.headers();
  }

  reply<T>(encoder: MessageEncoder<T>, value: T): void {
    this.#owner.reply(this, encoder, value);
  }

  fail(status: number, message: string): void {
    this.#owner.fail(this, status, message);
  }

  stream(receiver: StreamingReceiver): StreamingCall {
    this.receiver = receiver;
    return this;
  }

  send<T>(encoder: MessageEncoder<T>, value: T): boolean {
    return this.#owner.send(this, encoder, value);
  }

  sendShared(chunks: readonly Buffer[]): boolean {
    return this.#owner.sendShared(this, chunks);
  }

  end(status: number, message: string): void {
    this.#owner.end(this, status, message);
  }

  reset(): void {
    this.#owner.abort(this);
  }

  expire(): void {
    this.#owner.expire(this);
  }

  /** The message that is on its way and takes memory: of the answer, or the number of that of the request. */
  #message(): UnsentData | number | undefined {
    if (this.unsent !== undefined) return this.unsent;
    if (this.unary !== undefined) return 0;
    return this.reader?.isBetweenMessages === false ? this.reader.messages : undefined;
  }

  /**
   * A number that changes when the client moves: when it takes the answer, sends the rest of its
   * request, or ends it. Undefined when the stream does not wait for the client.
   */
  #progress(): number | undefined {
    if (this.unsent !== undefined) return -1 - this.unsent.sentBytes;
    const isAwaited = this.unary !== undefined || this.isLocalEnded || this.reader?.isBetweenMessages === false;
    return isAwaited ? this.dataFrames : undefined;
  }
}
