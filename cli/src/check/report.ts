// The result of a check, for people and for programs. Pure.
import type { CheckProblem } from "./check-text.ts";

/** Everything that a check found. */
export interface CheckReport {
  /** Files that were looked at, unreadable ones included. */
  readonly files: number;
  readonly resources: number;
  readonly ruleFiles: number;
  /** In the order of the files, and of the lines in each. */
  readonly problems: readonly CheckProblem[];
}

/** One line for each problem, and one that sums up. */
export function formatText(report: CheckReport): string {
  const lines = report.problems.map(({ path, line, column, field, message }) => {
    const place = line === 0 ? path : `${path}:${line}:${column}`;
    return printable(`${place}: ${field === "" ? "" : `${field}: `}${message}`);
  });
  const held = `${counted(report.resources, "resource")} and ${counted(report.ruleFiles, "rule file")}`;
  const found = report.problems.length === 0 ? "no problems" : counted(report.problems.length, "problem");
  return `${[...lines, `${counted(report.files, "file")} with ${held}: ${found}`].join("\n")}\n`;
}

/** One JSON object. */
export function formatJson(report: CheckReport): string {
  return `${JSON.stringify({ ok: report.problems.length === 0, ...report }, undefined, 2)}\n`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** The text without what could move the cursor or start a line of its own: names come from files that nobody has checked. */
function printable(text: string): string {
  return (
    text
      .replaceAll(/\s*\n\s*/g, " ")
      // eslint-disable-next-line no-control-regex -- Control characters are what is looked for.
      .replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, (character) => {
        const code = character.charCodeAt(0).toString(16).padStart(4, "0");
        return `\\u${code}`;
      })
  );
}
