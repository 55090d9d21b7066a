// Says why a code block of a page is not tested, and how to change that.
import { parseRateLimitConfigResource } from "@weir/crds/rate-limit-config/schema/schema";
import { parseRateLimitService } from "@weir/crds/rate-limit-service/schema/schema";
import { fieldPath } from "@weir/limits/model/field-path";
import { parseRuleFile } from "@weir/limits/rule-file/rule-file";
import { parseAllDocuments } from "yaml";
import { type CodeBlock, hasCommands, hasData, saysHow } from "@weir/harness/pages/code-blocks";

/** How the author of a page satisfies the gate. */
export const REMEDY =
  'Write <!-- run: FIXTURE --> or <!-- run by: TEST FILE, "TITLE" --> on the line before such a block, or ' +
  "<!-- not run: REASON -->; " +
  "docs/development.md#code-blocks-in-pages explains them";

/** The fixtures and test files of the repository that the gate knows. */
export interface KnownTests {
  /** Names of the fixtures that run blocks. */
  readonly fixtures: readonly string[];
  /** The text of a test file; undefined when it does not exist. */
  readonly textOf: (path: string) => string | undefined;
}

/** Why the block is not tested, with its file and line; undefined when it is, or says why it cannot be. */
export function problemOfBlock(block: CodeBlock, known: KnownTests): string | undefined {
  if (!hasCommands(block) && !hasData(block)) return undefined;
  const reason = problemOfDirectives(block, known) ?? problemOfData(block);
  return reason === undefined ? undefined : `${block.page}:${block.line}: ${reason}`;
}

function problemOfDirectives(block: CodeBlock, { fixtures, textOf }: KnownTests): string | undefined {
  const [directive, ...others] = block.directives.filter(saysHow);
  if (others.length > 0) return "has more than one of the comments run, run by, not run";
  switch (directive?.kind) {
    case undefined:
      if (hasData(block) && isOurs(block)) return undefined;
      return "is neither run by a test nor marked with the reason";
    case "run":
      if (!hasCommands(block)) return "cannot be run: it has no commands";
      if (fixtures.includes(directive.fixture)) return undefined;
      return `names the unknown fixture "${directive.fixture}", known are ${fixtures.join(", ")}`;
    case "run-by": {
      const { test: file, title } = directive;
      const test = textOf(file);
      if (test === undefined) return `names ${file}, which does not exist`;
      if (!test.includes(block.page)) return `names ${file}, which does not mention ${block.page}`;
      if (title === undefined) return `names no test of ${file}`;
      return test.includes(`"${title}"`) ? undefined : `names the test "${title}", which ${file} does not have`;
    }
    default:
      return undefined;
  }
}

/** Returns the errors of the first invalid resource or rule file in the block, if they are meant to be valid. */
function problemOfData(block: CodeBlock): string | undefined {
  if (!hasData(block) || !isMeantToBeValid(block)) return undefined;
  for (const value of valuesOf(block)) {
    if (kindOf(value) === "rule-file") {
      const file = parseRuleFile(block.page, block.text);
      if (!file.ok) return `the rule file is invalid: ${file.message}`;
    }
    if (kindOf(value) !== "resource") continue;
    const isService = (value as { kind?: unknown }).kind === "RateLimitService";
    const parsed = isService ? parseRateLimitService(value) : parseRateLimitConfigResource(value);
    if (!parsed.ok) {
      return parsed.problems.map(({ path, message }) => `${fieldPath(path)}: ${message}`).join("; ");
    }
  }
  return undefined;
}

/** Returns true if {@link problemOfData} validates each document. */
function isOurs(block: CodeBlock): boolean {
  return valuesOf(block).every((value) => kindOf(value) !== "other");
}

/** A block with an error on purpose says so. */
function isMeantToBeValid({ directives }: CodeBlock): boolean {
  return !directives.some((directive) => directive.kind === "not-run" && directive.reason.includes("invalid"));
}

function kindOf(value: unknown): "resource" | "rule-file" | "other" {
  if (typeof value !== "object" || value === null) return "other";
  if ("apiVersion" in value) return String(value.apiVersion).startsWith("ratelimit.weir.dev/") ? "resource" : "other";
  return "domain" in value && "descriptors" in value ? "rule-file" : "other";
}

function valuesOf({ text }: CodeBlock): readonly unknown[] {
  return parseAllDocuments(text).map((document) => document.toJS() as unknown);
}
