// Formats the end of a run: counts of passed and failed tests, and which failed.
import { stripVTControlCharacters } from "node:util";

/** Failures that the end of the output names. */
const FAILURES_MAX = 20;

/** Longest message of a failure there, in characters. */
const MESSAGE_LENGTH_MAX = 1000;

/** The counts in the last line of a run. */
export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** A test, a hook of a suite, or a file as a whole that failed. */
export interface Failure {
  /** The path to it: the file, the suites in it, the test. */
  readonly names: readonly string[];
  readonly message: string;
}

/** The report that tally-reporter.ts writes. */
export interface RunReport {
  readonly passed: number;
  /** Tests that are left out on purpose. */
  readonly skipped: number;
  /** Tests that did not run because a hook or their file failed. */
  readonly notRun: number;
  readonly failures: readonly Failure[];
}

/**
 * The tally of one run of vitest. Tests that could not run have failed, next to the hook that kept them
 * from it. A run that ended with an error although nothing failed is one failure; so is a run without a
 * report, which died.
 */
export function tallyTests(report: RunReport | undefined, exitCode: number): Tally {
  if (report === undefined) return { passed: 0, failed: 1, skipped: 0 };
  const { passed, skipped, notRun, failures } = report;
  const failed = failures.length + notRun;
  return { passed, failed: failed === 0 && exitCode !== 0 ? 1 : failed, skipped };
}

/**
 * The failures, two lines each: where it is and what it is called, then the first line of its message.
 * For the end of the output, where they are still seen when only the tail of a log is kept. At most
 * {@link FAILURES_MAX}, then a count.
 */
export function formatFailures({ failures }: RunReport): string {
  const untold = failures.length - FAILURES_MAX;
  const lines = failures.slice(0, FAILURES_MAX).map(({ names, message }) => {
    const [line = ""] = stripVTControlCharacters(message).split("\n", 1);
    const shown = line.length > MESSAGE_LENGTH_MAX ? `${line.slice(0, MESSAGE_LENGTH_MAX)}…` : line;
    return `    ${names.join(" > ")}\n        ${shown === "" ? "no message" : shown}`;
  });
  return [...lines, ...(untold > 0 ? [`    and ${untold} more`] : [])].join("\n");
}

/** All of `tallies` together. */
export function addTallies(tallies: readonly Tally[]): Tally {
  return tallies.reduce(
    (sum, tally) => ({
      passed: sum.passed + tally.passed,
      failed: sum.failed + tally.failed,
      skipped: sum.skipped + tally.skipped,
    }),
    {
      passed: 0,
      failed: 0,
      skipped: 0,
    },
  );
}

/** `12 passed, 0 failed`, and `, 1 skipped` if any. */
export function formatTally({ passed, failed, skipped }: Tally): string {
  return `${passed} passed, ${failed} failed${skipped === 0 ? "" : `, ${skipped} skipped`}`;
}
