// Prints the result of a check, as text or as JSON. Pure.
import { counted, printable } from "../command-line/printable.ts";
import type { CheckProblem } from "./check-text.ts";

/** Everything that a check found. */
export interface CheckReport {
  /** Files, unreadable ones included. */
  readonly files: number;
  readonly resources: number;
  readonly ruleFiles: number;
  /** Manifests of other kinds that were not checked. */
  readonly skipped: number;
  /** In the order of the files, and of the lines in each. */
  readonly problems: readonly CheckProblem[];
  /** Input that is valid and perhaps not meant, in the same order. */
  readonly warnings: readonly CheckProblem[];
}

/** One line for each problem, then for each warning, and a summary. */
export function formatText(report: CheckReport): string {
  const lines = [...report.problems.map(formatProblem), ...report.warnings.map(formatWarning)];
  const skipped = report.skipped === 0 ? "" : `, ${counted(report.skipped, "manifest")} of other kinds skipped`;
  const held = `${counted(report.resources, "resource")} and ${counted(report.ruleFiles, "rule file")}${skipped}`;
  const warned = report.warnings.length === 0 ? "" : `, ${counted(report.warnings.length, "warning")}`;
  const found = `${report.problems.length === 0 ? "no problems" : counted(report.problems.length, "problem")}${warned}`;
  return `${[...lines, `${counted(report.files, "file")} with ${held}: ${found}`].join("\n")}\n`;
}

/** One JSON object. */
export function formatJson(report: CheckReport): string {
  return `${JSON.stringify({ ok: report.problems.length === 0, ...report }, undefined, 2)}\n`;
}

/** A warning in one line, without the end of the line. */
export function formatWarning(warning: CheckProblem): string {
  return formatProblem({ ...warning, message: `warning: ${warning.message}` });
}

/** A problem in one line, without the end of the line. */
export function formatProblem({ path, line, column, field, message }: CheckProblem): string {
  const place = line === 0 ? path : `${path}:${line}:${column}`;
  return printable(`${place}: ${field === "" ? "" : `${field}: `}${message}`);
}
