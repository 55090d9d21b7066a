// The command `weir check`: reads the named files, checks them and prints what is wrong.
import { describeError, ServiceError } from "@weir/common/errors/service-error";
import type { ProgramContext } from "@weir/common/lifecycle/program";
import { TEXT_MAX_BYTES } from "@weir/limits/go-yaml/json-documents";

import { EXIT_OK, EXIT_PROBLEMS, EXIT_USAGE } from "../command-line/exit-codes.ts";
import { printable } from "../command-line/printable.ts";
import { type CheckArguments, parseCheckArguments } from "./arguments.ts";
import { type CheckedFiles, checkFiles } from "./check-files.ts";
import type { CheckedRules } from "./check-text.ts";
import { type LiveRules, liveRulesOf } from "./counts-anew.ts";
import { type InputFile, type InputStream, readInputFiles } from "./input-files.ts";
import { formatJson, formatProblem, formatText, formatWarning } from "./report.ts";

type CheckContext = Pick<ProgramContext, "stdout" | "stderr" | "signal" | "env">;

/** Runs the command with the arguments behind its name; returns the exit code. */
export async function runCheck(
  context: CheckContext,
  args: readonly string[],
  stdin: () => InputStream = () => process.stdin,
): Promise<number> {
  const parsed = parseCheckArguments(args);
  if (typeof parsed === "string") {
    context.stderr(`weir check: ${parsed}; run 'weir check --help' for usage\n`);
    return EXIT_USAGE;
  }
  const files = await readInputFiles(parsed.paths, { stdin, sizeMaxBytes: TEXT_MAX_BYTES });
  const live = await readLive(context, parsed, { files, stdin });
  if (typeof live === "string") {
    context.stderr(`weir check: cannot compare with the live rules: ${live}\n`);
    return EXIT_USAGE;
  }
  const { report } = checkFiles(files, { ...parsed, live });
  context.stdout(parsed.format === "json" ? formatJson(report) : formatText(report));
  // Not for a kind that is misspelt: that is a problem with the flag, too.
  const wouldSkip = (): number => checkFiles(files, { ...parsed, skipOtherKinds: true }).report.skipped;
  if (report.problems.length > 0 && report.skipped === 0 && wouldSkip() > 0)
    context.stderr("weir check: --skip-other-kinds skips manifests of other kinds\n");
  return report.problems.length === 0 ? EXIT_OK : EXIT_PROBLEMS;
}

/** The live rules, none without --against; a text is the problem. */
async function readLive(
  context: CheckContext,
  { against, mergeDomains, skipOtherKinds }: CheckArguments,
  { files, stdin }: { readonly files: readonly InputFile[]; readonly stdin: () => InputStream },
): Promise<LiveRules | string> {
  if (against === undefined) return liveRulesOf([]);
  const options = { mergeDomains, skipOtherKinds };
  if (against.kind === "files") {
    const checked = checkFiles(await readInputFiles(against.paths, { stdin, sizeMaxBytes: TEXT_MAX_BYTES }), options);
    const [problem] = checked.report.problems;
    return problem === undefined ? liveRulesOf(rulesOf(checked)) : formatProblem(problem);
  }
  // Loaded when it is used: it brings the client of the API server.
  const { readClusterRules } = await import("./cluster-rules.ts");
  try {
    const { resources, warnings } = await readClusterRules(against, context);
    const domains = new Set(rulesOf(checkFiles(files, options)).map(({ model }) => model.domain));
    const concerning = warnings.filter(({ domain }) => domains.has(domain));
    context.stderr(concerning.map((warning) => `${formatWarning(warning)}\n`).join(""));
    return liveRulesOf(resources.map(({ rules }) => rules));
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return printable(describeError(error));
  }
}

function rulesOf({ resources, rules }: CheckedFiles): readonly CheckedRules[] {
  return [...resources.map((resource) => resource.rules), ...rules];
}
