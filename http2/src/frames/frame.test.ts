// Tests of frame headers.
import { describe, expect, it } from "vitest";

import { readFrameLength, readUint31, writeFrameHeader, writeUint32 } from "./frame.ts";

describe("writeFrameHeader()", () => {
  it.each([
    [0, 0, 0, 0, "000000000000000000"],
    [5, 1, 0x25, 3, "000005012500000003"],
    [16_384, 9, 4, 0x7fff_ffff, "00400009047fffffff"],
    [0xff_ffff, 255, 255, 1, "ffffffffff00000001"],
  ])("writes length %i, type %i, flags %i, stream %i", (length, type, flags, streamId, expected) => {
    const target = Buffer.alloc(11, 0xaa);
    expect(writeFrameHeader(target, 1, length, type, flags, streamId)).toBe(10);
    expect(target.toString("hex")).toBe(`aa${expected}aa`);
    expect(readFrameLength(target, 1)).toBe(length);
    expect(readUint31(target, 6)).toBe(streamId);
  });
});

describe("readUint31()", () => {
  it("ignores the reserved bit", () => {
    expect(readUint31(Buffer.from("ffffffff", "hex"), 0)).toBe(0x7fff_ffff);
    expect(readUint31(Buffer.from("80000001", "hex"), 0)).toBe(1);
  });
});

describe("writeUint32()", () => {
  it("writes all 32 bits", () => {
    const target = Buffer.alloc(4);
    expect(writeUint32(target, 0, 0xfedc_ba98)).toBe(4);
    expect(target.toString("hex")).toBe("fedcba98");
  });
});
