import { describe, expect, it } from "vitest";
import { formatCost, formatNumber, formatTable, formatThousands, ratiosOf, spreadOf } from "./summary.ts";

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

describe("ratiosOf()", () => {
  it.each([
    // The median of the ratios within the rounds, whatever the machine did in between.
    { ours: [100, 30, 200], theirs: [10, 2, 25], spread: { median: 10, min: 8, max: 15 } },
    { ours: [100, 30, 200], theirs: [10, NaN], spread: { median: 10, min: 10, max: 10 } },
    { ours: [0], theirs: [0], spread: { median: NaN, min: NaN, max: NaN } },
  ])("is $spread when the rounds gave $ours and $theirs", ({ ours, theirs, spread }) => {
    expect(ratiosOf(ours, theirs)).toEqual(spread);
  });
});

describe("formatCost()", () => {
  const row = (name: string, median: number) => ({ name, ratio: { median, min: 1, max: 2 } });

  it.each([
    {
      ratios: [row("a", 1.1), row("b", 0.9), row("c", 1.03)],
      last: "Median of 3 rows: 1.030 (≤ 1.03 PASS); highest: 1.100 (≤ 1.10 PASS), a",
    },
    {
      ratios: [row("a", 1.031), row("b", 1.101), row("c", 1.031)],
      last: "Median of 3 rows: 1.031 (≤ 1.03 MISS); highest: 1.101 (≤ 1.10 MISS), b",
    },
  ])("has a line for each row, and ends with '$last'", ({ ratios, last }) => {
    const lines = formatCost(ratios).split("\n");
    expect(lines).toHaveLength(7);
    expect(lines.at(2)).toMatch(/^\| a +\| 1\.\d+ \(1\.000–2\.000\) +\|$/);
    expect(lines.at(-1)).toBe(last);
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
