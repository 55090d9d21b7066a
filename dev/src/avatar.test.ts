import { inflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { drawAvatar } from "./avatar.ts";

describe("drawAvatar()", () => {
  it("is a PNG of 64 by 64 pixels that ends with its end marker", () => {
    const png = drawAvatar();
    expect(png.subarray(0, 8).toString("latin1")).toBe("\x89PNG\r\n\x1a\n");
    expect(png.toString("latin1", 12, 16)).toBe("IHDR");
    expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([64, 64]);
    expect(png.subarray(-12).toString("hex")).toBe("0000000049454e44ae426082"); // The IEND chunk is the same in every PNG.
  });

  it("holds a full row of pixels with filter 0 for each line", () => {
    const png = drawAvatar();
    const length = png.readUInt32BE(33);
    expect(png.toString("latin1", 37, 41)).toBe("IDAT");
    const pixels = inflateSync(png.subarray(41, 41 + length));
    expect(pixels.length).toBe(64 * (1 + 64 * 3));
    expect(Array.from({ length: 64 }, (_, row) => pixels[row * 193]).every((filter) => filter === 0)).toBe(true);
    expect([...pixels.subarray(1, 4)]).toEqual([0x2b, 0x6c, 0xb0]);
  });
});
