// The command `weir check`: reads the named files, checks them and prints what is wrong.
import type { ProgramContext } from "@weir/common/lifecycle/program";
import { TEXT_MAX_BYTES } from "@weir/limits/go-yaml/json-documents";

import { EXIT_OK, EXIT_PROBLEMS, EXIT_USAGE } from "../command-line/exit-codes.ts";
import { parseCheckArguments } from "./arguments.ts";
import { checkFiles } from "./check-files.ts";
import { type InputStream, readInputFiles } from "./input-files.ts";
import { formatJson, formatText } from "./report.ts";

/** Runs the command with the arguments behind its name; returns the exit code. */
export async function runCheck(
  context: Pick<ProgramContext, "stdout" | "stderr">,
  args: readonly string[],
  stdin: () => InputStream = () => process.stdin,
): Promise<number> {
  const parsed = parseCheckArguments(args);
  if (typeof parsed === "string") {
    context.stderr(`weir check: ${parsed}; run 'weir check --help' for usage\n`);
    return EXIT_USAGE;
  }
  const files = await readInputFiles(parsed.paths, { stdin, sizeMaxBytes: TEXT_MAX_BYTES });
  const { report } = checkFiles(files, parsed);
  context.stdout(parsed.format === "json" ? formatJson(report) : formatText(report));
  // Not for a kind that is misspelt: that is a problem with the flag, too.
  const wouldSkip = (): number => checkFiles(files, { ...parsed, skipOtherKinds: true }).report.skipped;
  if (report.problems.length > 0 && report.skipped === 0 && wouldSkip() > 0)
    context.stderr("weir check: --skip-other-kinds skips manifests of other kinds\n");
  return report.problems.length === 0 ? EXIT_OK : EXIT_PROBLEMS;
}
