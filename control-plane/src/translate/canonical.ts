// One revision for equal rules: a message must not depend on the order of keys in the YAML.
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { DescriptorModel, RateLimitConfigModel } from "@weir/limits/model/model";

import { compareCodeUnits } from "@weir/common/order/code-unit-order";

/** The same rules with the keys of all metadata sorted. The order of rules matters and stays. */
export function canonicalModel(model: RateLimitConfigModel): RateLimitConfigModel {
  return { ...model, descriptors: model.descriptors.map(canonicalDescriptor) };
}

function canonicalDescriptor(descriptor: DescriptorModel): DescriptorModel {
  const { metadata, descriptors, ...rest } = descriptor;
  return {
    ...rest,
    descriptors: descriptors.map(canonicalDescriptor),
    ...(metadata === undefined ? {} : { metadata: canonicalObject(metadata) }),
  };
}

function canonicalObject(object: JsonObject): JsonObject {
  const entries = Object.entries(object).toSorted(([left], [right]) => compareCodeUnits(left, right));
  // Not by assignment: a key may be called "__proto__".
  return Object.fromEntries(entries.map(([key, value]) => [key, canonicalValue(value)]));
}

function canonicalValue(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(canonicalValue);
  return typeof value === "object" && value !== null ? canonicalObject(value) : value;
}
