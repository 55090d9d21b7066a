// Makes sense of what vitest leaves behind: counts of passed and failed tests, and coverage per workspace. Runs nothing.

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
  readonly testResults: readonly { readonly name: string; readonly status: string; readonly assertionResults: readonly unknown[] }[];
}

/** The part of a coverage summary that is read here: path of a file → its counts. */
export type CoverageSummary = Readonly<Record<string, { readonly lines: Counts; readonly branches: Counts; readonly functions: Counts }>>;

interface Counts {
  readonly total: number;
  readonly covered: number;
}

/**
 * The tally of one vitest run. A file that could not be loaded, or that holds no test, is one failure; so is a run that ended with an error although no
 * test failed, such as an unhandled rejection. Without a report the run died: one failure.
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

/** All of `tallies` together. */
export function addTallies(tallies: readonly Tally[]): Tally {
  return tallies.reduce(
    (sum, tally) => ({ passed: sum.passed + tally.passed, failed: sum.failed + tally.failed, skipped: sum.skipped + tally.skipped }),
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

/** A table with a row per top-level folder under `root`, in percent of lines, branches and functions. */
export function formatCoverage(summary: CoverageSummary, root: string): string {
  const rows = new Map<string, { lines: Counts; branches: Counts; functions: Counts }>();
  for (const [path, file] of Object.entries(summary)) {
    const name = path === "total" ? "all" : (path.slice(root.length + 1).split("/", 1)[0] ?? path);
    const sum = rows.get(name) ?? { lines: NOTHING, branches: NOTHING, functions: NOTHING };
    rows.set(name, {
      lines: add(sum.lines, file.lines),
      branches: add(sum.branches, file.branches),
      functions: add(sum.functions, file.functions),
    });
  }
  const names = [...rows.keys()].toSorted((a, b) => Number(a === "all") - Number(b === "all") || a.localeCompare(b));
  const cells = names.flatMap((name) => {
    const row = rows.get(name);
    return row === undefined ? [] : [formatRow([name, percent(row.lines), percent(row.branches), percent(row.functions)])];
  });
  return [formatRow(["coverage", "lines", "branches", "functions"]), ...cells].join("\n");
}

const NOTHING: Counts = { total: 0, covered: 0 };

function add(a: Counts, b: Counts): Counts {
  return { total: a.total + b.total, covered: a.covered + b.covered };
}

function percent({ total, covered }: Counts): string {
  return total === 0 ? "-" : `${((100 * covered) / total).toFixed(1)} %`;
}

function formatRow([name = "", ...cells]: readonly string[]): string {
  return `${name.padEnd(16)}${cells.map((cell) => cell.padStart(11)).join("")}`;
}
