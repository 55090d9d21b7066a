// The findings of a gate, each with a file and line that editors can jump to, and how they are printed.

/** One thing that a gate rejects. */
export interface Finding {
  /** Path from the root of the repository. */
  readonly file: string;
  /** Line from 1; undefined when the finding is about the file as a whole. */
  readonly line?: number | undefined;
  readonly rule: string;
  /** The problem and its remedy, as a sentence without a full stop. */
  readonly message: string;
}

/** Prints `findings`, by file, and sets the exit code. */
export function reportFindings(findings: readonly Finding[]): void {
  const sorted = findings.toSorted((a, b) => a.file.localeCompare(b.file) || (a.line ?? 0) - (b.line ?? 0));
  for (const finding of sorted) console.log(formatFinding(finding));
  process.exitCode = findings.length > 0 ? 1 : 0;
}

/** One line: `path:line rule: message`. */
function formatFinding(finding: Finding): string {
  const place = finding.line === undefined ? finding.file : `${finding.file}:${finding.line}`;
  return `${place} ${finding.rule}: ${finding.message}`;
}
