// Tests of message-queue.ts.
import { beforeEach, describe, expect, it } from "vitest";

import { MessageQueue } from "./message-queue.ts";
import type { StreamingCall, StreamingReceiver } from "./method.ts";

/** A call whose client takes a message when the test says so. */
class FakeCall {
  /** The messages that were sent, the ends and the resets. */
  readonly events: string[] = [];
  receiver: StreamingReceiver | undefined;
  isReading = false;
  #isSending = false;

  sendShared(chunks: readonly Buffer[]): boolean {
    if (this.#isSending) throw new Error("A message is sent before the last one was taken");
    this.events.push(Buffer.concat(chunks).toString());
    this.#isSending = true;
    if (this.isReading) this.take();
    return true;
  }

  take(): void {
    this.#isSending = false;
    this.receiver?.sent?.();
  }

  end(status: number, message: string): void {
    this.events.push(`end ${status} ${message}`);
  }

  reset(): void {
    this.events.push("reset");
  }
}

describe("MessageQueue", () => {
  let call: FakeCall;
  let queue: MessageQueue;
  let written: string[];
  let closed: number;

  beforeEach(() => {
    call = new FakeCall();
    written = [];
    closed = 0;
    queue = new MessageQueue(
      (receiver) => {
        call.receiver = receiver;
        return call as unknown as StreamingCall;
      },
      () => (closed += 1),
    );
  });

  function send(text: string): void {
    queue.send([Buffer.from(text)], () => written.push(text));
  }

  it("sends each message when the client has taken the one before, and then the status", () => {
    send("a");
    send("b");
    queue.end(0, "");
    send("after the end");
    expect([call.events, written]).toEqual([["a"], []]);
    call.take();
    expect([call.events, written]).toEqual([["a", "b"], ["a"]]);
    call.take();
    expect([call.events, written]).toEqual([
      ["a", "b", "end 0 ", "reset"],
      ["a", "b"],
    ]);
  });

  it("sends what a method sends while a message is being sent", () => {
    call.isReading = true;
    queue.send([Buffer.from("a")], () => send("b"));
    expect([call.events, written]).toEqual([["a", "b"], ["b"]]);
  });

  it("reports every message as written when the stream is closed, and sends nothing more", () => {
    send("a");
    send("b");
    queue.closed();
    send("c");
    expect([call.events, written, closed]).toEqual([["a"], ["a", "b"], 1]);
  });

  it("resets the stream of a client that takes nothing when 256 messages wait", () => {
    for (let count = 0; count < 257; count += 1) send("a");
    expect(call.events).toEqual(["a"]);
    send("one more");
    expect(call.events).toEqual(["a", "reset"]);
  });
});
