// The command `weir explain`: reads rules, follows a request through them and prints how a rate limit
// pod would limit it.
import type { ProgramContext } from "@weir/common/lifecycle/program";
import { explainRequest } from "@weir/limits/explain/explain";
import { TEXT_MAX_BYTES } from "@weir/limits/go-yaml/json-documents";

import { checkFiles } from "../check/check-files.ts";
import { readInputFiles } from "../check/input-files.ts";
import type { InputStream } from "../check/input-files.ts";
import { formatProblem, formatWarning } from "../check/report.ts";
import { EXIT_OK, EXIT_PROBLEMS, EXIT_USAGE } from "../command-line/exit-codes.ts";
import { parseExplainArguments } from "./arguments.ts";
import { findDomain } from "./configured-domain.ts";
import { explainJson } from "./explain-json.ts";
import { explainText } from "./explain-text.ts";

/** Runs the command with the arguments after its name; returns the exit code. */
export async function runExplain(
  context: Pick<ProgramContext, "stdout" | "stderr">,
  args: readonly string[],
  from: { readonly stdin: () => InputStream; readonly nowMs: () => number } = {
    stdin: () => process.stdin,
    nowMs: Date.now,
  },
): Promise<number> {
  const parsed = parseExplainArguments(args, from.nowMs());
  if (typeof parsed === "string") return wrong(context, parsed);
  const files = await readInputFiles(parsed.paths, { stdin: from.stdin, sizeMaxBytes: TEXT_MAX_BYTES });
  const checked = checkFiles(files, parsed);
  if (checked.report.problems.length > 0) {
    const lines = checked.report.problems.map((problem) => `${formatProblem(problem)}\n`);
    context.stderr(`${lines.join("")}weir explain: the files have problems, so that no pod would take them\n`);
    return EXIT_PROBLEMS;
  }
  context.stderr(checked.report.warnings.map((warning) => `${formatWarning(warning)}\n`).join(""));
  const domain = findDomain(checked, parsed);
  if (typeof domain === "string") return wrong(context, domain);
  const explained = explainRequest(domain.domain, domain.rules, parsed);
  context.stdout(parsed.format === "json" ? explainJson(domain, explained) : explainText(domain, explained));
  return EXIT_OK;
}

function wrong(context: Pick<ProgramContext, "stderr">, message: string): number {
  context.stderr(`weir explain: ${message}; run 'weir explain --help' for usage\n`);
  return EXIT_USAGE;
}
