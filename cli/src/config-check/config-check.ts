// Checks the rule files of one directory. The lines it prints are those of envoyproxy/ratelimit's config_check_cmd, so that scripts around it go on
// working; the place in the file is added where it is known.
import { isUtf8 } from "node:buffer";
import { createReadStream } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";

import type { ProgramContext } from "@weir/common/lifecycle/program";
import { findSetProblems } from "@weir/proto/rate-limit-config/validate";
import { parseRuleFile } from "@weir/ratelimit/config/files/rule-file";
import type { RuleFileResult } from "@weir/ratelimit/config/files/rule-file";

import { readBounded } from "../check/read-bounded.ts";
import type { InputStream } from "../check/read-bounded.ts";
import { parseConfigCheckFlags } from "./flags.ts";

const EXIT_OK = 0;
const EXIT_FAILURE = 1;
const EXIT_USAGE = 2;

/** Most bytes that are read of one file: more than the parser takes, which counts characters and refuses a file that has too many. */
const FILE_MAX_BYTES = 16 * 1024 * 1024;

/** Errors of the file system in the words of the original. */
const REASONS: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EISDIR: "is a directory",
  ENOENT: "no such file or directory",
  ENOTDIR: "not a directory",
};

/** A rule file that could be read and parsed. */
type ReadRules = Extract<RuleFileResult, { readonly ok: true }>;

/** Runs the check on the program's command line; gives the exit code. */
export async function runConfigCheck(context: Pick<ProgramContext, "args" | "stdout" | "stderr">): Promise<number> {
  const flags = parseConfigCheckFlags(context.args);
  if (!flags.ok) {
    context.stderr(`weir-config-check: ${flags.message}; weir-config-check --help tells more\n`);
    return EXIT_USAGE;
  }
  const print = (line: string): void => {
    context.stdout(`${line}\n`);
  };
  print("checking rate limit configs...");
  print(`loading config directory: ${flags.directory}`);
  const problem = await findFirstProblem(flags, print);
  print(problem ?? "all rate limit configs ok");
  return problem === undefined ? EXIT_OK : EXIT_FAILURE;
}

async function findFirstProblem(
  options: { readonly directory: string; readonly mergeDomains: boolean },
  print: (line: string) => void,
): Promise<string | undefined> {
  let names: readonly string[];
  try {
    names = (await readdir(options.directory)).toSorted();
  } catch (error) {
    return `error opening directory ${options.directory}: open ${options.directory}: ${reasonOf(error)}`;
  }
  const files: ReadRules[] = [];
  for (const name of names) {
    const path = join(options.directory, name);
    print(`opening config file: ${path}`);
    const file = await readRules(path);
    if (typeof file === "string") return file;
    files.push(file);
  }
  return firstRuleProblem(files, options);
}

/** The rules of a file, or the line that says why there are none. */
async function readRules(path: string): Promise<ReadRules | string> {
  let bytes: Buffer | undefined;
  try {
    bytes = await readBounded(createReadStream(path) as InputStream, FILE_MAX_BYTES);
  } catch (error) {
    return `error reading file ${path}: read ${path}: ${reasonOf(error)}`;
  }
  if (bytes === undefined) return `error reading file ${path}: it is larger than the ${FILE_MAX_BYTES} bytes that are read`;
  // In the words of the service, which refuses such a file too.
  if (!isUtf8(bytes)) return loadingError(`${path}: error loading config file: yaml: invalid UTF-8`, undefined);
  const file = parseRuleFile(path, bytes.toString("utf8"));
  return file.ok
    ? file
    : loadingError(file.error.message, file.line === undefined ? undefined : { line: file.line, column: file.column ?? 1 });
}

function firstRuleProblem(files: readonly ReadRules[], options: { readonly mergeDomains: boolean }): string | undefined {
  const models = files.map(({ model }) => model);
  const [first] = findSetProblems(models, options);
  const file = first === undefined ? undefined : files[first.config];
  if (first === undefined || file === undefined) return undefined;
  return loadingError(`${file.model.name}: ${first.message}`, file.positionOf(first.path));
}

function loadingError(message: string, at: { readonly line: number; readonly column: number } | undefined): string {
  return `error loading rate limit configs: ${message}${at === undefined ? "" : ` (line ${at.line}, column ${at.column})`}`;
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return REASONS[code ?? ""] ?? message;
}
