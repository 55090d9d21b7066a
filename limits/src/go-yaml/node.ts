// A YAML document as a tree in which every value has its place in the text.
import type { FieldPath } from "../model/field-path.ts";
import { formatScalar, type ScalarMeaning } from "./scalar.ts";

/**
 * Longest message or name of a field, in characters: the longest path of keys that the schema
 * allows still fits.
 */
const LENGTH_MAX = 10_000;

/** Kept of a longer one: its beginning says what is wrong, its end what is allowed. */
const BEGINNING_LENGTH = 200;
const END_LENGTH = 100;

/** A place in a text; line and column count from 1. */
export interface SourceLocation {
  readonly line: number;
  readonly column: number;
}

/** A problem of a text, with its place. */
export interface YamlProblem extends SourceLocation {
  readonly message: string;
}

/**
 * A map, a list or a scalar. Aliases share the node of their anchor, so the tree is never larger
 * than the text.
 */
export type YamlNode = YamlMap | YamlList | YamlScalar;

/** A map, with everything that is written in it. */
export interface YamlMap {
  readonly kind: "map";
  /** In the order of the text; a key may occur more than once. */
  readonly parts: readonly (YamlEntry | YamlMerge)[];
  readonly at: SourceLocation;
}

/** A key and its value. */
export interface YamlEntry {
  readonly key: YamlScalar;
  readonly value: YamlNode;
}

/** A merge key (`<<`). */
export interface YamlMerge {
  /** In the order in which they take effect: in a list of maps the first one is the last here. */
  readonly merged: readonly YamlMap[];
}

export interface YamlList {
  readonly kind: "list";
  readonly elements: readonly YamlNode[];
  readonly at: SourceLocation;
}

/** A scalar: its meaning, and its text as written (without quotes, with escapes resolved). */
export interface YamlScalar {
  readonly kind: "scalar";
  readonly meaning: ScalarMeaning;
  readonly text: string;
  readonly at: SourceLocation;
}

/** The places that a path leads to. */
export interface FoundLocation {
  /** Of the key that leads to the value; of an element of a list, the element itself. */
  readonly key: SourceLocation;
  readonly value: SourceLocation;
  /** False when the path is longer than the tree: the places are those of its last existing value. */
  readonly isComplete: boolean;
}

/** Returns true if a node is a null. */
export function isNull(node: YamlNode): boolean {
  return node.kind === "scalar" && node.meaning.type === "null";
}

/** Every key with its value, repeated keys included, in the order in which yaml.v2 decodes them. */
export function* entriesOf(map: YamlMap): Generator<YamlEntry> {
  for (const part of map.parts) {
    if ("key" in part) yield part;
    else for (const source of part.merged) yield* entriesOf(source);
  }
}

/**
 * Every key once, with its last value: what yaml.v2 makes of a map without a type. Keys are equal
 * when their meanings are: `1` and `0x1` are one key, `1` and `"1"` are two.
 */
export function lastEntriesOf(map: YamlMap): readonly YamlEntry[] {
  const entries = new Map<string, YamlEntry>();
  for (const entry of entriesOf(map))
    entries.set(`${entry.key.meaning.type}:${formatScalar(entry.key.meaning)}`, entry);
  return [...entries.values()];
}

/** The name of a key in JSON; null has none. */
export function nameOf({ meaning }: YamlScalar): string | undefined {
  if (meaning.type === "null") return undefined;
  return String(meaning.type === "int" ? Number(meaning.value) : meaning.value);
}

/** Finds a value by its path; of a repeated key, the last one. */
export function locate(root: YamlNode, path: FieldPath): FoundLocation {
  let node = root;
  let found = { key: root.at, value: root.at };
  for (const step of path) {
    if (node.kind === "list" && typeof step === "number") {
      const element = node.elements[step];
      if (element === undefined) return { ...found, isComplete: false };
      node = element;
      found = { key: element.at, value: element.at };
    } else {
      const entry = node.kind === "map" ? lastEntriesOf(node).findLast(({ key }) => nameOf(key) === step) : undefined;
      if (entry === undefined) return { ...found, isComplete: false };
      node = entry.value;
      found = { key: entry.key.at, value: entry.value.at };
    }
  }
  return { ...found, isComplete: true };
}

/** A value as Go prints it with %v, shortened: the form in which error texts quote it. */
export function formatNode(node: YamlNode): string {
  const leaf = (inner: YamlNode): string => (inner.kind === "scalar" ? formatScalar(inner.meaning) : "…");
  switch (node.kind) {
    case "scalar":
      return leaf(node);
    case "list":
      return `[${node.elements.map(leaf).join(" ")}]`;
    case "map":
      return `map[${lastEntriesOf(node)
        .map(({ key, value }) => `${leaf(key)}:${leaf(value)}`)
        .join(" ")}]`;
  }
}

/** A message that quotes a text, without its middle when it is too long to be read. */
export function excerpt(text: string): string {
  return text.length <= LENGTH_MAX ? text : `${text.slice(0, BEGINNING_LENGTH)}…${text.slice(-END_LENGTH)}`;
}
