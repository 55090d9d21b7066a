// Checks the rule files and the custom resource manifests of one directory. The lines it prints are
// those of envoyproxy/ratelimit's config_check_cmd, so that scripts around it go on working; the
// place in the file is added where it is known, and a line for each file that holds manifests.
import { isUtf8 } from "node:buffer";
import { createReadStream } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";

import type { ProgramContext } from "@weir/common/lifecycle/program";
import { readYamlDocuments } from "@weir/crds/rate-limit-config/yaml-documents";
import { findSetProblems } from "@weir/limits/validate/validate";
import { parseRuleFile } from "@weir/ratelimit/config/files/rule-file";
import type { RuleFileResult } from "@weir/ratelimit/config/files/rule-file";

import { checkManifests, type CheckedResource, type CheckProblem, isManifestText } from "../check/check-text.ts";
import { checkResources } from "../check/check-together.ts";
import { readBounded } from "../check/read-bounded.ts";
import type { InputStream } from "../check/read-bounded.ts";
import { printable } from "../command-line/printable.ts";
import { parseConfigCheckFlags } from "./flags.ts";

const EXIT_OK = 0;
const EXIT_FAILURE = 1;
const EXIT_USAGE = 2;

/**
 * Most bytes that are read of one file: more than the parser takes, which counts characters and
 * refuses a file that has too many.
 */
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

/** What a file holds that could be read: rules, or manifests without a mistake. */
type ReadFile =
  | { readonly kind: "rules"; readonly rules: ReadRules }
  | { readonly kind: "manifests"; readonly resources: readonly CheckedResource[] };

/** Runs the check on the program's command line; gives the exit code. */
export async function runConfigCheck(context: Pick<ProgramContext, "args" | "stdout" | "stderr">): Promise<number> {
  const flags = parseConfigCheckFlags(context.args);
  if (!flags.ok) {
    context.stderr(`weir-config-check: ${flags.message}; weir-config-check --help tells more\n`);
    return EXIT_USAGE;
  }
  // Names and texts of files are what nobody has checked.
  const print = (line: string): void => {
    context.stdout(`${printable(line)}\n`);
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
  const rules: ReadRules[] = [];
  const resources: CheckedResource[] = [];
  for (const name of names) {
    const path = join(options.directory, name);
    print(`opening config file: ${path}`);
    const file = await readOne(path);
    if (typeof file === "string") return file;
    if (file.kind === "rules") rules.push(file.rules);
    else {
      resources.push(...file.resources);
      print(
        `  it holds custom resources: ${file.resources.map((resource) => `${resource.namespace}/${resource.name}`).join(", ")}`,
      );
    }
  }
  const [conflict] = checkResources(resources);
  return firstRuleProblem(rules, options) ?? (conflict && manifestError(conflict));
}

/** What is in a file, or the line that says what is wrong with it. */
async function readOne(path: string): Promise<ReadFile | string> {
  let bytes: Buffer | undefined;
  try {
    bytes = await readBounded(createReadStream(path) as InputStream, FILE_MAX_BYTES);
  } catch (error) {
    return `error reading file ${path}: read ${path}: ${reasonOf(error)}`;
  }
  if (bytes === undefined)
    return `error reading file ${path}: it is larger than the ${FILE_MAX_BYTES} bytes that are read`;
  // In the words of the service, which refuses such a file too.
  if (!isUtf8(bytes)) return loadingError(`${path}: error loading config file: yaml: invalid UTF-8`, undefined);
  const text = bytes.toString("utf8");
  const documents = readYamlDocuments(text);
  if (isManifestText(documents, text)) {
    const { problems, resources } = checkManifests(path, documents, { skipOtherKinds: false });
    return problems[0] === undefined ? { kind: "manifests", resources } : manifestError(problems[0]);
  }
  const rules = parseRuleFile(path, text);
  return rules.ok
    ? { kind: "rules", rules }
    : loadingError(
        rules.error.message,
        rules.line === undefined ? undefined : { line: rules.line, column: rules.column ?? 1 },
      );
}

function manifestError({ path, field, message, ...place }: CheckProblem): string {
  return loadingError(`${path}: ${field === "" ? "" : `${field}: `}${message}`, place);
}

function firstRuleProblem(
  files: readonly ReadRules[],
  options: { readonly mergeDomains: boolean },
): string | undefined {
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
