// The messages that a method sends in a call: each follows the one before when the client has taken that.
import type { StreamingCall, StreamingReceiver } from "./method.ts";

/** Most messages that wait for the client, for example 20 minutes of heartbeats; then the stream is reset. */
const WAITING_MAX = 256;

interface Message {
  readonly chunks: readonly Buffer[];
  readonly written: () => void;
}

/** The queue of one call: to be used once `StreamingMethod.open` has returned. */
export class MessageQueue implements StreamingReceiver {
  readonly #call: StreamingCall;
  readonly #closed: () => void;
  readonly #waiting: Message[] = [];
  /** The message that is being sent. */
  #current: Message | undefined;
  #end: { readonly status: number; readonly message: string } | undefined;
  #isSending = false;
  #isClosed = false;

  /** `open` makes the call with the receiver of what the client does, such as `UnaryCall.stream`. */
  constructor(open: (receiver: StreamingReceiver) => StreamingCall, closed: () => void = () => undefined) {
    this.#call = open(this);
    this.#closed = closed;
  }

  /**
   * Sends a message, whose chunks must not change until `written`: it is sent, or the stream is closed.
   * Does nothing after `end`.
   */
  send(chunks: readonly Buffer[], written: () => void = () => undefined): void {
    if (this.#isClosed || this.#end !== undefined) return;
    if (this.#waiting.length >= WAITING_MAX) {
      this.reset();
      return;
    }
    this.#waiting.push({ chunks, written });
    this.#sendWaiting();
  }

  /** Ends the call with a gRPC status, 0 for OK, after the messages, and closes the stream. */
  end(status: number, message: string): void {
    this.#end ??= { status, message };
    this.#sendWaiting();
  }

  /** See StreamingCall.reset. */
  reset(): void {
    this.#call.reset();
  }

  message(): void {}

  halfClosed(): void {}

  sent(): void {
    const sent = this.#current;
    this.#current = undefined;
    sent?.written();
    this.#sendWaiting();
  }

  cancelled(): void {}

  closed(): void {
    this.#isClosed = true;
    const left = [...(this.#current === undefined ? [] : [this.#current]), ...this.#waiting.splice(0)];
    this.#current = undefined;
    for (const { written } of left) written();
    this.#closed();
  }

  #sendWaiting(): void {
    if (this.#isSending) return; // A message that is sent immediately is reported while it is being sent.
    this.#isSending = true;
    while (this.#current === undefined) {
      this.#current = this.#waiting.shift();
      if (this.#current === undefined || !this.#call.sendShared(this.#current.chunks)) break;
    }
    this.#isSending = false;
    if (this.#current !== undefined || this.#end === undefined) return;
    this.#call.end(this.#end.status, this.#end.message);
    this.#call.reset(); // Of a client that has not ended its side nothing more is expected (RFC 9113, 8.1).
  }
}
