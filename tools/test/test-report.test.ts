// Tests the last lines of a run: counts, and what failed.
import { describe, expect, it } from "vitest";
import type { RunReport } from "./test-report.ts";
import { addTallies, formatFailures, formatTally, tallyTests } from "./test-report.ts";

const REPORT: RunReport = { passed: 5, skipped: 0, notRun: 0, failures: [] };
const FAILURE = { names: ["a.test.ts", "add()", "adds"], message: "Error: no" };

describe("tallyTests()", () => {
  it.each<{
    when: string;
    report: RunReport | undefined;
    exitCode: number;
    tally: readonly [number, number, number];
  }>([
    { when: "all passed", report: REPORT, exitCode: 0, tally: [5, 0, 0] },
    { when: "two failed", report: { ...REPORT, failures: [FAILURE, FAILURE] }, exitCode: 1, tally: [5, 2, 0] },
    { when: "a hook failed", report: { ...REPORT, notRun: 4, failures: [FAILURE] }, exitCode: 1, tally: [5, 5, 0] },
    { when: "tests were left out", report: { ...REPORT, skipped: 3 }, exitCode: 0, tally: [5, 0, 3] },
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
  it("names what failed with the first line of its message", () => {
    const broken = {
      names: ["rates/b.test.ts"],
      message: "\u001B[31mSyntaxError: Unexpected token\u001B[39m\n  at b",
    };
    const silent = { names: ["a.test.ts"], message: "" };
    expect(formatFailures({ ...REPORT, failures: [broken, FAILURE, silent] }).split("\n")).toEqual([
      "    rates/b.test.ts",
      "        SyntaxError: Unexpected token",
      "    a.test.ts > add() > adds",
      "        Error: no",
      "    a.test.ts",
      "        no message",
    ]);
  });

  it("cuts a message of more than a thousand characters", () => {
    const failures = [{ ...FAILURE, message: "x".repeat(1001) }];
    expect(formatFailures({ ...REPORT, failures })).toBe(`    a.test.ts > add() > adds\n        ${"x".repeat(1000)}…`);
  });

  it("counts those beyond the first twenty", () => {
    const failures = Array.from({ length: 23 }, () => FAILURE);
    const lines = formatFailures({ ...REPORT, failures }).split("\n");
    expect(lines).toHaveLength(41);
    expect(lines.at(-1)).toBe("    and 3 more");
  });

  it("is empty when all passed", () => {
    expect(formatFailures(REPORT)).toBe("");
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
