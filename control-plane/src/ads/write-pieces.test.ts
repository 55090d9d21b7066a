// Tests of write-pieces.ts with a stream that takes in what it is told to.
import type { ServerDuplexStream } from "@grpc/grpc-js";
import { beforeEach, describe, expect, it, vi } from "vitest";

import { http2StreamOf, writePieces } from "./write-pieces.ts";

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

describe("writePieces()", () => {
  const body = Buffer.alloc(150_000, "b");
  const tail = Buffer.from("tail");
  const written = vi.fn<() => void>();
  const sendMetadata = vi.fn<() => void>();
  const writeJoined = vi.fn<(message: Buffer, written: () => void) => void>();
  let stream: FakeHttp2Stream;

  /** A call as grpc-js keeps it, or as another version of it might. */
  function callWith(inner: object | undefined): ServerDuplexStream<unknown, Buffer> {
    return { sendMetadata, write: writeJoined, call: inner } as unknown as ServerDuplexStream<unknown, Buffer>;
  }

  beforeEach(() => {
    vi.clearAllMocks();
    stream = new FakeHttp2Stream();
  });

  it("hands one message over in slices of the pieces themselves, one after the other, and tells when all are taken in", () => {
    writePieces(callWith({ stream }), [body, tail], written);
    expect(sendMetadata).toHaveBeenCalledOnce();
    expect(stream.chunks).toHaveLength(1);
    let taken = 0;
    while (stream.take()) taken += 1;
    expect([taken, written.mock.calls.length]).toEqual([5, 1]);
    expect(stream.chunks.map(({ length }) => length)).toEqual([5, 65_536, 65_536, 18_928, 4]);
    expect(stream.chunks.map(({ buffer }) => buffer).slice(1, 4)).toEqual([body.buffer, body.buffer, body.buffer]);
    expect(Buffer.concat(stream.chunks)).toEqual(Buffer.concat([Buffer.from([0, 0, 2, 0x49, 0xf4]), body, tail]));
  });

  it.each([
    { when: "the stream is closed", end: (ended: FakeHttp2Stream) => (ended.closed = true) },
    { when: "the stream is destroyed", end: (ended: FakeHttp2Stream) => (ended.destroyed = true) },
    { when: "the call has ended", end: (ended: FakeHttp2Stream) => (ended.writableEnded = true) },
  ])("stops and tells nothing when $when", ({ end }) => {
    writePieces(callWith({ stream }), [body, tail], written);
    end(stream);
    expect([stream.take(), stream.take()]).toEqual([true, false]);
    writePieces(callWith({ stream }), [tail], written);
    expect([stream.chunks.length, written.mock.calls.length]).toEqual([1, 0]);
  });

  it("stops and tells nothing when a slice fails", () => {
    writePieces(callWith({ stream }), [body], written);
    expect([stream.take(new Error("reset")), stream.take()]).toEqual([true, false]);
    expect(written).not.toHaveBeenCalled();
  });

  it.each([{ inner: undefined }, { inner: {} }, { inner: { stream: {} } }])(
    "lets grpc-js copy the message when a call holds $inner",
    ({ inner }) => {
      const call = callWith(inner);
      expect(http2StreamOf(call)).toBeUndefined();
      writePieces(call, [Buffer.from("bo"), Buffer.from("dy")], written);
      expect(writeJoined.mock.calls).toEqual([[Buffer.from("body"), written]]);
    },
  );
});
