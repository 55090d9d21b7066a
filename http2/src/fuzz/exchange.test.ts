import { FLAG, FRAME, frame, openCall, PREFACE, resetFrame, settingsFrame } from "@weir/harness/http2/http2-frames";
import { describe, expect, it } from "vitest";

import { ServerReader } from "../connection/received-frames.suite.ts";
import { HpackEncoder } from "../hpack/hpack-encoder.ts";
import { Exchange } from "./exchange.suite.ts";

const { DATA, HEADERS, GOAWAY, PING, SETTINGS } = FRAME;
const { END_HEADERS } = FLAG;
const END = FLAG.END_STREAM | END_HEADERS;

const OPENING = [settingsFrame(), frame(SETTINGS, FLAG.ACK, 0)];
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
function read(...frames: readonly Buffer[]): Exchange {
  const exchange = new Exchange();
  exchange.clientSends(Buffer.concat([PREFACE, settingsFrame(), openCall(1, "Echo"), frame(PING, 0, 0, PING_BYTES)]));
  exchange.serverSends(new ServerReader().read(Buffer.concat(frames)));
  return exchange;
}

describe("Exchange", () => {
  it("accepts a whole answer", () => {
    const server = read(...OPENING, FIRST, frame(DATA, 0, 1, Buffer.alloc(5)), LAST, frame(PING, 1, 0, PING_BYTES));
    expect(server.ends.get(1)).toBe("grpc 0");
    expect(server.pongs).toBe(1);
  });

  const data = frame(DATA, 0, 1, Buffer.alloc(16_384));
  it.each([
    { fault: "a frame is too long", frames: [...OPENING, FIRST, frame(DATA, 0, 1, Buffer.alloc(16_385))] },
    { fault: "the first frame is not SETTINGS", frames: [FIRST] },
    { fault: "an acknowledgement too many", frames: [...OPENING, frame(SETTINGS, 1, 0)] },
    {
      fault: "an answer to a stream that was not opened",
      frames: [...OPENING, resetFrame(3)],
    },
    { fault: "DATA outside of an answer", frames: [...OPENING, frame(DATA, 0, 1)] },
    { fault: "DATA outside of an answer", frames: [...OPENING, FIRST, LAST, frame(DATA, 0, 1)] },
    { fault: "HEADERS after the end of an answer", frames: [...OPENING, FIRST, LAST, LAST] },
    {
      fault: "trailers without END_STREAM",
      frames: [...OPENING, FIRST, frame(HEADERS, END_HEADERS, 1, TRAILERS_BLOCK)],
    },
    { fault: "an answer without one :status", frames: [...OPENING, LAST] },
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

describe("ServerReader", () => {
  it.each([8, 12])("counts the bytes of a frame that is cut off after %i", (length) => {
    const reader = new ServerReader();
    expect(reader.read(Buffer.concat([...OPENING, FIRST.subarray(0, length)]))).toHaveLength(2);
    expect(reader.restBytes).toBe(length);
  });

  it("throws at an invalid header block", () => {
    const bytes = frame(HEADERS, END, 1, Buffer.from([0x80]));
    expect(() => new ServerReader().read(bytes)).toThrow("Cannot decode the headers of the server");
  });
});
