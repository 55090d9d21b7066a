// Tests of how a console block is read and compared with what a shell printed.
import { describe, expect, it } from "vitest";
import { differenceOfOutput, readConsoleSteps } from "./console.ts";

describe("readConsoleSteps()", () => {
  it("returns each command with the output below it", () => {
    expect(readConsoleSteps("$ a \\\n  b\none\n\ntwo\n$ c\n$ cat <<E\n> d\n> E\nthree")).toEqual([
      { command: "a \\\n  b", output: "one\n\ntwo" },
      { command: "c", output: "" },
      { command: "cat <<E\nd\nE", output: "three" },
    ]);
  });

  it("throws for a block that begins with output", () => {
    expect(() => readConsoleSteps("one")).toThrow('A console block begins with "$ ", not with "one"');
  });
});

describe("differenceOfOutput()", () => {
  it.each([
    { what: "equal text", shown: "a\nb", printed: "a\nb\n" },
    { what: "other times", shown: "at 2026-01-31T12:00:00Z", printed: "at 2027-02-01T01:02:03.456Z" },
    { what: "other durations", shown: "resets in 45 s, 3d", printed: "resets in 7 s, 12m" },
    { what: "other hashes", shown: "version 5b142383be9c", printed: "version 48ff383c30d2" },
    { what: "other versions", shown: "weir 0.1.0", printed: "weir v1.22.333-rc.1" },
    { what: "other windows", shown: "shop_1769860800", printed: "shop_1795400272" },
    { what: "other columns", shown: "NAME   AGE", printed: "NAME       AGE" },
    { what: "lines that are left out", shown: "a\n…\nd", printed: "a\nb\nc\nd" },
    { what: "an end that is left out", shown: "a\n…", printed: "a\nb\nc" },
    { what: "the rest of a line that is left out", shown: "a b …", printed: "a b c" },
  ])("ignores $what", ({ shown, printed }) => {
    expect(differenceOfOutput(shown, printed)).toBeUndefined();
  });

  it.each([
    { shown: "a\nb", printed: "a\nc", problem: 'the page shows "b", the command prints "c"' },
    { shown: "a\nb", printed: "a", problem: 'the page shows "b", the command prints "nothing"' },
    { shown: "a", printed: "a\nb", problem: 'the page does not show "b"' },
    { shown: "a\n…\nd", printed: "a\nb", problem: 'no line after "…" is "d"' },
    { shown: "1999 left", printed: "2999 left", problem: 'the page shows "1999 left", the command prints "2999 left"' },
    { shown: "200 429", printed: "200 200", problem: 'the page shows "200 429", the command prints "200 200"' },
  ])("says $problem", ({ shown, printed, problem }) => {
    expect(differenceOfOutput(shown, printed)).toBe(problem);
  });
});
