// Tests of line-splitter.ts.
import { describe, expect, it } from "vitest";

import { createLineSplitter } from "./line-splitter.ts";

describe("LineSplitter.push()", () => {
  it.each([
    { chunks: ["a\nb\n"], lines: [["a", "b"]] },
    { chunks: ["a", "b", "c\nd", "\n"], lines: [[], [], ["abc"], ["d"]] },
    { chunks: ["", "\n", "a"], lines: [[], [""], []] },
  ])("gives the lines of $chunks as they become complete", ({ chunks, lines }) => {
    const splitter = createLineSplitter(10);
    expect(chunks.map((chunk) => splitter.push(Buffer.from(chunk)))).toEqual(lines);
  });

  it("measures each line by itself, however many there were before it", () => {
    const splitter = createLineSplitter(3);
    expect(splitter.push(Buffer.from("abc\nabc\nabc\n"))).toEqual(["abc", "abc", "abc"]);
    const halves = Array.from({ length: 5 }, () => [
      splitter.push(Buffer.from("ab")),
      splitter.push(Buffer.from("c\n")),
    ]);
    expect(halves).toEqual(Array.from({ length: 5 }, () => [[], ["abc"]]));
  });

  it("puts a character together that was cut in the middle", () => {
    const splitter = createLineSplitter(10);
    const bytes = Buffer.from("é€\n");
    expect([...bytes].flatMap((byte) => splitter.push(Buffer.from([byte])) ?? ["too long"])).toEqual(["é€"]);
  });

  it("refuses a line that is too long, in one piece or in many, complete or not", () => {
    expect(createLineSplitter(3).push(Buffer.from("abc\n"))).toEqual(["abc"]);
    expect(createLineSplitter(3).push(Buffer.from("abcd\n"))).toBeUndefined();
    expect(createLineSplitter(3).push(Buffer.from("abcd"))).toBeUndefined();
    const splitter = createLineSplitter(3);
    expect([splitter.push(Buffer.from("ab")), splitter.push(Buffer.from("cd\n"))]).toEqual([[], undefined]);
  });
});
