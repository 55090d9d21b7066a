// YAML and JSON text as kubectl reads it: values that JSON can carry, with the place of each in the text. It knows nothing of custom resources.
import { isAlias, isScalar, isSeq, LineCounter, parseAllDocuments, Scalar } from "yaml";
import type { Alias, Document, Node, Pair, YAMLMap, YAMLSeq } from "yaml";

import { resolvePlainScalar } from "./yaml-scalar.ts";
import type { ScalarValue } from "./yaml-scalar.ts";

/** Largest text that is read, in bytes: more than one snapshot for the data plane can hold. */
export const TEXT_MAX_BYTES = 4 * 1024 * 1024;

/** Most values that aliases may add to one document. Rule sets that share limits need hundreds, an alias bomb billions. */
const ALIASED_NODES_MAX = 100_000;

/** Deepest nesting of lists and mappings. */
const DEPTH_MAX = 100;

const TAG_PREFIX = "tag:yaml.org,2002:";

/** A value that JSON can carry. */
export type PlainValue = ScalarValue | readonly PlainValue[] | { readonly [key: string]: PlainValue };

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
   * The place of a value, or of its key. What is not there is found at the nearest thing around it that is.
   */
  locate(path: readonly (string | number)[], what: "key" | "value"): Position;
}

/** Reads every document of a text, empty ones included. A text that is too large gives one document with that problem. */
export function readYamlDocuments(text: string): readonly YamlDocument[] {
  const sizeBytes = Buffer.byteLength(text);
  if (sizeBytes > TEXT_MAX_BYTES) {
    return [failedDocument(`the text has ${sizeBytes} bytes, at most ${TEXT_MAX_BYTES} are read`)];
  }
  const lines = new LineCounter();
  const documents: readonly Document[] = parseAllDocuments(text, {
    version: "1.1", // Only for %YAML and tags: with the failsafe schema every scalar is text, and its meaning is decided here.
    schema: "failsafe",
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: "silent",
    lineCounter: lines,
  });
  return documents.map((document) => convertDocument(document, lines));
}

/** Where the parts of a converted list or mapping stand, as offsets into the text. */
interface Places {
  readonly start: number;
  readonly parts: ReadonlyMap<string | number, { readonly key: number; readonly value: number }>;
}

/** The state of one document's conversion. */
interface Conversion {
  /** The node that each anchor names so far; a later one of the same name replaces it. */
  readonly anchors: Map<string, Node>;
  readonly places: WeakMap<object, Places>;
  /** Anchored nodes that were converted, with their size in values. */
  readonly converted: Map<Node, { readonly value: PlainValue; readonly nodes: number }>;
  readonly report: (offset: number, message: string) => void;
  readonly lineOf: (offset: number) => number;
  depth: number;
  /** Values so far, what aliases stand for included. */
  nodes: number;
  aliasedNodes: number;
}

/** Ends a conversion that cannot go on; its problem is already reported. */
class ConversionAborted extends Error {}

function failedDocument(message: string): YamlDocument {
  const start = { line: 1, column: 1 };
  return { start, value: undefined, problems: [{ ...start, message }], locate: () => start };
}

function convertDocument(document: Document, lines: LineCounter): YamlDocument {
  const problems: YamlProblem[] = document.errors.map((error) => ({
    ...position(lines, error.pos[0]),
    message: syntaxMessage(error.message),
  }));
  const conversion: Conversion = {
    anchors: new Map(),
    places: new WeakMap(),
    converted: new Map(),
    report: (offset, message) => void problems.push({ ...position(lines, offset), message }),
    lineOf: (offset) => position(lines, offset).line,
    depth: 0,
    nodes: 0,
    aliasedNodes: 0,
  };
  const value = problems.length > 0 ? undefined : convertRoot(document.contents, conversion);
  const start = document.contents?.range?.[0] ?? document.range?.[0] ?? 0;
  return {
    start: position(lines, start),
    value,
    problems,
    locate: (path, what) => position(lines, offsetOf(value, path, { conversion, start, what })),
  };
}

function convertRoot(contents: Node | null, conversion: Conversion): PlainValue | undefined {
  try {
    return contents === null ? null : convert(contents, conversion);
  } catch (error) {
    if (error instanceof ConversionAborted) return undefined;
    throw error;
  }
}

function convert(node: Node, conversion: Conversion): PlainValue {
  conversion.nodes += 1;
  if (isAlias(node)) return convertAlias(node, conversion);
  if (node.anchor !== undefined) conversion.anchors.set(node.anchor, node);
  if (isScalar(node)) return convertScalar(node, conversion);
  const nodesBefore = conversion.nodes;
  conversion.depth += 1;
  if (conversion.depth > DEPTH_MAX) abort(conversion, node, `lists and mappings nest deeper than ${DEPTH_MAX} levels`);
  const value = isSeq(node) ? convertList(node, conversion) : convertMapping(node, conversion);
  conversion.depth -= 1;
  if (node.anchor !== undefined) conversion.converted.set(node, { value, nodes: conversion.nodes - nodesBefore + 1 });
  return value;
}

function convertAlias(alias: Alias, conversion: Conversion): PlainValue {
  const target = conversion.anchors.get(alias.source);
  if (target === undefined) abort(conversion, alias, `unknown anchor '${alias.source}' referenced`);
  if (isScalar(target)) return convertScalar(target, conversion);
  const converted = conversion.converted.get(target);
  if (converted === undefined) abort(conversion, alias, `anchor '${alias.source}' value contains itself`);
  conversion.nodes += converted.nodes;
  conversion.aliasedNodes += converted.nodes;
  if (conversion.aliasedNodes > ALIASED_NODES_MAX) {
    abort(conversion, alias, `aliases stand for more than ${ALIASED_NODES_MAX} values, which is the most that is read`);
  }
  return converted.value;
}

function convertScalar(node: Scalar, conversion: Conversion): ScalarValue {
  // The failsafe schema makes every scalar a string.
  const text = String(node.value);
  if (node.tag?.startsWith(TAG_PREFIX) === true) return convertTagged(node, node.tag.slice(TAG_PREFIX.length), conversion);
  if (node.tag !== undefined || !isPlainScalar(node)) return text;
  const value = resolvePlainScalar(text);
  return typeof value === "number" ? finite(value, node, conversion) : value;
}

/** A scalar whose meaning its tag decides, e.g. `!!str 5`. */
function convertTagged(node: Scalar, tag: string, conversion: Conversion): ScalarValue {
  const text = String(node.value);
  if (tag === "str" || tag === "timestamp") return text;
  if (tag === "binary") return Buffer.from(text, "base64").toString();
  const value = resolvePlainScalar(text);
  const type = value === null ? "null" : typeof value;
  const fits = { null: type === "null", bool: type === "boolean", int: Number.isInteger(value), float: type === "number" }[tag];
  if (fits === undefined) return text;
  if (!fits) conversion.report(startOf(node), `cannot read '${text}' as !!${tag}`);
  return typeof value === "number" ? finite(value, node, conversion) : value;
}

function finite(value: number, node: Scalar, conversion: Conversion): number {
  if (!Number.isFinite(value)) conversion.report(startOf(node), `${String(node.value)} is not a number that JSON can carry`);
  return value;
}

function convertList(node: YAMLSeq, conversion: Conversion): PlainValue {
  const items = node.items as readonly Node[];
  const value = items.map((item) => convert(item, conversion));
  const parts = items.map((item, index) => [index, { key: startOf(item), value: startOf(item) }] as const);
  conversion.places.set(value, { start: startOf(node), parts: new Map(parts) });
  return value;
}

function convertMapping(node: YAMLMap, conversion: Conversion): PlainValue {
  const entries = new Map<string, PlainValue>();
  const written = new Map<string, number>();
  const parts = new Map<string, { key: number; value: number }>();
  for (const pair of node.items as readonly Pair<Node, Node | null>[]) {
    const at = { key: startOf(pair.key), value: startOf(pair.value ?? pair.key) };
    if (isPlainScalar(pair.key) && pair.key.value === "<<") {
      merge(pair.value, conversion, (key, value, place) => {
        entries.set(key, value);
        parts.set(key, place);
      });
      continue;
    }
    const key = keyText(pair.key, conversion);
    const first = written.get(key);
    if (first !== undefined) conversion.report(at.key, `duplicate key ${JSON.stringify(key)}, first on line ${conversion.lineOf(first)}`);
    written.set(key, at.key);
    entries.set(key, pair.value === null ? null : convert(pair.value, conversion));
    parts.set(key, at);
  }
  // Not by assignment: a key may be called "__proto__".
  const value = Object.fromEntries(entries);
  conversion.places.set(value, { start: startOf(node), parts });
  return value;
}

/** Text of a key. Numbers and booleans become their JSON text, as in kubectl. */
function keyText(node: Node, conversion: Conversion): string {
  const value = isScalar(node) || isAlias(node) ? convert(node, conversion) : null;
  if (value === null || typeof value === "object") abort(conversion, node, "a key must be a text, a number or a boolean");
  return String(value);
}

/**
 * Merges the mappings of a `<<` key. As in kubectl, what is merged replaces what stands before it; in a list of mappings the earlier wins.
 */
function merge(
  node: Node | null,
  conversion: Conversion,
  set: (key: string, value: PlainValue, place: { key: number; value: number }) => void,
): void {
  const value = node === null ? null : convert(node, conversion);
  const sources = Array.isArray(value) ? [...(value as readonly PlainValue[])].reverse() : [value];
  for (const source of sources) {
    if (source === null || typeof source !== "object" || Array.isArray(source)) {
      conversion.report(startOf(node), "a merge (<<) needs a mapping, or a list of mappings");
      continue;
    }
    const places = conversion.places.get(source);
    for (const [key, inner] of Object.entries(source)) {
      const fallback = { key: startOf(node), value: startOf(node) };
      set(key, inner, places?.parts.get(key) ?? fallback);
    }
  }
}

function abort(conversion: Conversion, node: Node, message: string): never {
  conversion.report(startOf(node), message);
  throw new ConversionAborted(message);
}

function isPlainScalar(node: unknown): node is Scalar {
  return isScalar(node) && node.type === Scalar.PLAIN;
}

function startOf(node: Node | null): number {
  return node?.range?.[0] ?? 0;
}

function position(lines: LineCounter, offset: number): Position {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(line, 1), column: Math.max(col, 1) };
}

function offsetOf(
  root: PlainValue | undefined,
  path: readonly (string | number)[],
  from: { readonly conversion: Conversion; readonly start: number; readonly what: "key" | "value" },
): number {
  let offset = from.start;
  let value: unknown = root;
  for (const [index, step] of path.entries()) {
    const part = placesOf(value, from.conversion)?.parts.get(step);
    if (part === undefined) return offset;
    const isLast = index === path.length - 1;
    // Inside a mapping that was not found further down, its key says more than the first of its own keys.
    offset = from.what === "key" || !isLast ? part.key : part.value;
    value = (value as Record<string | number, unknown>)[step];
  }
  return offset;
}

function placesOf(value: unknown, conversion: Conversion): Places | undefined {
  return typeof value === "object" && value !== null ? conversion.places.get(value) : undefined;
}

function syntaxMessage(message: string): string {
  // The parser overflows the stack on thousands of opening brackets and says so in the words of the engine.
  return message.startsWith("Maximum call stack size exceeded")
    ? `lists and mappings nest deeper than ${DEPTH_MAX} levels`
    : `not valid YAML: ${message.charAt(0).toLowerCase()}${message.slice(1)}`;
}
