// Random messages of any type, for property tests that send them through two implementations.
import { create, ScalarType } from "@bufbuild/protobuf";
import type { DescEnum, DescField, DescMessage, JsonObject, Message } from "@bufbuild/protobuf";
import fc from "fast-check";

/** Deepest nesting of messages; deeper ones are left out. */
const LEVELS_MAX = 5;

/** A message with random fields: each may be absent, each field of a oneof gets its turn. */
export function randomMessage(schema: DescMessage, levels = LEVELS_MAX): fc.Arbitrary<Message> {
  return randomFields(schema, levels).map((fields) => create(schema, fields));
}

function randomFields(schema: DescMessage, levels: number): fc.Arbitrary<Record<string, unknown>> {
  const singles = schema.fields.filter((field) => field.oneof === undefined && isReachable(field, levels));
  const plain = fc.record(Object.fromEntries(singles.map((field) => [field.localName, randomField(field, levels)])), {
    requiredKeys: [],
    noNullPrototype: true,
  });
  const choices = schema.oneofs.map((oneof) => {
    const cases = oneof.fields
      .filter((field) => isReachable(field, levels))
      .map((field) =>
        randomField(field, levels).map((value) => ({ [oneof.localName]: { case: field.localName, value } })),
      );
    return fc.oneof(fc.constant({}), ...cases);
  });
  return fc.tuple(plain, ...choices).map((parts) => Object.assign({}, ...parts) as Record<string, unknown>);
}

function isReachable(field: DescField, levels: number): boolean {
  return levels > 1 || field.message === undefined || isStruct(field.message);
}

function randomField(field: DescField, levels: number): fc.Arbitrary<unknown> {
  switch (field.fieldKind) {
    case "list":
      return fc.array(field.listKind === "message" ? randomValue(field.message, levels) : randomLeaf(field), {
        maxLength: 2,
      });
    case "map": {
      const value = field.mapKind === "message" ? randomValue(field.message, levels) : randomLeaf(field);
      return fc.dictionary(fc.string({ maxLength: 3 }), value, { maxKeys: 2, noNullPrototype: true });
    }
    case "message":
      return randomValue(field.message, levels);
    default:
      return randomLeaf(field);
  }
}

function randomValue(schema: DescMessage, levels: number): fc.Arbitrary<unknown> {
  if (isStruct(schema)) return randomStruct();
  // Wrappers are plain values in messages of protobuf-es, but for their own fields.
  if (schema.typeName === "google.protobuf.UInt32Value") return fc.nat({ max: 2 ** 32 - 1 });
  if (schema.typeName === "google.protobuf.UInt64Value") return fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
  return randomMessage(schema, levels - 1);
}

function isStruct(schema: DescMessage): boolean {
  return schema.typeName === "google.protobuf.Struct";
}

function randomStruct(): fc.Arbitrary<JsonObject> {
  return fc.dictionary(fc.string({ maxLength: 3 }), fc.jsonValue({ maxDepth: 1 }), {
    maxKeys: 2,
    noNullPrototype: true,
  }) as fc.Arbitrary<JsonObject>;
}

function randomLeaf(field: {
  readonly enum?: DescEnum | undefined;
  readonly scalar?: ScalarType | undefined;
}): fc.Arbitrary<unknown> {
  if (field.enum !== undefined) return fc.constantFrom(...field.enum.values.map((value) => value.number));
  switch (field.scalar) {
    case ScalarType.STRING:
      return fc.string({ maxLength: 8, unit: "grapheme" });
    case ScalarType.BOOL:
      return fc.boolean();
    case ScalarType.BYTES:
      return fc.uint8Array({ maxLength: 8 });
    case ScalarType.UINT32:
      return fc.nat({ max: 2 ** 32 - 1 });
    case ScalarType.INT32:
      return fc.integer();
    case ScalarType.INT64:
      return fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    case ScalarType.UINT64:
      return fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
    case ScalarType.DOUBLE:
      return fc.double({ noNaN: true });
    default:
      throw new Error(`No random value for the scalar type ${String(field.scalar)}`);
  }
}
