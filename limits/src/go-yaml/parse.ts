// Parses YAML into trees with the syntax of the `yaml` package and the meaning of Go's yaml.v2.
import { Composer, type Document, Lexer, LineCounter, Parser } from "yaml";

import { NodeBuilder, TOO_DEEP, DEPTH_MAX } from "./node-builder.ts";
import { excerpt, type SourceLocation, type YamlNode, type YamlProblem } from "./node.ts";

/** Most documents of one text. */
const DOCUMENTS_MAX = 10_000;

/** Lexical units that are read in one step; a line of a rule file has about seven. */
const LEXEMES_PER_STEP = 500;

/** Characters that YAML does not allow in a text unescaped. */
// eslint-disable-next-line no-control-regex -- Control characters are what is looked for.
const CONTROL_CHARACTER = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u0084\u0086-\u009f\ufffe\uffff]/;

/** How a text is parsed. */
export interface ParseOptions {
  /** `first`: what follows the first document is not even parsed, as in yaml.v2. */
  readonly documents: "first" | "all";
  /** Most values that aliases may add to one document. */
  readonly aliasedNodesMax: number;
  /** True if the text is JSON: its escapes differ from those of YAML. */
  readonly isJson: boolean;
}

export interface ParsedDocument {
  /** The place where its content begins. */
  readonly start: SourceLocation;
  /** undefined when the document is empty or could not be understood, and then it has a problem. */
  readonly root: YamlNode | undefined;
  /** In the order in which they were found. */
  readonly problems: readonly YamlProblem[];
  /** True if the problem is one of the syntax; the others are about what the text says, or its size. */
  readonly isSyntaxBroken: boolean;
}

/**
 * Parses a text. It yields at least every few milliseconds: a megabyte takes half a second, in which a
 * server has other things to do, too. Never throws.
 */
export function* parseYamlInSteps(text: string, options: ParseOptions): Generator<void, readonly ParsedDocument[]> {
  const control = CONTROL_CHARACTER.exec(text);
  if (control !== null) {
    const problem = { ...locationIn(text, control.index), message: "control characters are not allowed" };
    return [{ ...brokenDocument(problem), isSyntaxBroken: true }];
  }
  // The parser misses an open quote that is the very last character.
  const whole = text.endsWith("\n") ? text : `${text}\n`;
  const lines = new LineCounter();
  const parsed: ParsedDocument[] = [];
  try {
    for (const document of compose(whole, lines)) {
      yield;
      if (document === undefined) continue;
      if (parsed.length === DOCUMENTS_MAX)
        throw new TextRefused(document.range[0], `the text holds more than ${DOCUMENTS_MAX} documents`);
      parsed.push(readDocument(document, { text: whole, lines, options }));
      if (options.documents === "first") break;
    }
    return parsed;
  } catch (error) {
    if (error instanceof TextRefused)
      return [brokenDocument({ ...locationIn(text, error.offset), message: error.message })];
    throw error;
  }
}

/** Line and column of an offset in a text. */
function locationIn(text: string, offset: number): SourceLocation {
  const before = text.slice(0, offset);
  return { line: before.split("\n").length, column: offset - before.lastIndexOf("\n") };
}

/** A text that is not parsed to its end. */
class TextRefused extends Error {
  readonly offset: number;

  constructor(offset: number, message: string) {
    super(message);
    this.offset = offset;
  }
}

/** The documents of a text, and undefined where a step ends. */
function* compose(text: string, lines: LineCounter): Generator<Document.Parsed | undefined> {
  const composer = new Composer({
    schema: "failsafe", // Every scalar is text: its meaning is decided in scalar.ts.
    version: "1.1",
    uniqueKeys: false,
    merge: false,
    logLevel: "silent",
    lineCounter: lines,
  });
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  let lexemes = 0;
  for (const lexeme of new Lexer().lex(text)) {
    const { offset, stack } = parser;
    for (const token of parser.next(lexeme)) yield* composer.next(token);
    // The stack holds the document, and then every list and map that is open. Not left to the
    // composer, which takes minutes over thousands of them, or runs out of stack.
    const top = stack.at(-1);
    if (stack.length > DEPTH_MAX + 1 && top !== undefined && "items" in top) throw new TextRefused(offset, TOO_DEEP);
    lexemes += 1;
    if (lexemes % LEXEMES_PER_STEP === 0) yield;
  }
  for (const token of parser.end()) yield* composer.next(token);
  yield* composer.end();
}

function readDocument(
  document: Document.Parsed,
  { text, lines, options }: { readonly text: string; readonly lines: LineCounter; readonly options: ParseOptions },
): ParsedDocument {
  const locationOf = (offset: number): SourceLocation => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const start = locationOf(document.contents?.range[0] ?? document.range[0]);
  // The parser continues behind a mistake and reports each token that follows: only its first error
  // is one of the text. A tab that it reports first is the cause of those on the lines above it.
  const [reported] = document.errors;
  const error =
    reported?.code === "TAB_AS_INDENT"
      ? reported
      : document.errors.toSorted((left, right) => left.pos[0] - right.pos[0])[0];
  if (error !== undefined) {
    const problem = { ...locationOf(error.pos[0]), message: excerpt(syntaxMessage(error.code, error.message)) };
    return { ...brokenDocument(problem), start, isSyntaxBroken: true };
  }
  const problems: YamlProblem[] = [];
  const builder = new NodeBuilder({
    ...options,
    text,
    locationOf,
    report: (at, message) => void problems.push({ ...at, message: excerpt(message) }),
  });
  const root = document.contents === null ? undefined : builder.build(document.contents);
  return { start, root, problems, isSyntaxBroken: false };
}

function brokenDocument(problem: YamlProblem): ParsedDocument {
  const start = { line: problem.line, column: problem.column };
  return { start, root: undefined, problems: [problem], isSyntaxBroken: false };
}

/** The parser's message as yaml.v2 would begin it: an open quote is its "unexpected end of stream". */
function syntaxMessage(code: string, message: string): string {
  const plain = `${message.charAt(0).toLowerCase()}${message.slice(1)}`;
  const isOpenQuote = code === "MISSING_CHAR" && plain.startsWith("missing closing");
  return isOpenQuote ? `found unexpected end of stream (${plain})` : plain;
}
