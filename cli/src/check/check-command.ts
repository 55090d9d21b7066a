// The command `weir check`: reads what the command line names, checks it, prints what is wrong.
import type { ProgramContext } from "@weir/common/lifecycle/program";
import { TEXT_MAX_BYTES } from "@weir/crds/rate-limit-config/yaml-documents";

import { CHECK_HELP, parseCheckArguments } from "./arguments.ts";
import { checkText } from "./check-text.ts";
import type { CheckedText, CheckProblem } from "./check-text.ts";
import { checkResources, checkRuleFiles } from "./check-together.ts";
import { readInputFiles } from "./input-files.ts";
import type { InputFile } from "./input-files.ts";
import type { InputStream } from "./read-bounded.ts";
import { formatJson, formatText } from "./report.ts";
import type { CheckReport } from "./report.ts";

const EXIT_OK = 0;
const EXIT_PROBLEMS = 1;
const EXIT_USAGE = 2;

/** Runs the command with the arguments behind its name; gives the exit code. */
export async function runCheck(
  context: Pick<ProgramContext, "stdout" | "stderr">,
  args: readonly string[],
  stdin: () => InputStream = () => process.stdin,
): Promise<number> {
  const parsed = parseCheckArguments(args);
  switch (parsed.kind) {
    case "help":
      context.stdout(CHECK_HELP);
      return EXIT_OK;
    case "wrong":
      context.stderr(`weir check: ${parsed.message}; weir check --help tells more\n`);
      return EXIT_USAGE;
    case "check": {
      const files = await readInputFiles(parsed.paths, { stdin, sizeMaxBytes: TEXT_MAX_BYTES });
      const report = checkFiles(files, parsed);
      context.stdout(parsed.format === "json" ? formatJson(report) : formatText(report));
      return report.problems.length === 0 ? EXIT_OK : EXIT_PROBLEMS;
    }
  }
}

/** Checks files, each by itself and all together. */
function checkFiles(files: readonly InputFile[], options: { readonly mergeDomains: boolean }): CheckReport {
  const texts = files.map((file) => ("text" in file ? checkText(file.path, file.text) : unreadableText(file)));
  const resources = texts.flatMap((text) => text.resources);
  const rules = texts.flatMap((text) => text.rules ?? []);
  const problems = [...texts.flatMap((text) => text.problems), ...checkResources(resources), ...checkRuleFiles(rules, options)];
  const places = new Map(files.map(({ path }, index) => [path, index]));
  return { files: files.length, resources: resources.length, ruleFiles: rules.length, problems: problems.toSorted(byPlace(places)) };
}

function unreadableText(file: { readonly path: string; readonly unreadable: string }): CheckedText {
  return { problems: [{ path: file.path, line: 0, column: 0, field: "", message: `cannot read: ${file.unreadable}` }], resources: [] };
}

function byPlace(places: ReadonlyMap<string, number>): (left: CheckProblem, right: CheckProblem) => number {
  const order = ({ path }: CheckProblem): number => places.get(path) ?? places.size;
  return (left, right) => order(left) - order(right) || left.line - right.line || left.column - right.column;
}
