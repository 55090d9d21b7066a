import { HpackEncoder } from "@weir/http2/hpack/hpack-encoder";
import { describe, expect, it } from "vitest";

import { frame, PREFACE } from "@weir/harness/http2/http2-frames";
import { ClientBytes } from "./client-bytes.ts";
import { requestBlock } from "./fuzzed-methods.ts";
import { newFieldList, ServerBytes } from "./server-bytes.ts";

const DATA = 0;
const HEADERS = 1;
const RST_STREAM = 3;
const SETTINGS = 4;
const PING = 6;
const GOAWAY = 7;
const END_HEADERS = 4;
const END = 5;

const OPENING = [frame(SETTINGS, 0, 0), frame(SETTINGS, 1, 0)];
const PING_BYTES = Buffer.alloc(8);

/** The blocks of two answers on one connection. */
const encoder = new HpackEncoder();
const HEADERS_BLOCK = blockOf((target) => encoder.responseHeaders(target, 0));
const TRAILERS_BLOCK = blockOf((target) => encoder.okTrailers(target, 0));

const FIRST = frame(HEADERS, END_HEADERS, 1, HEADERS_BLOCK);
const LAST = frame(HEADERS, END, 1, TRAILERS_BLOCK);

function blockOf(write: (target: Buffer) => number): Buffer {
  const target = Buffer.alloc(100);
  return target.subarray(0, write(target));
}

/** Reads the server's frames after a client that has sent SETTINGS, one call on stream 1, and a PING. */
function read(...frames: readonly Buffer[]): ServerBytes {
  const client = new ClientBytes();
  client.read(
    Buffer.concat([
      PREFACE,
      frame(SETTINGS, 0, 0),
      frame(HEADERS, END, 1, requestBlock([])),
      frame(PING, 0, 0, PING_BYTES),
    ]),
  );
  const server = new ServerBytes(client, newFieldList());
  server.read(Buffer.concat(frames));
  return server;
}

describe("ServerBytes", () => {
  it("accepts a whole answer", () => {
    const server = read(...OPENING, FIRST, frame(DATA, 0, 1, Buffer.alloc(5)), LAST, frame(PING, 1, 0, PING_BYTES));
    expect(server.ends.get(1)).toEqual({ kind: "grpc", code: 0 });
    expect(server.pongs).toBe(1);
  });

  const data = frame(DATA, 0, 1, Buffer.alloc(16_384));
  it.each([
    { fault: "the header of a frame is cut off", frames: [...OPENING, FIRST.subarray(0, 8)] },
    { fault: "a frame is cut off", frames: [...OPENING, FIRST.subarray(0, 12)] },
    { fault: "a frame is too long", frames: [...OPENING, FIRST, frame(DATA, 0, 1, Buffer.alloc(16_385))] },
    { fault: "the first frame is not SETTINGS", frames: [FIRST] },
    { fault: "an acknowledgement too many", frames: [...OPENING, frame(SETTINGS, 1, 0)] },
    {
      fault: "an answer to a stream that was not opened",
      frames: [...OPENING, frame(RST_STREAM, 0, 3, Buffer.alloc(4))],
    },
    { fault: "DATA outside of an answer", frames: [...OPENING, frame(DATA, 0, 1)] },
    { fault: "DATA outside of an answer", frames: [...OPENING, FIRST, LAST, frame(DATA, 0, 1)] },
    { fault: "HEADERS after the end of an answer", frames: [...OPENING, FIRST, LAST, LAST] },
    {
      fault: "trailers without END_STREAM",
      frames: [...OPENING, FIRST, frame(HEADERS, END_HEADERS, 1, TRAILERS_BLOCK)],
    },
    { fault: "an answer without one :status", frames: [...OPENING, LAST] },
    { fault: "an invalid header block", frames: [...OPENING, frame(HEADERS, END, 1, Buffer.from([0x80]))] },
    { fault: "DATA beyond the window of the stream", frames: [...OPENING, FIRST, data, data, data, data] },
    {
      fault: "a PING that was not sent is acknowledged",
      frames: [...OPENING, frame(PING, 1, 0, PING_BYTES), frame(PING, 1, 0, PING_BYTES)],
    },
    {
      fault: "a frame follows GOAWAY with an error",
      frames: [...OPENING, frame(GOAWAY, 0, 0, Buffer.alloc(8, 1)), FIRST],
    },
    {
      fault: "more control frames than the client's frames ask for",
      frames: [...OPENING, ...Array.from({ length: 20 }, () => frame(PING, 0, 0, PING_BYTES))],
    },
  ])("reports: $fault", ({ fault, frames }) => {
    expect(() => read(...frames)).toThrow(`Wrong bytes of the server: ${fault}`);
  });
});
