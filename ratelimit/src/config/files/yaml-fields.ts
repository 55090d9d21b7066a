// Reads typed fields out of a YAML tree as Go's yaml.v2 fills a struct: null leaves a field at
// zero, a scalar that is no text is text as written, and every mismatch is remembered with its
// line. Which fields there are is rule-file.ts.
import type { KeyProblem } from "./allowed-keys.ts";
import type { YamlMap, YamlNode, YamlPosition } from "./yaml-document.ts";

const UINT32_MAX = 2n ** 32n - 1n;

/**
 * Longest text of a scalar that an error quotes whole; longer ones are cut to seven characters, as
 * yaml.v2 does.
 */
const QUOTED_MAX = 10;

/** A value that does not fit its field. */
export interface TypeProblem {
  readonly message: string;
  readonly at: YamlPosition;
}

/** Reads fields; what does not fit is answered with the zero value and remembered. */
export class FieldReader {
  /** Mismatches in the order of reading. */
  readonly problems: TypeProblem[] = [];
  /** The first metadata that protobuf cannot hold. */
  metadataProblem: KeyProblem | undefined;

  /** A text; numbers, booleans and dates as they are written. */
  string(node: YamlNode | undefined, field: string): string {
    if (node === undefined || isNull(node)) return "";
    if (node.kind !== "scalar") return this.#mismatch(node, `string (${field})`, "");
    return node.meaning.type === "str" ? node.meaning.value : node.text;
  }

  /** A boolean. */
  boolean(node: YamlNode | undefined, field: string): boolean {
    if (node === undefined || isNull(node)) return false;
    if (node.kind === "scalar" && node.meaning.type === "bool") return node.meaning.value;
    return this.#mismatch(node, `bool (${field} must be true or false)`, false);
  }

  /** A whole number from 0 to 4294967295. */
  uint32(node: YamlNode | undefined, field: string): number {
    if (node === undefined || isNull(node)) return 0;
    if (
      node.kind === "scalar" &&
      node.meaning.type === "int" &&
      node.meaning.value >= 0n &&
      node.meaning.value <= UINT32_MAX
    ) {
      return Number(node.meaning.value);
    }
    return this.#mismatch(node, `uint32 (${field} must be a whole number from 0 to ${UINT32_MAX})`, 0);
  }

  /** A list of maps. That its elements are maps, the check of keys has made sure. */
  list(node: YamlNode | undefined, field: string): readonly YamlMap[] {
    if (node === undefined || isNull(node)) return [];
    if (node.kind === "list") return node.elements.filter((element) => element.kind === "map");
    return this.#mismatch(node, `a list of maps (${field})`, []);
  }

  /** A map; undefined for null and for what is absent. */
  map(node: YamlNode | undefined, what: string): YamlMap | undefined {
    if (node === undefined || isNull(node)) return undefined;
    if (node.kind === "map") return node;
    this.#mismatch(node, what, null);
    return undefined;
  }

  #mismatch<Zero>(node: YamlNode, wanted: string, zero: Zero): Zero {
    this.problems.push({ message: `cannot unmarshal ${describe(node)} into ${wanted}`, at: node.at });
    return zero;
  }
}

function isNull(node: YamlNode): boolean {
  return node.kind === "scalar" && node.meaning.type === "null";
}

function describe(node: YamlNode): string {
  switch (node.kind) {
    case "map":
      return "!!map";
    case "list":
      return "!!seq";
    case "scalar":
      return `!!${node.meaning.type} \`${node.text.length > QUOTED_MAX ? `${node.text.slice(0, 7)}...` : node.text}\``;
  }
}
