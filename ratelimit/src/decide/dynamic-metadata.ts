// Dynamic metadata of an answer: the request, and the metadata of the rules that let it pass. Off the
// hot path: only with RESPONSE_DYNAMIC_METADATA.
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { unitOfNumber } from "@weir/limits/model/unit";
import type { Check } from "@weir/limits/classify/check";
import { OK } from "@weir/limits/classify/status";
import type { LimitOverride } from "@weir/limits/rules/rule";
import type { RateLimitRequest, RequestDescriptor } from "./request.ts";

/**
 * The metadata as JSON of a protobuf Struct. `limitRule` is the rule that rejected, if the
 * answer names it.
 */
export function dynamicMetadata(
  request: RateLimitRequest,
  checks: readonly Check[],
  limitRule: string | undefined,
): JsonObject {
  const result: JsonObject = { domain: request.domain, descriptors: request.descriptors.map(describeDescriptor) };
  if (request.hitsAddend !== 0) result["hitsAddend"] = request.hitsAddend;
  const metadata = mergePassed(checks);
  if (Object.keys(metadata).length > 0) result["metadata"] = metadata;
  if (limitRule !== undefined) result["limitRule"] = limitRule;
  return result;
}

function describeDescriptor(descriptor: RequestDescriptor): JsonObject {
  const result: JsonObject = { entries: descriptor.entries.map((entry) => `${entry.key}=${entry.value}`) };
  if (descriptor.limit !== undefined) result["limit"] = describeLimit(descriptor.limit);
  if (descriptor.hitsAddend !== undefined) result["hitsAddend"] = Number(descriptor.hitsAddend);
  return result;
}

/** The override in protobuf text format, zero fields omitted. */
function describeLimit(limit: LimitOverride): string {
  const requests = limit.requestsPerUnit === 0 ? [] : [`requests_per_unit:${limit.requestsPerUnit}`];
  const unit = limit.unit === 0 ? [] : [`unit:${unitOfNumber(limit.unit) ?? limit.unit}`];
  const multiplier = limit.unitMultiplier === undefined ? [] : [`unit_multiplier:{value:${limit.unitMultiplier}}`];
  return [...requests, ...unit, ...multiplier].join(" ");
}

/** Deep merge, in descriptor order, of the metadata of counted limits that passed. */
function mergePassed(checks: readonly Check[]): JsonObject {
  const merged: JsonObject = {};
  for (const check of checks) {
    if (check.kind === "limited" && check.code === OK && check.match.metadata !== undefined)
      mergeInto(merged, check.match.metadata);
  }
  return merged;
}

/**
 * The first value of a key wins; two structs merge, lists do not. Structs are copied, because the
 * source is a rule's own.
 */
function mergeInto(target: JsonObject, source: JsonObject): void {
  for (const [key, value] of Object.entries(source)) {
    const present = Object.hasOwn(target, key) ? target[key] : undefined;
    if (present === undefined) setOwn(target, key, isStruct(value) ? structuredClone(value) : value);
    else if (isStruct(present) && isStruct(value)) mergeInto(present, value);
  }
}

/** Sets also a key such as `__proto__` as plain data. */
function setOwn(target: JsonObject, key: string, value: JsonValue): void {
  Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
}

function isStruct(value: JsonValue): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
