// How tests name the cases that they show, and what the page and the gate make of it.
import { describe, expect, it } from "vitest";
import { casesNamedIn, findCaseTests } from "./case-tests.ts";
import { casesIn, completePage, findGaps } from "./conformance-docs.ts";

const FILE = "ratelimit/src/x.test.ts";

function found(text: string): readonly string[] {
  return findCaseTests(new Map([[FILE, text]])).map(({ number, line, name }) => `${number}@${line} ${name}`);
}

describe("casesNamedIn()", () => {
  it.each([
    { text: "case 7: it works", numbers: [7] },
    { text: "works (cases 7, 9 and 12)", numbers: [7, 9, 12] },
    { text: "cases 7 to 9 and 12", numbers: [7, 8, 9, 12] },
    { text: "cases 124-126", numbers: [124, 125, 126] },
    { text: "in any case, 5 times; caseless 9; encases 4", numbers: [] },
  ])("casesNamedIn() gives $numbers of '$text'", ({ text, numbers }) => {
    expect(casesNamedIn(text)).toEqual(numbers);
  });
});

describe("findCaseTests()", () => {
  it("findCaseTests() finds cases in titles of tests and of what encloses them, and in no comment or other call", () => {
    const text = '// case 1: no\ndescribe("flows (case 2)", () => {\n  it("case 3: a", run);\n  log("case 4");\n});';
    expect(found(text)).toEqual(["2@2 flows (case 2)", "3@3 case 3: a"]);
  });

  it("findCaseTests() finds the rows of a table by their property and by their words, also when the table is a constant", () => {
    const text = [
      "const ROWS = [",
      '  { case: 5, what: "x" },',
      "  { case: 6, what: [1, 2] },",
      "];",
      'it.each(ROWS)("case $case: does $what", run);',
      'it.each([["case 7: words", 1], ["none", 2]])("does %s", run);',
      'it.each([{ name: "case 9", ms: 5 }])("$name: takes $ms ms", run);',
    ].join("\n");
    expect(found(text)).toEqual([
      "5@2 case 5: does x",
      "6@3 case 6: does [1, 2]",
      "7@6 case 7: words",
      "9@7 case 9: takes 5 ms",
    ]);
  });

  it("findCaseTests() finds a title made of parts", () => {
    expect(found("it(`case 8: with $" + "{n} of $" + "{m}`, run);")).toEqual(["8@1 case 8: with … of …"]);
  });
});

/** Lines of the page. */
function caseLines(...cases: readonly (readonly [number: number, text: string])[]): string {
  return cases.map(([number, text]) => `- <a id="case-${number}"></a>**${number}** ${text}`).join("\n");
}

describe("findGaps()", () => {
  const test = (number: number) => ({ number, file: FILE, line: 4, name: `case ${number}` });
  const listed = (...numbers: readonly number[]) =>
    casesIn(caseLines(...numbers.map((number) => [number, `Says ${number}.`] as const)));

  it("findGaps() finds nothing when every case is listed once and has a test", () => {
    expect(findGaps(listed(1, 2), [test(1), test(2), test(2)])).toEqual([]);
  });

  it.each([
    { cases: listed(1, 2), tests: [test(1)], message: 'No test has "case 2" in its name: Says 2.' },
    { cases: listed(1, 2), tests: [test(1), test(2), test(3)], message: "There is no case 3, only 1 to 2" },
    { cases: listed(1, 3), tests: [test(1), test(3)], message: "Case 3 is where case 2 must be listed" },
    { cases: listed(1, 2, 2), tests: [test(1), test(2)], message: "Case 2 is where case 3 must be listed" },
  ])("findGaps() says '$message'", ({ cases, tests, message }) => {
    expect(findGaps(cases, tests).map((finding) => finding.message)).toEqual([message]);
  });

  it("findGaps() wants no test for a case that does not apply", () => {
    expect(findGaps(casesIn(caseLines([1, "Says. **Does not apply:** No such thing here."])), [])).toEqual([]);
  });
});

describe("completePage()", () => {
  const cases = [
    [1, "First."],
    [2, "Second. **Weir differs:** Other."],
    [3, "Third. **Does not apply:** Not here."],
  ] as const;
  const page = `<!-- begin differences -->\n\nold\n\n<!-- end differences -->\n\n${caseLines(...cases)}\n`;
  const tests = [{ number: 2, file: FILE, line: 4, name: "case 2: `odd`" }];

  it("completePage() counts the differences, lists them, and links every test", () => {
    const completed = completePage(page, tests);
    expect(completed).toContain(
      "Of 3 cases Weir does the same in 1, something else on purpose in 1, and 1 does not apply.\n\n- [Case 2](#case-2): Other.\n\n<!-- end",
    );
    expect(completed).toContain(
      "**2** Second. **Weir differs:** Other.\n  - [ratelimit/src/x.test.ts](../ratelimit/src/x.test.ts): `` case 2: `odd` ``\n- <a",
    );
    expect(completed).not.toContain("old");
  });

  it("completePage() replaces the tests of a page that was completed before", () => {
    expect(completePage(completePage(page, tests), tests)).toBe(completePage(page, tests));
    expect(completePage(completePage(page, tests), [])).toBe(completePage(page, []));
  });
});
