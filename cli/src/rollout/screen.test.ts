// Tests of how a text is fitted into a terminal.
import { describe, expect, it } from "vitest";

import { drawn, screenOf, type ScreenSize } from "./screen.ts";

/** The lines that are drawn, without escape sequences. */
function linesOf(text: string, size: ScreenSize): readonly string[] {
  const [before, ...lines] = drawn(text, size).replace("\u001b[H", "\n").replace("\u001b[J", "").trimEnd().split("\n");
  expect(before).toBe("");
  return lines.map((line) => line.replace(/.\[K$/, ""));
}

const TEXT = "one\ntwo is a line of some length\nthree\nfour\nall is well with everything here\n";

describe("drawn()", () => {
  it("draws everything where there is room", () => {
    expect(linesOf(TEXT, { columns: 80, rows: 6 })).toEqual([
      "one",
      "two is a line of some length",
      "three",
      "four",
      "all is well with everything here",
    ]);
  });

  it("cuts long lines, folds the last one, and says how many lines have no room", () => {
    expect(linesOf(TEXT, { columns: 20, rows: 6 })).toEqual([
      "one",
      "two is a line of so…",
      "… 2 more lines do n…",
      "all is well with eve",
      "rything here",
    ]);
    expect(linesOf(TEXT, { columns: 20, rows: 7 })).toEqual([
      "one",
      "two is a line of so…",
      "three",
      "four",
      "all is well with eve",
      "rything here",
    ]);
  });

  it("shows the last line however small the terminal is, or whatever it reports of itself", () => {
    expect(linesOf(TEXT, { columns: 0, rows: 0 })).toEqual([
      "… 4 more lines do n…",
      "all is well with eve",
      "rything here",
    ]);
  });

  it("counts columns and not characters", () => {
    const text =
      "限制限制限制限制限制\n限制限制限制限制限制a\nno\u0308e\u0301l is 20 columns\n限制限制限制限制限制限制\n";
    expect(linesOf(text, { columns: 20, rows: 9 })).toEqual([
      "限制限制限制限制限制",
      "限制限制限制限制限…",
      "no\u0308e\u0301l is 20 columns",
      "限制限制限制限制限制",
      "限制",
    ]);
  });

  it("draws a single line", () => {
    expect(drawn("done\n", { columns: 80, rows: 24 })).toBe("\u001b[Hdone\u001b[K\n\u001b[J");
  });
});

describe("screenOf()", () => {
  it.each([
    { stream: { isTTY: true, columns: 80, rows: 24 }, size: { columns: 80, rows: 24 } },
    { stream: { isTTY: true, columns: 0, rows: 0 }, size: undefined },
    { stream: { isTTY: true }, size: undefined },
    { stream: { columns: 80, rows: 24 }, size: undefined },
  ])("gives $size for $stream", ({ stream, size }) => {
    expect(screenOf(stream)).toEqual(size);
  });
});
