import { describe, expect, it } from "vitest";

import { lineDifference } from "./line-difference.ts";

const TEN = Array.from({ length: 10 }, (_, index) => `line ${index}`);

describe("lineDifference()", () => {
  it.each([
    { what: "nothing", before: "a\nb", after: "a\nb", expected: "" },
    { what: "a line that is edited", before: "a\nb\nc", after: "a\nx\nc", expected: "  a\n- b\n+ x\n  c" },
    { what: "a line that is added at the end", before: "a", after: "a\nb", expected: "  a\n+ b" },
    { what: "a line that is removed at the beginning", before: "a\nb", after: "b", expected: "- a\n  b" },
    { what: "a repeated line that is added", before: "a\na", after: "a\na\na", expected: "  a\n  a\n+ a" },
    {
      what: "lines around one that both have",
      before: "a\nb\nc",
      after: "x\nb\ny",
      expected: "- a\n+ x\n  b\n- c\n+ y",
    },
  ])("shows $what", ({ before, after, expected }) => expect(lineDifference(before, after)).toBe(expected));

  it("leaves out lines that are far from any difference", () => {
    const edited = TEN.with(5, "other");
    expect(lineDifference(TEN.join("\n"), edited.join("\n")).split("\n")).toEqual([
      ...["...", "  line 2", "  line 3", "  line 4", "- line 5", "+ other", "  line 6", "  line 7", "  line 8", "..."],
    ]);
  });

  it("is bounded in lines and work", () => {
    const text = (prefix: string): string => Array.from({ length: 5000 }, (_, index) => prefix + index).join("\n");
    const lines = lineDifference(text("a"), text("b")).split("\n");
    expect([lines.length, lines[0], lines.at(-1)]).toEqual([401, "- a0", "..."]);
  });
});
