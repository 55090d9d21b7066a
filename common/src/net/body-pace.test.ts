import { describe, expect, it } from "vitest";

import { type BodyPace, BodyProgress } from "./body-pace.ts";

const PACE: BodyPace = { firstByteMs: 10_000, windowMs: 10_000, windowBytes: 80 * 1024, totalMs: 300_000 };

/** Second at which a body is too late that has `bytesAt(second)` bytes; undefined within 400 s. */
function lateAt(bytesAt: (second: number) => number): number | undefined {
  const progress = new BodyProgress(PACE, 5_000_000, bytesAt(0));
  for (let second = 1; second <= 400; second += 1)
    if (progress.isLate(5_000_000 + second * 1000, bytesAt(second))) return second;
  return undefined;
}

describe("BodyProgress", () => {
  it.each([
    { name: "nothing comes", bytesAt: () => 0, late: 10 },
    { name: "nothing comes after other bytes of the connection", bytesAt: () => 12_345, late: 10 },
    { name: "the first byte comes in second 9 and no other", bytesAt: (s: number) => (s < 9 ? 0 : 1), late: 19 },
    { name: "600 KiB come at first and then nothing", bytesAt: (s: number) => (s < 1 ? 0 : 614_400), late: 21 },
    { name: "a byte per second comes", bytesAt: (s: number) => s, late: 11 },
    { name: "one byte per window too few comes", bytesAt: (s: number) => Math.floor((s * 81_919) / 10), late: 21 },
    { name: "8 KiB per second come", bytesAt: (s: number) => s * 8192, late: 300 },
    { name: "400 kbit/s come", bytesAt: (s: number) => s * 50_000, late: 300 },
    {
      name: "it stalls for 9 s in every 10",
      bytesAt: (s: number) => Math.floor((s + 9) / 10) * 81_920,
      late: 300,
    },
  ])("isLate() is true at second $late when $name", ({ bytesAt, late }) => {
    expect(lateAt(bytesAt)).toBe(late);
  });

  it("excuse() begins a new window, but not a new total time", () => {
    const progress = new BodyProgress(PACE, 0, 0);
    expect(progress.isLate(1000, 10)).toBe(false);
    progress.excuse(10_999, 10);
    expect(progress.isLate(20_998, 10)).toBe(false);
    expect(progress.isLate(20_999, 10)).toBe(true);
    progress.excuse(299_999, 10);
    expect(progress.isLate(300_000, 1_000_000)).toBe(true);
  });

  it("excuse() gives the first byte more time", () => {
    const progress = new BodyProgress(PACE, 0, 0);
    progress.excuse(9000, 0);
    expect(progress.isLate(18_999, 0)).toBe(false);
    expect(progress.isLate(19_000, 0)).toBe(true);
  });
});
