// Tests of write-pieces.ts with a stream that takes in what it is told to.
import { Writable } from "node:stream";

import type { ServerDuplexStream } from "@grpc/grpc-js";
import { beforeEach, describe, expect, it, vi } from "vitest";

import { chunkedWriter, http2StreamOf } from "./chunked-writer.ts";

/** The HTTP/2 stream under a call, as far as messages need it. */
class FakeHttp2Stream {
  closed = false;
  destroyed = false;
  writableEnded = false;
  readonly chunks: Buffer[] = [];
  /** Set while a chunk is under way. */
  #taken: ((error?: Error) => void) | undefined;

  respond(): void {
    throw new Error("Nobody but grpc-js sends headers");
  }

  write(chunk: Buffer, taken: (error?: Error) => void): void {
    expect(this.#taken, "one chunk at a time").toBeUndefined();
    this.chunks.push(chunk);
    this.#taken = taken;
  }

  /** Takes in the chunk that is under way; answers whether there was one. */
  take(error?: Error): boolean {
    const taken = this.#taken;
    this.#taken = undefined;
    taken?.(error);
    return taken !== undefined;
  }
}

/** A call as grpc-js keeps it: what is written to it goes to `call`. */
class FakeCall extends Writable {
  readonly sendMetadata = vi.fn<() => void>();
  /** What grpc-js was given to serialise itself. */
  readonly joined: Buffer[] = [];
  readonly call: object | undefined;

  constructor(inner: object | undefined) {
    super({ objectMode: true });
    this.call = inner;
  }

  override _write(message: Buffer, _encoding: string, done: () => void): void {
    this.joined.push(message);
    done();
  }

  asCall(): ServerDuplexStream<unknown, Buffer> {
    return this as unknown as ServerDuplexStream<unknown, Buffer>;
  }
}

/** Runs what is in a queue of Node's own. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe("chunkedWriter()", () => {
  const body = Buffer.alloc(150_000, "b");
  const tail = Buffer.from("tail");
  const written = vi.fn<() => void>();
  let stream: FakeHttp2Stream;
  let call: FakeCall;

  beforeEach(() => {
    vi.clearAllMocks();
    stream = new FakeHttp2Stream();
    call = new FakeCall({ stream });
  });

  it("hands one message over in slices of the pieces themselves, one after the other, and reports when all are taken in", async () => {
    chunkedWriter(call.asCall())([body, tail], written);
    expect([call.sendMetadata.mock.calls.length, stream.chunks.length]).toEqual([1, 1]);
    let taken = 0;
    while (stream.take()) taken += 1;
    await settle();
    expect([taken, written.mock.calls.length, call.joined.length]).toEqual([5, 1, 0]);
    expect(stream.chunks.map(({ length }) => length)).toEqual([5, 65_536, 65_536, 18_928, 4]);
    expect(stream.chunks.map(({ buffer }) => buffer).slice(1, 4)).toEqual([body.buffer, body.buffer, body.buffer]);
    expect(Buffer.concat(stream.chunks)).toEqual(Buffer.concat([Buffer.from([0, 0, 2, 0x49, 0xf4]), body, tail]));
  });

  it("lets an end wait for the message that is under way", async () => {
    const finished = vi.fn<() => void>();
    chunkedWriter(call.asCall())([body], written);
    call.end();
    call.on("finish", finished);
    await settle();
    expect(finished).not.toHaveBeenCalled();
    while (stream.take());
    await settle();
    expect([finished.mock.calls.length, stream.chunks.length]).toEqual([1, 4]);
  });

  it.each([
    { when: "the stream is closed", end: (ended: FakeHttp2Stream) => (ended.closed = true) },
    { when: "the stream is destroyed", end: (ended: FakeHttp2Stream) => (ended.destroyed = true) },
    { when: "grpc-js has ended it", end: (ended: FakeHttp2Stream) => (ended.writableEnded = true) },
  ])("stops and tells nothing when $when", async ({ end }) => {
    chunkedWriter(call.asCall())([body, tail], written);
    end(stream);
    expect([stream.take(), stream.take()]).toEqual([true, false]);
    await settle();
    expect([stream.chunks.length, written.mock.calls.length]).toEqual([1, 0]);
  });

  it("stops and tells nothing when a slice fails", async () => {
    chunkedWriter(call.asCall())([body], written);
    expect([stream.take(new Error("reset")), stream.take()]).toEqual([true, false]);
    await settle();
    expect(written).not.toHaveBeenCalled();
  });

  it.each([{ inner: undefined }, { inner: {} }, { inner: { stream: {} } }])(
    "lets grpc-js copy the message when a call holds $inner",
    async ({ inner }) => {
      const other = new FakeCall(inner);
      expect(http2StreamOf(other)).toBeUndefined();
      chunkedWriter(other.asCall())([Buffer.from("bo"), Buffer.from("dy")], written);
      await settle();
      expect([other.joined, written.mock.calls.length]).toEqual([[Buffer.from("body")], 1]);
    },
  );
});
