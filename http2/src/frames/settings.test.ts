// Tests of SETTINGS.
import { describe, expect, it } from "vitest";

import { readSettings, SETTINGS_MAX_BYTES, writeSettings } from "./settings.ts";

function payload(...settings: readonly (readonly [number, number])[]): Buffer {
  const bytes = Buffer.alloc(6 * settings.length);
  settings.forEach(([id, value], index) => {
    bytes.writeUInt16BE(id, 6 * index);
    bytes.writeUInt32BE(value, 6 * index + 2);
  });
  return bytes;
}

function read(bytes: Buffer) {
  return readSettings(bytes, 0, bytes.length);
}

describe("readSettings()", () => {
  it("takes the last of each, and the smallest table on the way to it", () => {
    const change = read(
      payload([1, 4096], [1, 0], [1, 1000], [4, 5], [4, 70_000], [5, 16_384], [3, 1], [6, 1], [99, 7]),
    );
    expect(change).toEqual({
      headerTableMinBytes: 0,
      headerTableBytes: 1000,
      initialWindowBytes: 70_000,
    });
  });

  it("changes nothing without settings", () => {
    expect(Object.values(read(payload()))).toEqual([undefined, undefined, undefined]);
  });

  it.each([
    [2, 0],
    [2, 1],
    [4, 0],
    [4, 0x7fff_ffff],
    [5, 0xff_ffff],
    [1, 0xffff_ffff],
  ])("allows %i to be %i", (id, value) => {
    expect(() => read(payload([id, value]))).not.toThrow();
  });

  it.each([
    [payload([2, 2]), 1],
    [payload([4, 0x8000_0000]), 3],
    [payload([5, 0x3fff]), 1],
    [payload([5, 0x100_0000]), 1],
    [Buffer.alloc(5), 6],
  ])("refuses %j with error %i", (bytes, code) => {
    expect(() => read(bytes)).toThrow(expect.objectContaining({ code }) as Error);
  });
});

describe("writeSettings()", () => {
  it("announces streams and header lists", () => {
    const target = Buffer.alloc(SETTINGS_MAX_BYTES);
    expect(writeSettings(target, 0, { concurrentStreamsMax: 1000, headerListMaxBytes: 16_384 })).toBe(
      SETTINGS_MAX_BYTES,
    );
    expect(target.toString("hex")).toBe("00000c040000000000" + "0003000003e8" + "000600004000");
  });
});
