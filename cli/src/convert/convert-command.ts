// The command `weir convert`: reads files, converts each to the other form, and prints or writes the results.
import { open, rm } from "node:fs/promises";
import { join } from "node:path";

import { makeFolder } from "@weir/common/files/make-folder";
import type { ProgramContext } from "@weir/common/lifecycle/program";
import { TEXT_MAX_BYTES } from "@weir/limits/go-yaml/json-documents";

import { fileProblem } from "../check/check-text.ts";
import { type InputFile, type InputStream, readInputFiles } from "../check/input-files.ts";
import { formatProblem, formatWarning } from "../check/report.ts";
import { EXIT_OK, EXIT_PROBLEMS, EXIT_USAGE } from "../command-line/exit-codes.ts";
import { parseConvertArguments } from "./arguments.ts";
import { convertText } from "./convert-text.ts";
import type { Conversion, ConversionOptions, Converted } from "./convert-text.ts";

/** Runs the command with the arguments behind its name; returns the exit code. */
export async function runConvert(
  context: Pick<ProgramContext, "stdout" | "stderr">,
  args: readonly string[],
  stdin: () => InputStream = () => process.stdin,
): Promise<number> {
  const parsed = parseConvertArguments(args);
  if (typeof parsed === "string") return fail(context, parsed, EXIT_USAGE);
  const files = await readInputFiles(parsed.paths, { stdin, sizeMaxBytes: TEXT_MAX_BYTES });
  if (parsed.name !== undefined && files.length > 1)
    return fail(context, "--name is for one rule file, but several are named", EXIT_USAGE);
  const conversions = files.map((file) => convertFile(file, parsed));
  const problems = conversions.flatMap((conversion) => conversion.problems);
  const warnings = conversions.flatMap((conversion) => conversion.warnings);
  context.stderr(problems.map((problem) => `${formatProblem(problem)}\n`).join(""));
  if (problems.length > 0) return EXIT_PROBLEMS;
  const results = conversions.flatMap((conversion) => conversion.results);
  if ((parsed.name ?? parsed.namespace) !== undefined && results.some(({ form }) => form === "rules")) {
    return fail(context, "--name and --namespace are for manifests: a rule file has neither", EXIT_USAGE);
  }
  context.stderr(warnings.map((warning) => `${formatWarning(warning)}\n`).join(""));
  if (parsed.outputFolder !== undefined) return await writeAll(context, results, parsed.outputFolder);
  const ruleFiles = results.filter(({ form }) => form === "rules").length;
  if (ruleFiles > 0 && results.length > 1) {
    return fail(
      context,
      `there are ${results.length} results, and a rule file holds one domain: name a directory with --output-dir`,
      EXIT_USAGE,
    );
  }
  context.stdout(results.map(({ text }) => text).join("---\n"));
  return EXIT_OK;
}

function convertFile(file: InputFile, options: ConversionOptions): Conversion {
  if ("text" in file) return convertText(file.path, file.text, options);
  return { results: [], warnings: [], problems: [fileProblem(file.path, `cannot read: ${file.unreadable}`)] };
}

/** Writes every result, or none: what was written is taken back when a later one cannot be. */
async function writeAll(
  context: Pick<ProgramContext, "stdout" | "stderr">,
  results: readonly Converted[],
  folder: string,
): Promise<number> {
  const names = results.map(({ name }) => name);
  const twin = names.find((name, index) => names.indexOf(name) !== index);
  if (twin !== undefined)
    return fail(context, `two results have the name ${twin}.yaml: convert them one by one`, EXIT_PROBLEMS);
  const written: string[] = [];
  try {
    makeFolder(folder);
    for (const { name, text } of results) {
      const path = join(folder, `${name}.yaml`);
      const file = await open(path, "wx");
      written.push(path); // Before its first byte: a full disk leaves half a file.
      try {
        await file.writeFile(text);
      } finally {
        await file.close();
      }
    }
    context.stdout(written.map((path) => `${path}\n`).join(""));
    return EXIT_OK;
  } catch (error) {
    for (const path of written) await rm(path, { force: true });
    const { code, path = folder, message } = error as NodeJS.ErrnoException;
    return fail(
      context,
      code === "EEXIST" ? `${path} already exists and is not changed` : `cannot write: ${message}`,
      EXIT_PROBLEMS,
    );
  }
}

function fail(context: Pick<ProgramContext, "stderr">, message: string, code: number): number {
  context.stderr(`weir convert: ${message}${code === EXIT_USAGE ? "; run 'weir convert --help' for usage" : ""}\n`);
  return code;
}
