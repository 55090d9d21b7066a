import { describe, expect, it } from "vitest";
import { callTemplate, createFrameReader, openingBytes } from "./http2-frames.ts";

const CALL = { path: "/s/M", authority: "h:1", message: Buffer.from("a########z"), marker: "########" };

describe("callTemplate()", () => {
  it("is a HEADERS frame and a DATA frame that ends the stream, with the places to patch", () => {
    const { bytes, streamIdAt, digitsAt } = callTemplate({ ...CALL, isFirst: false });
    // 6 bytes of HEADERS with END_HEADERS, all fields by their index; then 15 bytes of DATA with
    // END_STREAM.
    expect(bytes.toString("hex")).toBe(
      ["000006010400000000", "8386c1c0bfbe", "00000f000100000000", "000000000a", "6123232323232323237a"]
        .join("")
        .replace("6123232323232323237a", Buffer.from("a########z").toString("hex")),
    );
    expect(streamIdAt).toEqual([5, 20]);
    expect(digitsAt).toEqual([30]);
    expect(bytes.toString("latin1", 30, 38)).toBe("########");
  });

  it("names every place of the marker when the message holds several", () => {
    const { digitsAt } = callTemplate({ ...CALL, message: Buffer.from("a########z########"), isFirst: false });
    expect(digitsAt).toEqual([30, 39]);
  });

  it("names the header fields in full when it is the first of its connection", () => {
    const { bytes } = callTemplate({ ...CALL, isFirst: true });
    expect(bytes.toString("latin1")).toContain("\x44\x04/s/M\x41\x03h:1\x5f\x10application/grpc\x40\x02te\x08trailers");
  });

  it("throws when the message lacks the marker", () => {
    expect(() => callTemplate({ ...CALL, marker: "@@@@", isFirst: false })).toThrow(
      "The message does not hold the marker @@@@",
    );
  });
});

describe("openingBytes()", () => {
  it("is the preface, a SETTINGS frame and the rest of the largest window", () => {
    expect(openingBytes().toString("hex")).toBe(
      [
        Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").toString("hex"),
        "00000c040000000000" + "000100000000" + "00047fffffff",
        "000004080000000000" + "7fff0000",
      ].join(""),
    );
  });
});

describe("createFrameReader()", () => {
  const stream = Buffer.from("000002000100000003" + "aabb" + "000000040100000000" + "000001000000000005" + "cc", "hex");
  const frames = [
    { type: 0, flags: 1, streamId: 3, payload: "aabb" },
    { type: 4, flags: 1, streamId: 0, payload: "" },
    { type: 0, flags: 0, streamId: 5, payload: "cc" },
  ];

  it.each([1, 2, 5, 9, 10, 11, 100])("gives the same frames when the bytes come in pieces of %i", (size) => {
    const read: typeof frames = [];
    const reader = createFrameReader((type, flags, streamId, payload) =>
      read.push({ type, flags, streamId, payload: payload.toString("hex") }),
    );
    for (let at = 0; at < stream.length; at += size) reader(stream.subarray(at, at + size));
    expect(read).toEqual(frames);
  });
});
