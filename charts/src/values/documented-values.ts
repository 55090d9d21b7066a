// Reads values.yaml: the tree of values, and the comment of each, which begins with "-- " as in helm-docs.
import { isMap, isScalar, parseDocument, type Pair, type YAMLMap } from "yaml";

/** A value, or a group of values. */
export type DocumentedValue = ValueGroup | ValueLeaf;

/** A mapping without a comment: its keys are the chart's, and no other is allowed. */
export interface ValueGroup {
  readonly kind: "group";
  readonly values: ReadonlyMap<string, DocumentedValue>;
}

/** A value with a comment. A mapping with a comment is free: its keys are the user's. */
export interface ValueLeaf {
  readonly kind: "leaf";
  readonly description: string;
  readonly default: unknown;
}

/** Reads `text`. Throws for a value without a comment. */
export function readValues(text: string): ValueGroup {
  const document = parseDocument(text);
  if (!isMap(document.contents)) throw new Error("Cannot read the values: they are no mapping");
  return readGroup(document.contents, [], document.commentBefore ?? "");
}

/** Every leaf with its path, such as image.tag, in the order of the file. */
export function listLeaves(group: ValueGroup, prefix = ""): readonly { path: string; leaf: ValueLeaf }[] {
  return [...group.values].flatMap(([key, value]) =>
    value.kind === "leaf" ? [{ path: prefix + key, leaf: value }] : listLeaves(value, `${prefix}${key}.`),
  );
}

function readGroup(map: YAMLMap, path: readonly string[], before = ""): ValueGroup {
  const entries = map.items.map((pair, index): [string, DocumentedValue] => {
    const key = String(isScalar(pair.key) ? pair.key.value : pair.key);
    // The library gives the comment of the first key to the mapping.
    const first = index === 0 ? `${before}\n${map.commentBefore ?? ""}` : "";
    return [key, readValue(pair, [...path, key], `${first}\n${commentOf(pair)}`)];
  });
  return { kind: "group", values: new Map(entries) };
}

function readValue(pair: Pair, path: readonly string[], comment: string): DocumentedValue {
  const description = descriptionOf(comment);
  if (description !== undefined) {
    const value = pair.value as { toJSON: () => unknown } | null;
    return { kind: "leaf", description, default: value?.toJSON() };
  }
  if (isMap(pair.value) && pair.value.items.length > 0) return readGroup(pair.value, path);
  throw new Error(`Cannot describe the value ${path.join(".")}: it has no comment that begins with "# -- "`);
}

function commentOf(pair: Pair): string {
  return isScalar(pair.key) ? (pair.key.commentBefore ?? "") : "";
}

/** The text after the last "-- " at the beginning of a line. */
function descriptionOf(comment: string): string | undefined {
  const lines = comment.split("\n").map((line) => line.trim());
  const at = lines.findLastIndex((line) => line.startsWith("-- "));
  return at === -1 ? undefined : lines.slice(at).join(" ").slice(3).trim();
}
