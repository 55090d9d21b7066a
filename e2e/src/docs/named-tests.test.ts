// Tests of how the tests that pages name are found and checked.
import { describe, expect, it } from "vitest";
import { findNamedTests, problemOfNamedTest } from "./named-tests.ts";

const PAGE = [
  '| 1.1 | `a/src/x.test.ts`: "works"; `a/src/y.suite.ts`: "works in $mode" |',
  "As `a/src/x.test.ts` shows. `x.test.ts` and `a/src/x.ts` are no paths of tests.",
].join("\n");

describe("findNamedTests()", () => {
  it("returns files with titles, and files alone", () => {
    expect(findNamedTests(PAGE)).toEqual([
      { file: "a/src/x.test.ts", title: "works" },
      { file: "a/src/y.suite.ts", title: "works in $mode" },
      { file: "a/src/x.test.ts", title: undefined },
    ]);
  });
});

describe("problemOfNamedTest()", () => {
  const textOf = (path: string) => (path === "a/src/x.test.ts" ? 'it("works", f);' : undefined);

  it.each([
    { file: "a/src/x.test.ts", title: "works", problem: undefined },
    { file: "a/src/x.test.ts", title: undefined, problem: undefined },
    { file: "a/src/x.test.ts", title: "work", problem: 'a/src/x.test.ts has no test "work"' },
    { file: "a/src/y.test.ts", title: "works", problem: "a/src/y.test.ts does not exist" },
    { file: "a/src/y.test.ts", title: undefined, problem: "a/src/y.test.ts does not exist" },
  ])("says $problem of $title in $file", ({ file, title, problem }) => {
    expect(problemOfNamedTest({ file, title }, textOf)).toBe(problem);
  });
});
