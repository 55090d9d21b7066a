// One stream: the call as its method sees it, and the state of RFC 9113, 5.1, that the server needs.
import type { DeadlineEntry } from "../grpc/deadlines.ts";
import type { MessageReader } from "../grpc/message-reader.ts";
import type { RequestHead } from "../headers/request-head.ts";
import type { MessageEncoder, StreamingCall, StreamingReceiver, UnaryCall, UnaryMethod } from "../grpc/method.ts";
import type { UnsentBody } from "./unsent-body.ts";

/** Writes the answers of streams. */
export interface StreamOwner {
  /** See UnaryCall.reply. */
  reply<T>(stream: Stream, encoder: MessageEncoder<T>, value: T): void;
  /** See UnaryCall.fail. */
  fail(stream: Stream, status: number, message: string): void;
  /** See StreamingCall.send. */
  send<T>(stream: Stream, encoder: MessageEncoder<T>, value: T): boolean;
  /** See StreamingCall.end. */
  end(stream: Stream, status: number, message: string): void;
  /** The deadline of a stream has passed. */
  expire(stream: Stream): void;
}

/** A stream from its HEADERS until both directions have ended: the one object that a call costs. */
export class Stream implements UnaryCall, StreamingCall, DeadlineEntry {
  readonly id: number;
  readonly head: RequestHead;
  readonly #owner: StreamOwner;

  /** The unary method, until it is called. */
  unary: UnaryMethod | undefined = undefined;
  /** The method has been called, and has not answered. */
  isCalled = false;
  /** The answer has been begun that ends the stream, or nobody can receive one. */
  isAnswered = false;
  /** HEADERS have been sent. */
  hasSentHeaders = false;
  /** The client has ended its direction; the server has ended its own. */
  isRemoteEnded = false;
  isLocalEnded = false;

  /** What the client allows to be sent; negative after a smaller SETTINGS_INITIAL_WINDOW_SIZE. */
  sendWindowBytes: number;
  /** DATA received since the last WINDOW_UPDATE, in bytes. */
  receivedBytes = 0;
  /** DATA that content-length announces and that is not received yet, in bytes; -1 = not announced. */
  missingBytes: number;

  deadlineMs: number | undefined = undefined;
  deadlineTick = 0;
  previousDeadline: DeadlineEntry | undefined = undefined;
  nextDeadline: DeadlineEntry | undefined = undefined;

  /** The method's receiver of a streaming call. */
  receiver: StreamingReceiver | undefined = undefined;
  /** Reads a request that is not one message in one frame; the message of a unary call, once it is complete. */
  reader: MessageReader | undefined = undefined;
  message: Buffer | undefined = undefined;
  /** What flow control holds back. */
  unsent: UnsentBody | undefined = undefined;

  constructor(id: number, head: RequestHead, owner: StreamOwner, sendWindowBytes: number) {
    this.id = id;
    this.head = head;
    this.#owner = owner;
    this.sendWindowBytes = sendWindowBytes;
    this.missingBytes = head.contentLength ?? -1;
  }

  /** Whether no DATA was received, and content-length does not announce how much will be. */
  get isUntouched(): boolean {
    return this.receivedBytes === 0 && this.missingBytes < 0 && this.reader === undefined;
  }

  /** Whether an answer or a request has made no progress for the time, between looks at it. */
  hasStalled(nowMs: number, timeoutMs: number): boolean {
    return (this.unsent ?? this.reader)?.hasStalled(nowMs, timeoutMs) ?? false;
  }

  headers(): Readonly<Record<string, string>> {
    return this.head.headers();
  }

  reply<T>(encoder: MessageEncoder<T>, value: T): void {
    this.#owner.reply(this, encoder, value);
  }

  fail(status: number, message: string): void {
    this.#owner.fail(this, status, message);
  }

  send<T>(encoder: MessageEncoder<T>, value: T): boolean {
    return this.#owner.send(this, encoder, value);
  }

  end(status: number, message: string): void {
    this.#owner.end(this, status, message);
  }

  expire(): void {
    this.#owner.expire(this);
  }
}
