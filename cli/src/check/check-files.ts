// Checks files that belong together: each by itself, then what is wrong between them. Pure.
import { checkText } from "./check-text.ts";
import type { CheckedResource, CheckedRules, CheckedText, CheckOptions, CheckProblem } from "./check-text.ts";
import { checkResources, checkRuleFiles } from "./check-together.ts";
import type { InputFile } from "./input-files.ts";
import type { CheckReport } from "./report.ts";

/** What was found in files, and what is wrong with it. */
export interface CheckedFiles {
  readonly report: CheckReport;
  readonly resources: readonly CheckedResource[];
  readonly rules: readonly CheckedRules[];
}

/** Checks files, each by itself and all together. */
export function checkFiles(
  files: readonly InputFile[],
  options: CheckOptions & { readonly mergeDomains: boolean },
): CheckedFiles {
  const texts = files.map((file) => ("text" in file ? checkText(file.path, file.text, options) : unreadableText(file)));
  const resources = texts.flatMap((text) => text.resources);
  const rules = texts.flatMap((text) => text.rules ?? []);
  const problems = [
    ...texts.flatMap((text) => text.problems),
    ...checkResources(resources),
    ...checkRuleFiles(rules, options),
  ];
  const places = new Map(files.map(({ path }, index) => [path, index]));
  const inOrder = (found: readonly CheckProblem[]): readonly CheckProblem[] => found.toSorted(byPlace(places));
  const report = {
    files: files.length,
    resources: resources.length,
    ruleFiles: rules.length,
    skipped: texts.reduce((sum, { skipped }) => sum + skipped, 0),
    problems: inOrder(problems),
    warnings: inOrder(texts.flatMap((text) => text.warnings)),
  };
  return { resources, rules, report };
}

function unreadableText(file: { readonly path: string; readonly unreadable: string }): CheckedText {
  const problem = { path: file.path, line: 0, column: 0, field: "", message: `cannot read: ${file.unreadable}` };
  return { problems: [problem], warnings: [], resources: [], skipped: 0 };
}

function byPlace(places: ReadonlyMap<string, number>): (left: CheckProblem, right: CheckProblem) => number {
  const order = ({ path }: CheckProblem): number => places.get(path) ?? places.size;
  return (left, right) => order(left) - order(right) || left.line - right.line || left.column - right.column;
}
