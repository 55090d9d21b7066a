// Reads the files of a command that works with rules, and prints what is wrong with them.
import type { ProgramContext } from "@weir/common/lifecycle/program";
import { TEXT_MAX_BYTES } from "@weir/limits/go-yaml/json-documents";

import { EXIT_PROBLEMS } from "../command-line/exit-codes.ts";
import { type CheckedFiles, checkFiles } from "./check-files.ts";
import type { CheckOptions } from "./check-text.ts";
import { type InputStream, readInputFiles } from "./input-files.ts";
import { formatProblem, formatWarning } from "./report.ts";

/** The rules of files; the exit code when they have problems. `command` is the one that needs them. */
export async function readRules(
  context: Pick<ProgramContext, "stderr">,
  command: string,
  paths: readonly string[],
  options: CheckOptions & { readonly mergeDomains: boolean; readonly stdin: () => InputStream },
): Promise<CheckedFiles | number> {
  const files = await readInputFiles(paths, { stdin: options.stdin, sizeMaxBytes: TEXT_MAX_BYTES });
  const checked = checkFiles(files, options);
  if (checked.report.problems.length > 0) {
    const lines = checked.report.problems.map((problem) => `${formatProblem(problem)}\n`);
    context.stderr(`${lines.join("")}${command}: the files have problems, so that no pod would take them\n`);
    return EXIT_PROBLEMS;
  }
  context.stderr(checked.report.warnings.map((warning) => `${formatWarning(warning)}\n`).join(""));
  return checked;
}
