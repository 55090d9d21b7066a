// The first document of a YAML text as a tree with positions, read as Go's yaml.v2 reads it: YAML
// 1.1 scalars, the last of equal keys wins, anchors and merge keys are expanded, what follows the
// first document is ignored. The syntax itself is the `yaml` package's; rules are rule-file.ts.
import {
  Composer,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  Parser,
  Scalar,
  type YAMLMap,
} from "yaml";

import { formatScalar, resolveScalar, type ScalarMeaning } from "./yaml-scalar.ts";

/**
 * Deepest nesting of maps and lists. Rule files nest as deep as descriptors have entries, twice.
 */
const DEPTH_MAX = 256;

/** Most nodes after aliases are expanded: a file of 4 MiB without aliases has fewer. */
const NODES_MAX = 4_000_000;

/** Lexical units that are read in one step; a line of a rule file has about seven. */
const LEXEMES_PER_STEP = 2000;

/**
 * The parser is recursive, so its own limit is the stack: thousands of levels, where DEPTH_MAX is
 * not yet looked at.
 */
const TOO_DEEP = "exceeded the maximum depth of nesting";

/** A place in the text, both counted from 1. */
export interface YamlPosition {
  readonly line: number;
  readonly column: number;
}

/**
 * A map, a list or a scalar. Aliases share the node of their anchor, so the tree is never larger
 * than the text.
 */
export type YamlNode = YamlMap | YamlList | YamlScalar;

/** Keys with their values, each key once, in the order of first appearance. */
export interface YamlMap {
  readonly kind: "map";
  readonly entries: readonly YamlEntry[];
  readonly at: YamlPosition;
}

/** One pair of a map. */
export interface YamlEntry {
  readonly key: YamlScalar;
  readonly value: YamlNode;
}

/** A list. */
export interface YamlList {
  readonly kind: "list";
  readonly elements: readonly YamlNode[];
  readonly at: YamlPosition;
}

/** A scalar: its meaning, and its text as written (without quotes, with escapes resolved). */
export interface YamlScalar {
  readonly kind: "scalar";
  readonly meaning: ScalarMeaning;
  readonly text: string;
  readonly at: YamlPosition;
}

/** Why a text cannot be read; `message` begins with `yaml: `. */
export class YamlError extends Error {
  override readonly name = "YamlError";
  readonly at: YamlPosition;

  constructor(reason: string, at: YamlPosition) {
    super(`yaml: line ${at.line}: ${reason}`);
    this.at = at;
  }
}

/**
 * The first document; undefined when the text holds none. Throws YamlError. It comes in steps of
 * some milliseconds, nearly all of them: a megabyte takes half a second, in which a server has
 * other things to do, too.
 */
export function* readYamlInSteps(text: string): Generator<void, YamlNode | undefined> {
  const lines = new LineCounter();
  refuseControlCharacters(text);
  // The parser misses an open quote that is the very last character.
  const whole = text.endsWith("\n") ? text : `${text}\n`;
  try {
    const document = yield* parseInSteps(whole, lines);
    yield;
    return document === undefined ? undefined : treeOf(document, whole, lines);
  } catch (error) {
    if (error instanceof RangeError) throw new YamlError(TOO_DEEP, { line: 1, column: 1 });
    throw error;
  }
}

/** What the package's own parsers do with a text, up to the end of the first document. */
function* parseInSteps(text: string, lines: LineCounter): Generator<void, Document.Parsed | undefined> {
  const composer = new Composer({
    schema: "failsafe",
    version: "1.1",
    uniqueKeys: false,
    merge: false,
    lineCounter: lines,
  });
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  let lexemes = 0;
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) for (const document of composer.next(token)) return document;
    lexemes += 1;
    if (lexemes % LEXEMES_PER_STEP === 0) yield;
  }
  yield;
  for (const token of parser.end()) for (const document of composer.next(token)) return document;
  for (const document of composer.end(true, text.length)) return document;
  return undefined;
}

/** A value as Go prints it with %v, shortened: how error texts quote what they refuse. */
export function formatNode(node: YamlNode): string {
  switch (node.kind) {
    case "scalar":
      return formatScalar(node.meaning);
    case "list":
      return `[${node.elements.map((element) => formatLeaf(element)).join(" ")}]`;
    case "map":
      return `map[${node.entries.map((entry) => `${formatScalar(entry.key.meaning)}:${formatLeaf(entry.value)}`).join(" ")}]`;
  }
}

function formatLeaf(node: YamlNode): string {
  return node.kind === "scalar" ? formatScalar(node.meaning) : "…";
}

function refuseControlCharacters(text: string): void {
  // A byte order mark may stand at the start only.
  const bad = /[^\t\n\r\u0020-\u007e\u0085\u00a0-\ud7ff\ue000-\ufefe\uff00-\ufffd\u{10000}-\u{10ffff}]/u.exec(
    text.startsWith("\ufeff") ? ` ${text.slice(1)}` : text,
  );
  if (bad === null) return;
  const before = text.slice(0, bad.index);
  const line = before.split("\n").length;
  throw new YamlError("control characters are not allowed", { line, column: bad.index - before.lastIndexOf("\n") });
}

function treeOf(document: Document.Parsed, text: string, lines: LineCounter): YamlNode | undefined {
  const [error] = [...document.errors].sort((a, b) => a.pos[0] - b.pos[0]);
  if (error !== undefined) {
    if (error.code === "MISSING_CHAR" && error.message.startsWith("Missing closing")) {
      throw new YamlError(
        `found unexpected end of stream (${error.message.toLowerCase()})`,
        positionOf(lines, text.length),
      );
    }
    if (/call stack|stack overflow/i.test(error.message))
      throw new YamlError(TOO_DEEP, positionOf(lines, error.pos[0]));
    const [firstLine = ""] = error.message.split("\n");
    throw new YamlError(firstLine.replace(/ at line \d+, column \d+:?$/, ""), positionOf(lines, error.pos[0]));
  }
  if (document.contents === null) return undefined;
  return new TreeBuilder(lines).build(document.contents);
}

function positionOf(lines: LineCounter, offset: number): YamlPosition {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(1, line), column: Math.max(1, col) };
}

/** Builds the tree bottom up and keeps account of its size with all aliases expanded. */
class TreeBuilder {
  readonly #lines: LineCounter;
  /** What each anchor names at this point of the text; undefined while that node is being built. */
  readonly #anchors = new Map<string, YamlNode | undefined>();
  /** Nodes below and including each map and list, aliases expanded. */
  readonly #sizes = new Map<YamlNode, number>();
  #depth = 0;

  constructor(lines: LineCounter) {
    this.#lines = lines;
  }

  build(node: Node): YamlNode {
    if (isAlias(node)) return this.#resolveAlias(node.source, this.#at(node));
    const anchor = isScalar(node) || isMap(node) || isSeq(node) ? node.anchor : undefined;
    if (anchor !== undefined) this.#anchors.set(anchor, undefined);
    if (this.#depth >= DEPTH_MAX) throw new YamlError(`exceeded the maximum depth of ${DEPTH_MAX}`, this.#at(node));
    this.#depth += 1;
    const built = this.#buildKind(node);
    this.#depth -= 1;
    if (anchor !== undefined) this.#anchors.set(anchor, built);
    return built;
  }

  #buildKind(node: Node): YamlNode {
    if (isMap(node)) return this.#buildMap(node);
    const at = this.#at(node);
    if (isSeq(node)) {
      const elements = node.items.map((item) => this.#buildOrNull(item, at));
      return this.#sized({ kind: "list", elements, at }, elements);
    }
    return isScalar(node) ? scalarOf(node, at) : nullAt(at);
  }

  #buildMap(node: YAMLMap): YamlMap {
    const at = this.#at(node);
    const entries = new Map<string, YamlEntry>();
    for (const pair of node.items) {
      const key = this.#buildOrNull(pair.key, at);
      const value = this.#buildOrNull(pair.value, key.at);
      // As in yaml.v2, a merge takes place where it stands: it overrides what is written before it.
      if (isMergeKey(pair.key)) for (const entry of mergedEntries(value)) entries.set(identityOf(entry.key), entry);
      else if (key.kind === "scalar") entries.set(identityOf(key), { key, value });
      else throw new YamlError(`invalid map key: ${formatNode(key)}`, key.at);
    }
    const map: YamlMap = { kind: "map", entries: [...entries.values()], at };
    return this.#sized(
      map,
      map.entries.map((entry) => entry.value),
    );
  }

  #buildOrNull(node: unknown, at: YamlPosition): YamlNode {
    // An absent value, as in `key:`, is null in the parser's tree.
    return isScalar(node) || isMap(node) || isSeq(node) || isAlias(node) ? this.build(node) : nullAt(at);
  }

  #resolveAlias(name: string, at: YamlPosition): YamlNode {
    const node = this.#anchors.get(name);
    if (node !== undefined) return node;
    throw new YamlError(
      this.#anchors.has(name) ? `anchor '${name}' value contains itself` : `unknown anchor '${name}' referenced`,
      at,
    );
  }

  #sized<Built extends YamlMap | YamlList>(built: Built, children: readonly YamlNode[]): Built {
    const size = children.reduce((sum, child) => sum + (this.#sizes.get(child) ?? 1), 1);
    if (size > NODES_MAX) throw new YamlError("document contains excessive aliasing", built.at);
    this.#sizes.set(built, size);
    return built;
  }

  #at(node: Node): YamlPosition {
    return positionOf(this.#lines, node.range?.[0] ?? 0);
  }
}

function scalarOf(node: Scalar, at: YamlPosition): YamlScalar {
  const text = node.source ?? "";
  const isPlain = node.type === undefined || node.type === Scalar.PLAIN;
  const meaning = resolveScalar(text, { isPlain, tag: node.tag });
  if (typeof meaning === "string") throw new YamlError(meaning, at);
  return { kind: "scalar", meaning, text, at };
}

function nullAt(at: YamlPosition): YamlScalar {
  return { kind: "scalar", meaning: { type: "null" }, text: "", at };
}

function isMergeKey(key: unknown): boolean {
  return isScalar(key) && key.source === "<<" && (key.type === Scalar.PLAIN || key.tag === "tag:yaml.org,2002:merge");
}

/**
 * The entries that a merge brings, in an order in which the ones that win come last: in a list of
 * maps the first wins.
 */
function mergedEntries(value: YamlNode): readonly YamlEntry[] {
  if (value.kind === "map") return value.entries;
  if (value.kind === "list") {
    return value.elements.toReversed().flatMap((element) => {
      if (element.kind === "map") return element.entries;
      throw new YamlError("map merge requires map or sequence of maps as the value", element.at);
    });
  }
  throw new YamlError("map merge requires map or sequence of maps as the value", value.at);
}

/** Keys are equal when their meanings are: `1` and `0x1` are one key, `1` and `"1"` are two. */
function identityOf(key: YamlScalar): string {
  return `${key.meaning.type}:${formatScalar(key.meaning)}`;
}
