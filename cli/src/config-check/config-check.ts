// Checks the rule files and the manifests of one directory. Prints the lines of envoyproxy/ratelimit's config_check_cmd,
// so that scripts around it keep working, with the place in the file where it is known.
import { isUtf8 } from "node:buffer";
import { createReadStream } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";

import type { ProgramContext } from "@weir/common/lifecycle/program";
import { readYamlDocuments } from "@weir/limits/go-yaml/json-documents";
import type { SourceLocation } from "@weir/limits/go-yaml/node";
import { parseRuleFile, type RuleFileResult } from "@weir/limits/rule-file/rule-file";
import { findSetProblems } from "@weir/limits/validate/validate";

import { checkResources } from "../check/check-files.ts";
import { checkManifests, type CheckedResource, type CheckProblem, isManifestText } from "../check/check-text.ts";
import { type InputStream, readBounded } from "../check/input-files.ts";
import { EXIT_OK, EXIT_PROBLEMS, EXIT_USAGE } from "../command-line/exit-codes.ts";
import { printable } from "../command-line/printable.ts";
import { parseConfigCheckFlags } from "./flags.ts";

/**
 * Most bytes that are read of one file: more than the parser takes, which counts characters and
 * refuses a file that has too many.
 */
const FILE_MAX_BYTES = 16 * 1024 * 1024;

/** Errors of the file system in the words of envoyproxy/ratelimit. */
const REASONS: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EISDIR: "is a directory",
  ENOENT: "no such file or directory",
  ENOTDIR: "not a directory",
};

/** A rule file that could be parsed. */
type ReadRules = Extract<RuleFileResult, { readonly ok: true }>;

/** The line that ends the check: the first problem. */
class CheckFailure extends Error {}

/** Runs the check on the program's command line; returns the exit code. */
export async function runConfigCheck(context: Pick<ProgramContext, "args" | "stdout" | "stderr">): Promise<number> {
  const flags = parseConfigCheckFlags(context.args);
  if (typeof flags === "string") {
    context.stderr(`weir-config-check: ${flags}; run 'weir-config-check --help' for usage\n`);
    return EXIT_USAGE;
  }
  const print = (line: string): void => {
    context.stdout(`${printable(line)}\n`);
  };
  print("checking rate limit configs...");
  print(`loading config directory: ${flags.directory}`);
  try {
    await checkDirectory(flags, print);
    print("all rate limit configs ok");
    return EXIT_OK;
  } catch (error) {
    if (!(error instanceof CheckFailure)) throw error;
    print(error.message);
    return EXIT_PROBLEMS;
  }
}

/** Throws a CheckFailure at the first problem. */
async function checkDirectory(
  options: { readonly directory: string; readonly mergeDomains: boolean },
  print: (line: string) => void,
): Promise<void> {
  const { directory } = options;
  const names = await readdir(directory).catch((error: unknown) => {
    throw new CheckFailure(`error opening directory ${directory}: open ${directory}: ${reasonOf(error)}`);
  });
  const files: ReadRules[] = [];
  const resources: CheckedResource[] = [];
  for (const name of names.toSorted()) {
    const path = join(directory, name);
    print(`opening config file: ${path}`);
    const file = await checkFile(path);
    if ("model" in file) files.push(file);
    else {
      resources.push(...file);
      print(`  it holds custom resources: ${file.map((one) => `${one.namespace}/${one.name}`).join(", ")}`);
    }
  }
  const models = files.map(({ model }) => model);
  for (const { config, path, message } of findSetProblems(models, options))
    throw loadingError(`${models[config]?.name ?? ""}: ${message}`, files[config]?.locationOf(path));
  for (const conflict of checkResources(resources)) throw manifestError(conflict);
}

/** The rules or the custom resources of a file. */
async function checkFile(path: string): Promise<ReadRules | readonly CheckedResource[]> {
  const bytes = await readBounded(createReadStream(path) as InputStream, FILE_MAX_BYTES).catch((error: unknown) => {
    throw new CheckFailure(`error reading file ${path}: read ${path}: ${reasonOf(error)}`);
  });
  if (bytes === undefined)
    throw new CheckFailure(`error reading file ${path}: it is larger than the ${FILE_MAX_BYTES} bytes that are read`);
  // In the words of the service, which refuses such a file too.
  if (!isUtf8(bytes)) throw loadingError(`${path}: error loading config file: yaml: invalid UTF-8`);
  const text = bytes.toString("utf8");
  const documents = readYamlDocuments(text);
  if (isManifestText(documents, text)) {
    const { problems, resources } = checkManifests(path, documents, { skipOtherKinds: false, configsOnly: true });
    for (const problem of problems) throw manifestError(problem);
    return resources;
  }
  const rules = parseRuleFile(path, text);
  if (!rules.ok) throw loadingError(rules.message, rules.at);
  return rules;
}

function manifestError({ path, field, message, ...at }: CheckProblem): CheckFailure {
  return loadingError(`${path}: ${field === "" ? "" : `${field}: `}${message}`, at);
}

function loadingError(message: string, at?: SourceLocation): CheckFailure {
  const place = at === undefined ? "" : ` (line ${at.line}, column ${at.column})`;
  return new CheckFailure(`error loading rate limit configs: ${message}${place}`);
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return REASONS[code ?? ""] ?? message;
}
