// Finds the fenced code blocks of a Markdown page, with the comments before each that say how it is tested.

/** How a block is tested, as a comment before it says. */
export type Directive =
  /** `run: FIXTURE`, or `run: FIXTURE, until URL answers` for a command that keeps running. */
  | { readonly kind: "run"; readonly fixture: string; readonly untilUrl: string | undefined }
  /** `run by: PATH, "TITLE"`, one test of a file of the repository. */
  | { readonly kind: "run-by"; readonly test: string; readonly title: string | undefined }
  /** `not run: REASON`. */
  | { readonly kind: "not-run"; readonly reason: string }
  /** `before: COMMAND`, run before the block without being shown. */
  | { readonly kind: "before"; readonly command: string }
  /** `file: NAME`: the block is that file for later blocks of the page. */
  | { readonly kind: "file"; readonly name: string };

/** A fenced code block. */
export interface CodeBlock {
  readonly page: string;
  /** Line of its opening fence, from 1. */
  readonly line: number;
  /** The word after the opening fence; empty without one. */
  readonly language: string;
  readonly text: string;
  readonly directives: readonly Directive[];
}

/** Languages of blocks with commands. A block without a language has commands too. */
const COMMAND_LANGUAGES = new Set(["", "bash", "console", "sh", "shell"]);

/** Languages of blocks with manifests or configuration. */
const DATA_LANGUAGES = new Set(["json", "yaml"]);

const FENCE = /^(?<indent>\s*)(?<ticks>`{3,}|~{3,})(?<language>[^`]*)$/;
/** For all blocks of one language that have no comment of their own: a test that takes each of them from the page. */
const PAGE_RUN_BY = /^<!-- all (?<language>[a-z]+) blocks run by: (?<test>.+) -->$/m;
const COMMENT = /^\s*<!-- (?<text>.*) -->$/;

/** Returns true if a reader would paste the block into a shell. */
export function hasCommands({ language }: CodeBlock): boolean {
  return COMMAND_LANGUAGES.has(language);
}

/** Returns true if the block is YAML or JSON. */
export function hasData({ language }: CodeBlock): boolean {
  return DATA_LANGUAGES.has(language);
}

/** All blocks of `text`, which is the content of `page`, in their order. */
export function findCodeBlocks(page: string, text: string): readonly CodeBlock[] {
  const lines = text.split("\n");
  const blocks: CodeBlock[] = [];
  const { language: pageLanguage, test: pageTest = "" } = PAGE_RUN_BY.exec(text)?.groups ?? {};
  for (let index = 0; index < lines.length; index++) {
    const { indent = "", ticks, language = "" } = FENCE.exec(lines[index]!)?.groups ?? {};
    if (ticks === undefined) continue;
    const end = lines.findIndex((line, at) => at > index && line.trim() === ticks);
    if (end === -1) throw new Error(`${page}:${index + 1}: the code block has no end`);
    const own = commentsBefore(lines, index).flatMap((comment) => parseDirective(comment) ?? []);
    blocks.push({
      page,
      line: index + 1,
      language: language.trim(),
      text: lines
        .slice(index + 1, end)
        .map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line.trimStart()))
        .join("\n"),
      directives: pageLanguage !== language.trim() || own.some(saysHow) ? own : [...own, parseRunBy(pageTest)],
    });
    index = end;
  }
  return blocks;
}

/** The texts of the blocks of one language in `text`, which is of `page`. */
export function textsOf(language: string, page: string, text: string): readonly string[] {
  return findCodeBlocks(page, text).flatMap((block) => (block.language === language ? [block.text] : []));
}

/** Returns true if a directive says how its block is tested. */
export function saysHow({ kind }: Directive): boolean {
  return kind !== "before" && kind !== "file";
}

/** Texts of the comments directly before the line `index`, one a line; empty lines do not separate them. */
function commentsBefore(lines: readonly string[], index: number): readonly string[] {
  const comments: string[] = [];
  for (let at = index - 1; at >= 0; at--) {
    const text = COMMENT.exec(lines[at]!)?.groups?.["text"];
    if (text !== undefined) comments.unshift(text);
    else if (lines[at]!.trim() !== "") break;
  }
  return comments;
}

/** A comment as a directive; undefined for any other comment. */
function parseDirective(comment: string): Directive | undefined {
  const run = /^run: (?<fixture>[a-z-]+)(?:, until (?<url>\S+) answers)?$/.exec(comment)?.groups;
  if (run !== undefined) return { kind: "run", fixture: run["fixture"]!, untilUrl: run["url"] };
  const { keyword, value = "" } = /^(?<keyword>run by|not run|before|file): (?<value>.+)$/.exec(comment)?.groups ?? {};
  if (keyword === "run by") return parseRunBy(value);
  if (keyword === "not run") return { kind: "not-run", reason: value };
  if (keyword === "before") return { kind: "before", command: value };
  return keyword === "file" ? { kind: "file", name: value } : undefined;
}

function parseRunBy(value: string): Directive {
  const { test = value, title } = /^(?<test>\S+), "(?<title>.+)"$/.exec(value)?.groups ?? {};
  return { kind: "run-by", test, title };
}
