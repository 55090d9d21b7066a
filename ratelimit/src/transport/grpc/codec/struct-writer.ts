// Writes JSON as a google.protobuf.Struct, for dynamic metadata.
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

import { closeDelimited, DELIMITED_HEAD_MAX_BYTES, stringMaxBytes, writeString, writeVarint } from "./wire-writer.ts";

/** Tags of Struct, its map entries, Value and ListValue. */
const FIELDS = 0x0a;
const ENTRY_KEY = 0x0a;
const ENTRY_VALUE = 0x12;
const NULL_VALUE = 0x08;
const NUMBER_VALUE = 0x11;
const STRING_VALUE = 0x1a;
const BOOL_VALUE = 0x20;
const STRUCT_VALUE = 0x2a;
const LIST_VALUE = 0x32;
const VALUES = 0x0a;

/** Bytes of a Value without text, list or struct, at most: a tag and a double. */
const PLAIN_VALUE_MAX_BYTES = 9;

/** Bytes that the fields of a Struct take at most. */
export function structMaxBytes(struct: JsonObject): number {
  let sum = 0;
  for (const [key, value] of Object.entries(struct))
    sum += 2 * DELIMITED_HEAD_MAX_BYTES + stringMaxBytes(key) + valueMaxBytes(value);
  return sum;
}

/** Writes the fields of a Struct and returns the offset after them. */
export function writeStruct(target: Buffer, offset: number, struct: JsonObject): number {
  let at = offset;
  for (const [key, value] of Object.entries(struct)) {
    target[at] = FIELDS;
    const entry = at + 2;
    const valueAt = writeString(target, entry, ENTRY_KEY, key);
    target[valueAt] = ENTRY_VALUE;
    const valueEnd = closeDelimited(target, valueAt + 2, writeValue(target, valueAt + 2, value));
    at = closeDelimited(target, entry, valueEnd);
  }
  return at;
}

function valueMaxBytes(value: JsonValue): number {
  if (typeof value === "string") return stringMaxBytes(value);
  if (typeof value !== "object" || value === null) return PLAIN_VALUE_MAX_BYTES;
  if (!Array.isArray(value)) return DELIMITED_HEAD_MAX_BYTES + structMaxBytes(value);
  let sum = DELIMITED_HEAD_MAX_BYTES;
  for (const each of value) sum += DELIMITED_HEAD_MAX_BYTES + valueMaxBytes(each);
  return sum;
}

/** Writes the one field of a Value. */
function writeValue(target: Buffer, offset: number, value: JsonValue): number {
  switch (typeof value) {
    case "string":
      return writeString(target, offset, STRING_VALUE, value);
    case "number":
      target[offset] = NUMBER_VALUE;
      return target.writeDoubleLE(value, offset + 1);
    case "boolean":
      target[offset] = BOOL_VALUE;
      return writeVarint(target, offset + 1, value ? 1 : 0);
    default:
  }
  if (value === null) {
    target[offset] = NULL_VALUE;
    return writeVarint(target, offset + 1, 0);
  }
  const start = offset + 2;
  if (!Array.isArray(value)) {
    target[offset] = STRUCT_VALUE;
    return closeDelimited(target, start, writeStruct(target, start, value));
  }
  target[offset] = LIST_VALUE;
  return closeDelimited(target, start, writeList(target, start, value));
}

function writeList(target: Buffer, offset: number, values: readonly JsonValue[]): number {
  let at = offset;
  for (const value of values) {
    target[at] = VALUES;
    at = closeDelimited(target, at + 2, writeValue(target, at + 2, value));
  }
  return at;
}
