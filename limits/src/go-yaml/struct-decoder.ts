// Decodes a YAML tree into values of a known shape as Go's yaml.v2 fills a struct: keys in their order, so that a
// repeated key merges structures field by field and replaces everything else.
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

import { ruleFileName } from "../model/field-path.ts";
import { entriesOf, isNull, nameOf, type YamlMap, type YamlNode, type YamlProblem } from "./node.ts";

const UINT32_MAX = 4_294_967_295;

/** Longest text of a scalar that an error quotes whole; yaml.v2 cuts longer ones to 7 characters. */
const QUOTED_MAX = 10;

/** Texts of a null that takes a structure away; `Null` and `NULL` leave an empty one, as in yaml.v2. */
const REMOVING_NULLS: ReadonlySet<string> = new Set(["", "~", "null"]);

/** The field of a decoding step, and the list for its problems. */
export interface DecodeContext {
  /** Name of the field, for error texts; empty for the root. */
  readonly field: string;
  /** Collects the values that do not fit their field. */
  readonly problems: YamlProblem[];
}

/** Decodes values of one type. */
export interface Decoder<Value> {
  /** The value of a field that is not written, or null. */
  readonly zero: Value;
  /** The value of a field that held `current` before. */
  decode(node: YamlNode, current: Value, context: DecodeContext): Value;
}

/** A text; numbers, booleans and dates as they are written. */
export const text: Decoder<string> = {
  zero: "",
  decode(node, current, context) {
    if (isNull(node)) return "";
    if (node.kind !== "scalar") return mismatch(node, `string (${context.field})`, current, context);
    return node.meaning.type === "str" ? node.meaning.value : node.text;
  },
};

export const boolean: Decoder<boolean> = {
  zero: false,
  decode(node, current, context) {
    if (isNull(node)) return false;
    if (node.kind === "scalar" && node.meaning.type === "bool") return node.meaning.value;
    return mismatch(node, `bool (${context.field} must be true or false)`, current, context);
  },
};

/** A whole number from 0 to 4294967295. Fractions are cut off. */
export const uint32: Decoder<number> = {
  zero: 0,
  decode(node, current, context) {
    if (isNull(node)) return 0;
    if (node.kind === "scalar" && (node.meaning.type === "int" || node.meaning.type === "float")) {
      const value = Math.trunc(Number(node.meaning.value));
      if (value >= 0 && value <= UINT32_MAX) return value;
    }
    const wanted = `uint32 (${context.field} must be a whole number from 0 to ${UINT32_MAX})`;
    return mismatch(node, wanted, current, context);
  },
};

/** A map whose keys belong to the user. A repeated key of it has its last value. */
export const freeMap: Decoder<JsonObject | undefined> = {
  zero: undefined,
  decode(node, current, context) {
    if (isNull(node)) return undefined;
    if (node.kind !== "map") return mismatch(node, `a map (${context.field})`, current, context);
    return { ...current, ...objectOf(node) };
  },
};

/** A list; a later one replaces an earlier one. */
export function list<Element>(element: () => Decoder<Element>): Decoder<readonly Element[]> {
  return {
    zero: [],
    decode(node, current, context) {
      if (isNull(node)) return [];
      if (node.kind !== "list") return mismatch(node, `a list of maps (${context.field})`, current, context);
      return node.elements.map((item) => element().decode(item, element().zero, context));
    },
  };
}

/** A structure; keys are the names of its fields as rule files write them, others are passed over. */
export function struct<Struct extends object>(fields: {
  readonly [Name in keyof Struct]-?: Decoder<Struct[Name]>;
}): Decoder<Struct> {
  const named = Object.entries(fields) as [keyof Struct & string, Decoder<unknown>][];
  const byKey = new Map(named.map(([name, decoder]) => [ruleFileName(name), { name, decoder }]));
  const zero = definedFields(named.map(([name, decoder]) => [name, decoder.zero])) as Struct;
  return {
    zero,
    decode(node, current, context) {
      if (isNull(node)) return zero;
      if (node.kind !== "map") {
        return mismatch(node, context.field === "" ? "a map" : `a map (${context.field})`, current, context);
      }
      const decoded = new Map<string, unknown>(Object.entries(current));
      for (const { key, value } of entriesOf(node)) {
        const field = nameOf(key) ?? "";
        const { name, decoder } = byKey.get(field) ?? {};
        if (name === undefined || decoder === undefined) continue;
        decoded.set(name, decoder.decode(value, decoded.get(name) ?? decoder.zero, { ...context, field }));
      }
      return definedFields(decoded) as Struct;
    },
  };
}

/** A value that may be absent; what it means to be absent differs from being empty. */
export function optional<Value>(inner: Decoder<Value>): Decoder<Value | undefined> {
  return {
    zero: undefined,
    decode(node, current, context) {
      if (node.kind === "scalar" && isNull(node) && REMOVING_NULLS.has(node.text)) return undefined;
      return inner.decode(node, current ?? inner.zero, context);
    },
  };
}

function definedFields(fields: Iterable<readonly [string, unknown]>): object {
  return Object.fromEntries(Array.from(fields).filter(([, value]) => value !== undefined));
}

function mismatch<Value>(node: YamlNode, wanted: string, current: Value, { problems }: DecodeContext): Value {
  problems.push({ ...node.at, message: `cannot unmarshal ${describe(node)} into ${wanted}` });
  return current;
}

function describe(node: YamlNode): string {
  if (node.kind !== "scalar") return node.kind === "map" ? "!!map" : "!!seq";
  const quoted = node.text.length > QUOTED_MAX ? `${node.text.slice(0, 7)}...` : node.text;
  return `!!${node.meaning.type} \`${quoted}\``;
}

function objectOf(map: YamlMap): JsonObject {
  // Object.fromEntries defines keys, so that "__proto__" is a key like any other.
  return Object.fromEntries(
    Array.from(entriesOf(map), ({ key, value }) => [
      key.meaning.type === "str" ? key.meaning.value : key.text,
      jsonOf(value),
    ]),
  );
}

function jsonOf(node: YamlNode): JsonValue {
  if (node.kind === "map") return objectOf(node);
  if (node.kind === "list") return node.elements.map(jsonOf);
  if (node.meaning.type === "null") return null;
  return node.meaning.type === "int" ? Number(node.meaning.value) : node.meaning.value;
}
