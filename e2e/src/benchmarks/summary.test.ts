import { describe, expect, it } from "vitest";
import { formatNumber, formatShare, formatTable, formatThousands, ratioCells, spreadOf } from "./summary.ts";

describe("spreadOf()", () => {
  it.each([
    { values: [5], spread: { median: 5, min: 5, max: 5 } },
    { values: [9, 1, 4], spread: { median: 4, min: 1, max: 9 } },
    { values: [10, 9, 1, 2], spread: { median: 5.5, min: 1, max: 10 } }, // As numbers: as text, 10 would come before 2.
  ])("gives $spread when the rounds gave $values", ({ values, spread }) => {
    expect(spreadOf(values)).toEqual(spread);
  });

  it("throws when there was no round", () => {
    expect(() => spreadOf([])).toThrow("Cannot summarise a benchmark without rounds");
  });
});

describe("formatThousands() and formatNumber()", () => {
  it("show the median with the range behind it", () => {
    expect(formatThousands({ median: 24_812, min: 23_949, max: 25_101 })).toBe("24.8 k (23.9–25.1)");
    expect(formatNumber({ median: 40.16, min: 39.5, max: 41 }, 1)).toBe("40.2 (39.5–41.0)");
  });
});

describe("formatShare()", () => {
  it.each([
    { share: 0.314, text: "31 %" },
    { share: NaN, text: "unknown" },
  ])("is '$text' when the share is $share", ({ share, text }) => {
    expect(formatShare(share)).toBe(text);
  });
});

describe("ratioCells()", () => {
  it.each([
    { median: 1.2, bar: 1.2, cells: ["1.20 (1.00–2.00)", "≤ 1.2", "PASS"] },
    { median: 1.21, bar: 1.2, cells: ["1.21 (1.00–2.00)", "≤ 1.2", "MISS"] },
    { median: 1.21, bar: undefined, cells: ["1.21 (1.00–2.00)", "", ""] },
  ])("are $cells when the median is $median and the bar $bar", ({ median, bar, cells }) => {
    expect(ratioCells({ median, min: 1, max: 2 }, bar)).toEqual(cells);
  });
});

describe("formatTable()", () => {
  it("pads every column to its widest cell", () => {
    expect(
      formatTable(
        ["a", "bb"],
        [
          ["longer", "1"],
          ["x", "2"],
        ],
      ),
    ).toBe(["| a      | bb |", "|--------|----|", "| longer | 1  |", "| x      | 2  |"].join("\n"));
  });
});
