// The free metadata of a descriptor: YAML to the JSON that a protobuf Struct can hold. Its keys are
// the user's own.
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

import type { YamlMap, YamlNode } from "./yaml-document.ts";
import type { FieldReader } from "./yaml-fields.ts";

/**
 * The metadata; undefined when there is none. Numbers that JSON does not know are remembered as the
 * reader's `metadataProblem`.
 */
export function readMetadata(node: YamlNode | undefined, fields: FieldReader): JsonObject | undefined {
  const map = fields.map(node, "a map (metadata)");
  return map === undefined ? undefined : objectOf(map, fields);
}

function objectOf(map: YamlMap, fields: FieldReader): JsonObject {
  // Object.fromEntries defines keys, so that "__proto__" is a key like any other.
  return Object.fromEntries(
    map.entries.map(({ key, value }) => [
      key.meaning.type === "str" ? key.meaning.value : key.text,
      valueOf(value, fields),
    ]),
  );
}

function valueOf(node: YamlNode, fields: FieldReader): JsonValue {
  switch (node.kind) {
    case "map":
      return objectOf(node, fields);
    case "list":
      return node.elements.map((element) => valueOf(element, fields));
    case "scalar":
      return scalarOf(node, fields);
  }
}

function scalarOf(node: Extract<YamlNode, { kind: "scalar" }>, fields: FieldReader): JsonValue {
  const { meaning } = node;
  switch (meaning.type) {
    case "null":
      return null;
    case "bool":
    case "str":
      return meaning.value;
    case "int":
      return Number(meaning.value);
    case "float":
      if (Number.isFinite(meaning.value)) return meaning.value;
      fields.metadataProblem ??= {
        message: `error parsing metadata: a number must be finite, current value is ${node.text}`,
        at: node.at,
      };
      return null;
  }
}
