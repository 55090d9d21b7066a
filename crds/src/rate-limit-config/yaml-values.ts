// The values of a parsed YAML document as kubectl reads them, with the offset of each in the text.
// Parsing the text is not done here.
import { isAlias, isScalar, isSeq, Scalar } from "yaml";
import type { Alias, Node, Pair, YAMLMap, YAMLSeq } from "yaml";

import { DEPTH_MAX } from "./yaml-limits.ts";
import { resolvePlainScalar } from "./yaml-scalar.ts";
import type { ScalarValue } from "./yaml-scalar.ts";

/**
 * Most values that aliases may add to one document. Rule sets that share limits need hundreds, an
 * alias bomb billions.
 */
const ALIASED_NODES_MAX = 100_000;

const HALF = /[\ud800-\udfff]/;

/** Behind an even number of backslashes, which stand for themselves. */
const ESCAPED_HALF = /(?<!\\)(?:\\\\)*\\u[dD][89a-fA-F]/;

const TAG_PREFIX = "tag:yaml.org,2002:";

/** A value that JSON can carry. */
export type PlainValue = ScalarValue | readonly PlainValue[] | { readonly [key: string]: PlainValue };

/** A value and the places of its parts. */
export interface ReadValue {
  /** undefined when the value could not be understood; why is reported. */
  readonly value: PlainValue | undefined;
  /**
   * Offset of a part or of its key; of what is not there, that of the innermost thing around it
   * that is.
   */
  offsetOf(path: readonly (string | number)[], what: "key" | "value"): number;
}

/** What happens to the problems of a value. */
export interface ProblemSink {
  /** Takes one problem and the offset in the text at which it is. */
  report(offset: number, message: string): void;
  /** The line of an offset, for messages that name a second place. */
  lineOf(offset: number): number;
  /**
   * What the text has from one offset to another, where escapes of halves of a character are to be
   * found; empty where a pair of them stands for one, as in JSON.
   */
  escapesOf(from: number, to: number): string;
}

/**
 * Reads the value of a document. Problems do not end it, unless what follows could not be trusted.
 */
export function readValue(contents: Node | null, sink: ProblemSink): ReadValue {
  const conversion: Conversion = {
    sink,
    anchors: new Map(),
    places: new WeakMap(),
    converted: new Map(),
    depth: 0,
    nodes: 0,
    aliasedNodes: 0,
  };
  const value = convertRoot(contents, conversion);
  return {
    value,
    offsetOf: (path, what) => offsetOf(value, path, { places: conversion.places, start: startOf(contents), what }),
  };
}

/** Where the parts of a list or mapping stand, by index or key, as offsets into the text. */
type Places = ReadonlyMap<string | number, Place>;

interface Place {
  readonly key: number;
  readonly value: number;
}

/** The state of one conversion. */
interface Conversion {
  readonly sink: ProblemSink;
  /** The node that each anchor names so far; a later one of the same name replaces it. */
  readonly anchors: Map<string, Node>;
  readonly places: WeakMap<object, Places>;
  /** Anchored nodes that were converted, with their size in values. */
  readonly converted: Map<Node, { readonly value: PlainValue; readonly nodes: number }>;
  depth: number;
  /** Values so far, what aliases stand for included. */
  nodes: number;
  aliasedNodes: number;
}

/** Ends a conversion that cannot go on; its problem is already reported. */
class ConversionAborted extends Error {}

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
  if (isScalar(node)) {
    // Once, and not for each alias: a long text is looked through.
    reportHalves(node, conversion);
    return convertScalar(node, conversion);
  }
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
  if (node.tag?.startsWith(TAG_PREFIX) === true)
    return convertTagged(node, node.tag.slice(TAG_PREFIX.length), conversion);
  if (node.tag !== undefined || !isPlainScalar(node)) return text;
  const value = resolvePlainScalar(text);
  return typeof value === "number" ? finite(value, node, conversion) : value;
}

/**
 * Halves of a character, which kubectl refuses in YAML also as a pair, and alone replaces in JSON
 * without a word.
 */
function reportHalves(node: Scalar, { sink }: Conversion): void {
  const text = String(node.value);
  if (!HALF.test(text)) return;
  if (!text.isWellFormed()) {
    sink.report(startOf(node), "an escape from \\ud800 to \\udfff must be one of a pair");
  } else if (node.type === Scalar.QUOTE_DOUBLE && ESCAPED_HALF.test(sink.escapesOf(...rangeOf(node)))) {
    sink.report(
      startOf(node),
      "escapes from \\ud800 to \\udfff are for JSON, write the character itself or \\U and eight digits",
    );
  }
}

/** A scalar whose meaning its tag decides, e.g. `!!str 5`. */
function convertTagged(node: Scalar, tag: string, conversion: Conversion): ScalarValue {
  const text = String(node.value);
  if (tag === "str" || tag === "timestamp") return text;
  if (tag === "binary") return Buffer.from(text, "base64").toString();
  const value = resolvePlainScalar(text);
  const type = value === null ? "null" : typeof value;
  const fits = {
    null: type === "null",
    bool: type === "boolean",
    int: Number.isInteger(value),
    float: type === "number",
  }[tag];
  if (fits === undefined) return text;
  if (!fits) conversion.sink.report(startOf(node), `cannot read '${text}' as !!${tag}`);
  return typeof value === "number" ? finite(value, node, conversion) : value;
}

function finite(value: number, node: Scalar, conversion: Conversion): number {
  if (!Number.isFinite(value))
    conversion.sink.report(startOf(node), `${String(node.value)} is not a number that JSON can carry`);
  return value;
}

function convertList(node: YAMLSeq, conversion: Conversion): PlainValue {
  const items = node.items as readonly Node[];
  const value = items.map((item) => convert(item, conversion));
  const parts = items.map((item, index) => [index, { key: startOf(item), value: startOf(item) }] as const);
  conversion.places.set(value, new Map(parts));
  return value;
}

function convertMapping(node: YAMLMap, conversion: Conversion): PlainValue {
  const entries = new Map<string, PlainValue>();
  const written = new Map<string, number>();
  const parts = new Map<string, Place>();
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
    if (first !== undefined)
      conversion.sink.report(
        at.key,
        `duplicate key ${JSON.stringify(key)}, first on line ${conversion.sink.lineOf(first)}`,
      );
    written.set(key, at.key);
    entries.set(key, pair.value === null ? null : convert(pair.value, conversion));
    parts.set(key, at);
  }
  // Not by assignment: a key may be called "__proto__".
  const value = Object.fromEntries(entries);
  conversion.places.set(value, parts);
  return value;
}

/** Text of a key. Numbers and booleans become their JSON text, as in kubectl. */
function keyText(node: Node, conversion: Conversion): string {
  const value = isScalar(node) || isAlias(node) ? convert(node, conversion) : null;
  if (value === null || typeof value === "object")
    abort(conversion, node, "a key must be a text, a number or a boolean");
  return String(value);
}

/**
 * Merges the mappings of a `<<` key. As in kubectl, what is merged replaces what stands before it;
 * in a list of mappings the earlier wins.
 */
function merge(
  node: Node | null,
  conversion: Conversion,
  set: (key: string, value: PlainValue, place: Place) => void,
): void {
  const value = node === null ? null : convert(node, conversion);
  const sources = Array.isArray(value) ? [...(value as readonly PlainValue[])].reverse() : [value];
  for (const source of sources) {
    if (source === null || typeof source !== "object" || Array.isArray(source)) {
      conversion.sink.report(startOf(node), "a merge (<<) needs a mapping, or a list of mappings");
      continue;
    }
    const places = conversion.places.get(source);
    for (const [key, inner] of Object.entries(source)) {
      const fallback = { key: startOf(node), value: startOf(node) };
      set(key, inner, places?.get(key) ?? fallback);
    }
  }
}

function abort(conversion: Conversion, node: Node, message: string): never {
  conversion.sink.report(startOf(node), message);
  throw new ConversionAborted(message);
}

function isPlainScalar(node: unknown): node is Scalar {
  return isScalar(node) && node.type === Scalar.PLAIN;
}

function rangeOf(node: Node): readonly [from: number, to: number] {
  const [from = 0, to = 0] = node.range ?? [];
  return [from, to];
}

function startOf(node: Node | null): number {
  return node?.range?.[0] ?? 0;
}

function offsetOf(
  root: PlainValue | undefined,
  path: readonly (string | number)[],
  from: { readonly places: WeakMap<object, Places>; readonly start: number; readonly what: "key" | "value" },
): number {
  let offset = from.start;
  let value: unknown = root;
  for (const [index, step] of path.entries()) {
    const place = typeof value === "object" && value !== null ? from.places.get(value)?.get(step) : undefined;
    if (place === undefined) return offset;
    const isLast = index === path.length - 1;
    // Of what is not found inside a mapping, the mapping's own key says more than the first key
    // inside.
    offset = from.what === "key" || !isLast ? place.key : place.value;
    value = (value as Record<string | number, unknown>)[step];
  }
  return offset;
}
