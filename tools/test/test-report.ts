// Reads vitest's report: counts of passed and failed tests, and which failed.
import { stripVTControlCharacters } from "node:util";

/** Failed tests that the end of the output names. */
const FAILURES_MAX = 20;

/** What the last line of a run says. */
export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** The part of vitest's JSON report that is read here. */
export interface VitestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly FileReport[];
}

/**
 * What vitest says of one file: its absolute path, why it failed as a whole (else empty), and its
 * tests.
 */
interface FileReport {
  readonly name: string;
  readonly status: string;
  readonly message: string;
  readonly assertionResults: readonly {
    readonly status: string;
    readonly ancestorTitles: readonly string[];
    readonly title: string;
    readonly failureMessages: readonly string[];
  }[];
}

/**
 * The tally of one vitest run. A file that could not be loaded, or that holds no test, is one
 * failure; so is a run that ended with an error although no test failed, such as an unhandled
 * rejection. Without a report the run died: one failure.
 */
export function tallyTests(report: VitestReport | undefined, exitCode: number): Tally {
  if (report === undefined) return { passed: 0, failed: 1, skipped: 0 };
  const emptyFiles = report.testResults.filter((file) => file.assertionResults.length === 0).length;
  const failed = report.numFailedTests + emptyFiles;
  return {
    passed: report.numPassedTests,
    failed: failed === 0 && exitCode !== 0 ? 1 : failed,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

/**
 * The failed tests of one vitest run, two lines each: where it is and what it is called, then the
 * first line of what it said. For the end of the output, where they are still seen when only the
 * tail of a log is kept. Files that could not be loaded or cleaned up after are among them. At most
 * {@link FAILURES_MAX}, then a count.
 */
export function formatFailures({ testResults }: VitestReport, root: string): string {
  const failures = testResults.flatMap(({ name, status, message, assertionResults }) => {
    const file = name.slice(root.length + 1);
    const failed = assertionResults.filter((test) => test.status === "failed");
    const failedAsWhole = assertionResults.length === 0 || (status === "failed" && failed.length === 0);
    return failedAsWhole
      ? [formatFailure([file], message)]
      : failed.map(({ ancestorTitles, title, failureMessages }) =>
          formatFailure([file, ...ancestorTitles, title], failureMessages[0] ?? ""),
        );
  });
  const untold = failures.length - FAILURES_MAX;
  return [...failures.slice(0, FAILURES_MAX), ...(untold > 0 ? [`    and ${untold} more`] : [])].join("\n");
}

function formatFailure(names: readonly string[], message: string): string {
  const [line = ""] = stripVTControlCharacters(message).split("\n", 1);
  return `    ${names.join(" > ")}\n        ${line === "" ? "no message" : line}`;
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
