// What the last lines of a run say: failed tests, counts, and the coverage table.
import { describe, expect, it } from "vitest";
import type { VitestReport } from "./test-report.ts";
import { addTallies, formatFailures, formatTally, tallyTests } from "./test-report.ts";

const PASSED = { status: "passed", ancestorTitles: ["add()"], title: "adds", failureMessages: [] };
const FILE = { name: "/w/a.test.ts", status: "passed", message: "", assertionResults: [PASSED] };
const REPORT: VitestReport = {
  numPassedTests: 5,
  numFailedTests: 0,
  numPendingTests: 0,
  numTodoTests: 0,
  testResults: [FILE],
};

describe("tallyTests()", () => {
  it.each<{
    when: string;
    report: VitestReport | undefined;
    exitCode: number;
    tally: readonly [number, number, number];
  }>([
    { when: "all passed", report: REPORT, exitCode: 0, tally: [5, 0, 0] },
    { when: "two failed", report: { ...REPORT, numFailedTests: 2 }, exitCode: 1, tally: [5, 2, 0] },
    {
      when: "tests were left out",
      report: { ...REPORT, numPendingTests: 2, numTodoTests: 1 },
      exitCode: 0,
      tally: [5, 0, 3],
    },
    {
      when: "a file has no test",
      report: { ...REPORT, testResults: [FILE, { ...FILE, assertionResults: [] }] },
      exitCode: 1,
      tally: [5, 1, 0],
    },
    { when: "the run failed for another reason", report: REPORT, exitCode: 1, tally: [5, 1, 0] },
    { when: "there is no report", report: undefined, exitCode: 0, tally: [0, 1, 0] },
  ])(
    "counts $tally as passed, failed and skipped when $when",
    ({ report, exitCode, tally: [passed, failed, skipped] }) => {
      expect(tallyTests(report, exitCode)).toEqual({ passed, failed, skipped });
    },
  );
});

describe("formatFailures()", () => {
  const failed = (title: string, ...failureMessages: string[]) => ({
    ...PASSED,
    status: "failed",
    title,
    failureMessages,
  });
  const report = (...testResults: VitestReport["testResults"]): VitestReport => ({ ...REPORT, testResults });

  it("names each failed test with the first line of its message, and files that failed as a whole", () => {
    const broken = {
      name: "/w/rates/b.test.ts",
      status: "failed",
      message: "\u001B[31mSyntaxError: Unexpected token\u001B[39m\n  at b",
      assertionResults: [],
    };
    const unclean = { ...FILE, status: "failed", message: "Error: hook timed out" };
    const mixed = {
      ...FILE,
      status: "failed",
      assertionResults: [
        failed("carries", "AssertionError: expected 1 to be 2\n    at a.test.ts:3"),
        PASSED,
        failed("ends"),
      ],
    };
    expect(formatFailures(report(FILE, broken, unclean, mixed), "/w").split("\n")).toEqual([
      "    rates/b.test.ts",
      "        SyntaxError: Unexpected token",
      "    a.test.ts",
      "        Error: hook timed out",
      "    a.test.ts > add() > carries",
      "        AssertionError: expected 1 to be 2",
      "    a.test.ts > add() > ends",
      "        no message",
    ]);
  });

  it("counts those beyond the first twenty", () => {
    const lines = formatFailures(
      report({ ...FILE, assertionResults: Array.from({ length: 23 }, () => failed("adds", "Error: no")) }),
      "/w",
    ).split("\n");
    expect(lines).toHaveLength(41);
    expect(lines.at(-1)).toBe("    and 3 more");
  });

  it("is empty when all passed", () => {
    expect(formatFailures(REPORT, "/w")).toBe("");
  });
});

describe("formatTally()", () => {
  it("leaves out skipped when there is none", () => {
    expect(
      formatTally(
        addTallies([
          { passed: 2, failed: 0, skipped: 0 },
          { passed: 3, failed: 1, skipped: 0 },
        ]),
      ),
    ).toBe("5 passed, 1 failed");
  });

  it("names skipped when there are some", () => {
    expect(formatTally({ passed: 5, failed: 0, skipped: 2 })).toBe("5 passed, 0 failed, 2 skipped");
  });
});
