// Builds the tree of a parsed YAML document: resolves scalars, aliases and merge keys.
import { type Alias, isAlias, isMap, isScalar, isSeq, type Node, Scalar, type YAMLMap } from "yaml";

import { formatNode, type SourceLocation, type YamlMap, type YamlNode, type YamlScalar } from "./node.ts";
import { resolveScalar } from "./scalar.ts";

/** Deepest nesting of maps and lists. Rules nest two levels for each entry of a descriptor. */
export const DEPTH_MAX = 256;

/** The problem of a document that nests deeper. */
export const TOO_DEEP = `lists and mappings nest deeper than ${DEPTH_MAX} levels`;

const MERGE_TAG = "tag:yaml.org,2002:merge";
const MERGE_NEEDS_MAPS = "map merge requires map or sequence of maps as the value";

const SURROGATE = /[\ud800-\udfff]/;

/** Behind an even number of backslashes, which escape each other. */
const ESCAPED_SURROGATE = /(?<!\\)(?:\\\\)*\\u[dD][89a-fA-F]/;

export interface NodeBuilderDeps {
  /** The text of the document. */
  readonly text: string;
  /** True if it is JSON, in which two escapes may encode one character outside the basic plane. */
  readonly isJson: boolean;
  /** Most values that aliases may add to the document. */
  readonly aliasedNodesMax: number;
  /** Line and column of an offset in the text. */
  readonly locationOf: (offset: number) => SourceLocation;
  /** Takes a problem. The document cannot be used; the building continues, to find further ones. */
  readonly report: (at: SourceLocation, message: string) => void;
}

/** Ends the building of a document; its problem is already reported. */
class BuildAborted extends Error {}

/** Builds the tree of one document. */
export class NodeBuilder {
  readonly #deps: NodeBuilderDeps;
  /** The node that each anchor names at this point of the text; undefined while that node is being built. */
  readonly #anchors = new Map<string, YamlNode | undefined>();
  /** Values and levels of each anchored map and list, itself and everything behind aliases included. */
  readonly #sizes = new Map<YamlNode, { readonly nodes: number; readonly levels: number }>();
  #depth = 0;
  /** Largest depth since the innermost open anchor. */
  #deepest = 0;
  #nodes = 0;
  #aliasedNodes = 0;

  constructor(deps: NodeBuilderDeps) {
    this.#deps = deps;
  }

  /** The tree; undefined when a problem makes the rest of the document meaningless. */
  build(contents: Node): YamlNode | undefined {
    try {
      return this.#build(contents);
    } catch (error) {
      if (error instanceof BuildAborted) return undefined;
      throw error;
    }
  }

  #build(node: Node): YamlNode {
    this.#nodes += 1;
    if (isAlias(node)) return this.#resolveAlias(node);
    if (!isScalar(node) && !isMap(node) && !isSeq(node)) return nullAt(this.#at(node));
    const { anchor } = node;
    if (anchor !== undefined) this.#anchors.set(anchor, undefined);
    if (isScalar(node) || anchor === undefined) {
      const built = isScalar(node) ? this.#buildScalar(node) : this.#buildCollection(node);
      if (anchor !== undefined) this.#anchors.set(anchor, built);
      return built;
    }
    const [nodesBefore, deepestBefore] = [this.#nodes, this.#deepest];
    this.#deepest = this.#depth;
    const built = this.#buildCollection(node);
    this.#anchors.set(anchor, built);
    this.#sizes.set(built, { nodes: this.#nodes - nodesBefore + 1, levels: this.#deepest - this.#depth });
    this.#deepest = Math.max(this.#deepest, deepestBefore);
    return built;
  }

  #resolveAlias(alias: Alias): YamlNode {
    const { source } = alias;
    const node = this.#anchors.get(source);
    if (node === undefined) {
      const isOpen = this.#anchors.has(source);
      this.#abort(alias, isOpen ? `anchor '${source}' value contains itself` : `unknown anchor '${source}' referenced`);
    }
    const { nodes, levels } = this.#sizes.get(node) ?? { nodes: 0, levels: 0 };
    this.#nodes += nodes;
    this.#aliasedNodes += nodes;
    this.#deepest = Math.max(this.#deepest, this.#depth + levels);
    if (this.#depth + levels > DEPTH_MAX) this.#abort(alias, TOO_DEEP);
    if (this.#aliasedNodes > this.#deps.aliasedNodesMax) this.#abort(alias, "document contains excessive aliasing");
    return node;
  }

  #buildCollection(node: Exclude<Node, Alias | Scalar>): YamlNode {
    if (this.#depth >= DEPTH_MAX) this.#abort(node, TOO_DEEP);
    this.#depth += 1;
    this.#deepest = Math.max(this.#deepest, this.#depth);
    const at = this.#at(node);
    const built: YamlNode = isMap(node)
      ? { kind: "map", parts: this.#buildParts(node), at }
      : { kind: "list", elements: node.items.map((item) => this.#buildOrNull(item, at)), at };
    this.#depth -= 1;
    return built;
  }

  #buildParts(map: YAMLMap): YamlMap["parts"] {
    return map.items.map((pair) => {
      if (isMergeKey(pair.key)) return { merged: this.#mergedMaps(pair.value, this.#at(pair.key)) };
      const key = this.#buildOrNull(pair.key, this.#at(map));
      if (key.kind !== "scalar") this.#abort(pair.key as Node, `invalid map key: ${formatNode(key)}`);
      // Without a value, as in `key:`, it is null.
      return { key, value: this.#buildOrNull(pair.value, key.at) };
    });
  }

  #mergedMaps(value: unknown, keyAt: SourceLocation): readonly YamlMap[] {
    const built = this.#buildOrNull(value, keyAt);
    const sources = built.kind === "list" && !isAlias(value) ? built.elements.toReversed() : [built];
    return sources.filter((source) => {
      if (source.kind !== "map") this.#deps.report(source.at, MERGE_NEEDS_MAPS);
      return source.kind === "map";
    });
  }

  #buildOrNull(node: unknown, at: SourceLocation): YamlNode {
    return isScalar(node) || isMap(node) || isSeq(node) || isAlias(node) ? this.#build(node) : nullAt(at);
  }

  #buildScalar(node: Scalar): YamlScalar {
    const at = this.#at(node);
    const text = node.source ?? "";
    this.#checkSurrogates(node, text, at);
    const isPlain = node.type === undefined || node.type === Scalar.PLAIN;
    const meaning = resolveScalar(text, { isPlain, tag: node.tag });
    if (typeof meaning !== "string") return { kind: "scalar", meaning, text, at };
    this.#deps.report(at, meaning);
    return { kind: "scalar", meaning: { type: "str", value: text }, text, at };
  }

  /** Go refuses escapes of surrogates in YAML, also of a pair. */
  #checkSurrogates(node: Scalar, text: string, at: SourceLocation): void {
    if (!SURROGATE.test(text)) return;
    if (!text.isWellFormed()) {
      this.#deps.report(at, "an escape from \\ud800 to \\udfff must be one of a pair");
    } else if (node.type === Scalar.QUOTE_DOUBLE && !this.#deps.isJson) {
      const [from = 0, to = 0] = node.range ?? [];
      if (!ESCAPED_SURROGATE.test(this.#deps.text.slice(from, to))) return;
      this.#deps.report(
        at,
        "escapes from \\ud800 to \\udfff are for JSON: write the character itself, or \\U and eight digits",
      );
    }
  }

  #abort(node: Node, message: string): never {
    this.#deps.report(this.#at(node), message);
    throw new BuildAborted(message);
  }

  #at(node: unknown): SourceLocation {
    return this.#deps.locationOf((node as Partial<Node>).range?.[0] ?? 0);
  }
}

function nullAt(at: SourceLocation): YamlScalar {
  return { kind: "scalar", meaning: { type: "null" }, text: "", at };
}

function isMergeKey(key: unknown): boolean {
  if (!isScalar(key) || key.source !== "<<") return false;
  return key.tag === MERGE_TAG || (key.type === Scalar.PLAIN && key.tag === undefined);
}
