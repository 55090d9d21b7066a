// Tests of the frames that carry no request.
import { describe, expect, it } from "vitest";

import {
  GOAWAY_MAX_BYTES,
  writeGoaway,
  writePing,
  writeReset,
  writeSettingsAck,
  writeWindowUpdate,
} from "./control-frames.ts";

function hex(write: (target: Buffer) => number): string {
  const target = Buffer.alloc(300, 0xaa);
  return target.toString("hex", 0, write(target));
}

describe("control frames", () => {
  it("are written as RFC 9113 defines them", () => {
    expect(hex((target) => writeReset(target, 0, 5, 8))).toBe("000004030000000005" + "00000008");
    expect(hex((target) => writeSettingsAck(target, 0))).toBe("000000040100000000");
    expect(hex((target) => writePing(target, 0, 1, Buffer.from("x12345678"), 1))).toBe(
      "000008060100000000" + "3132333435363738",
    );
    expect(hex((target) => writeGoaway(target, 0, 7, 11, "why"))).toBe(
      "00000b070000000000" + "00000007" + "0000000b" + "776879",
    );
    expect(hex((target) => writeWindowUpdate(target, 0, 3, 0x7fff_ffff))).toBe("000004080000000003" + "7fffffff");
  });

  it("cut the reason of a GOAWAY", () => {
    expect(writeGoaway(Buffer.alloc(1000), 0, 0, 1, "x".repeat(500))).toBe(GOAWAY_MAX_BYTES);
  });
});
