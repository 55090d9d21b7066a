// YAML and JSON text as kubectl reads it: values that JSON can carry, with the place of each in the
// text. It knows nothing of custom resources.
import { LineCounter, parseAllDocuments } from "yaml";
import type { Document } from "yaml";

import { excerpt } from "./excerpt.ts";
import { DEPTH_MAX, findTooMuch } from "./yaml-limits.ts";
import { readValue } from "./yaml-values.ts";
import type { PlainValue } from "./yaml-values.ts";

/**
 * Largest text that is read, in bytes: what a ConfigMap can hold, by which such files come into a
 * pod; an API server stores no object much larger. Parsing takes one to three seconds for each MiB,
 * up to seven when the text is made for it, and nothing else happens in the meantime.
 */
export const TEXT_MAX_BYTES = 1024 * 1024;

/** Most problems that are told of one document; who has more will not read them all. */
const PROBLEMS_MAX = 100;

/** What YAML does not let stand in a text unescaped; kubectl refuses it too. */
// eslint-disable-next-line no-control-regex -- Control characters are what is looked for.
const CONTROL_CHARACTER = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u0084\u0086-\u009f\ufffe\uffff]/;

/**
 * What begins a text whose first content is a directive, up to that. kubectl parts the directive
 * from its document and refuses it; after `...` it passes over it.
 */
const BEFORE_DIRECTIVE = /^\ufeff?(?:[ \t]*(?:#[^\n]*)?\n|[ \t]*\r\n)*(?=%)/;

/** A text that kubectl reads as JSON. */
const JSON_BEGINNING = /^\s*\{/;

/** A place in a text; line and column count from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** What is wrong in a document, and where. */
export interface YamlProblem extends Position {
  readonly message: string;
}

/** One document of a text. */
export interface YamlDocument {
  /** Where its content begins. */
  readonly start: Position;
  /** undefined when the text could not be understood; null for an empty document. */
  readonly value: PlainValue | undefined;
  readonly problems: readonly YamlProblem[];
  /**
   * The place of a value, or of its key. What is not there is found at the innermost thing around
   * it that is.
   */
  locate(path: readonly (string | number)[], what: "key" | "value"): Position;
}

/**
 * Reads every document of a text, empty ones included. A text that is too large gives one document
 * with that problem. Directives are read in kubeconfig files, which kubectl does not part into
 * documents.
 */
export function readYamlDocuments(
  text: string,
  { directives = "refuse" }: { directives?: "refuse" | "read" } = {},
): readonly YamlDocument[] {
  const sizeBytes = Buffer.byteLength(text);
  if (sizeBytes > TEXT_MAX_BYTES) {
    return [
      failedDocument({
        line: 1,
        column: 1,
        message: `the text has ${sizeBytes} bytes, at most ${TEXT_MAX_BYTES} are read`,
      }),
    ];
  }
  const control = CONTROL_CHARACTER.exec(text);
  if (control !== null)
    return [
      failedDocument({
        ...placeIn(text, control.index),
        message: "not valid YAML: control characters are not allowed",
      }),
    ];
  const lines = new LineCounter();
  const tooMuch = findTooMuch(text);
  if (tooMuch !== undefined) return [failedDocument({ ...placeIn(text, tooMuch.offset), message: tooMuch.message })];
  const documents: readonly Document[] = parseAllDocuments(text, {
    version: "1.1", // Only for %YAML and tags: with the failsafe schema every scalar is text, and its meaning is decided here.
    schema: "failsafe",
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: "silent",
    lineCounter: lines,
  });
  const isJson = JSON_BEGINNING.test(text);
  const read = documents.map((document) =>
    convertDocument(document, { lines, escapesOf: (from, to) => (isJson ? "" : text.slice(from, to)) }),
  );
  const directive = directives === "refuse" ? BEFORE_DIRECTIVE.exec(text) : null;
  const [first, ...others] = read;
  if (directive === null || first === undefined || first.problems.length > 0) return read;
  const problem = {
    ...placeIn(text, directive[0].length),
    message: "a directive (%) is not read, and kubectl refuses it: leave the line out",
  };
  return [{ ...first, problems: [problem] }, ...others];
}

/** What is needed of a text besides its documents. */
interface Source {
  readonly lines: LineCounter;
  readonly escapesOf: (from: number, to: number) => string;
}

function failedDocument(problem: YamlProblem): YamlDocument {
  const start = { line: problem.line, column: problem.column };
  return { start, value: undefined, problems: [problem], locate: () => start };
}

function convertDocument(document: Document, { lines, escapesOf }: Source): YamlDocument {
  const start = position(lines, document.contents?.range?.[0] ?? document.range?.[0] ?? 0);
  // The parser goes on behind a mistake and stumbles over each token that follows: only the first
  // error is one of the text.
  const [error] = document.errors.toSorted((left, right) => left.pos[0] - right.pos[0]);
  if (error !== undefined) {
    const problems = [{ ...position(lines, error.pos[0]), message: syntaxMessage(error.message) }];
    return { start, value: undefined, problems, locate: () => start };
  }
  const problems: YamlProblem[] = [];
  const read = readValue(document.contents, {
    report: (offset, message) => void problems.push({ ...position(lines, offset), message: excerpt(message) }),
    lineOf: (offset) => position(lines, offset).line,
    escapesOf,
  });
  return {
    start,
    value: read.value,
    problems: firstOf(problems),
    locate: (path, what) => position(lines, read.offsetOf(path, what)),
  };
}

function firstOf(problems: readonly YamlProblem[]): readonly YamlProblem[] {
  const next = problems[PROBLEMS_MAX];
  if (next === undefined) return problems;
  return [
    ...problems.slice(0, PROBLEMS_MAX),
    { ...next, message: `${problems.length - PROBLEMS_MAX} more problems from here on` },
  ];
}

function placeIn(text: string, offset: number): Position {
  const before = text.slice(0, offset);
  return { line: before.split("\n").length, column: offset - before.lastIndexOf("\n") };
}

function position(lines: LineCounter, offset: number): Position {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(line, 1), column: Math.max(col, 1) };
}

function syntaxMessage(message: string): string {
  // The parser overflows the stack on thousands of opening brackets and says so in the words of the
  // engine.
  return message.startsWith("Maximum call stack size exceeded")
    ? `lists and mappings nest deeper than ${DEPTH_MAX} levels`
    : excerpt(`not valid YAML: ${message.charAt(0).toLowerCase()}${message.slice(1)}`);
}
