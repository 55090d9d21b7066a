import { describe, expect, it } from "vitest";
import { FrameReader, openingBytes, PREFACE } from "./http2-frames.ts";

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

describe("FrameReader", () => {
  const stream = Buffer.from("000002000100000003" + "aabb" + "000000040100000000" + "000001000000000005" + "cc", "hex");
  const frames = [
    { type: 0, flags: 1, streamId: 3, payload: "aabb" },
    { type: 4, flags: 1, streamId: 0, payload: "" },
    { type: 0, flags: 0, streamId: 5, payload: "cc" },
  ];

  it.each([1, 2, 5, 9, 10, 11, 100])("gives the same frames when the bytes come in pieces of %i", (size) => {
    const bytes = Buffer.concat([PREFACE, stream]);
    const read: typeof frames = [];
    const reader = new FrameReader(
      (type, flags, streamId, payload) => read.push({ type, flags, streamId, payload: payload.toString("hex") }),
      PREFACE.length,
    );
    for (let at = 0; at < bytes.length; at += size) reader.read(bytes.subarray(at, at + size));
    expect(read).toEqual(frames);
    expect(reader.rest).toHaveLength(0);
  });
});
