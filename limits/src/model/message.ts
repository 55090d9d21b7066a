// Converts the RateLimitConfig message to the model and back, without validation.
import { create, type MessageInitShape } from "@bufbuild/protobuf";

import {
  RateLimitConfigSchema,
  RateLimitDescriptorSchema,
} from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";
import type {
  RateLimitConfig,
  RateLimitDescriptor,
  RateLimitPolicy,
  RateLimitPolicySchema,
} from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";
import {
  DEFAULT_ALGORITHM,
  type DescriptorModel,
  type RateLimitConfigModel,
  type RateLimitModel,
  windowFieldsOf,
} from "./model.ts";
import { parseUnit, UNIT_NUMBERS, unitOfNumber } from "./unit.ts";

const UNKNOWN_UNIT = 0;

/**
 * Unit of a limit that envoyproxy/ratelimit and earlier releases would enforce differently. They refuse it with
 * "invalid rate limit unit '100'", where they would pass over the fields that they do not know.
 */
const EXTENDED_UNIT = 100;

/**
 * The model of a message. A unit number that has no name becomes its digits, which no validation
 * accepts.
 */
export function modelOfMessage(message: RateLimitConfig): RateLimitConfigModel {
  return { name: message.name, domain: message.domain, descriptors: message.descriptors.map(modelOfDescriptor) };
}

/**
 * The message of a model. A unit that does not parse becomes UNKNOWN, as a missing one does:
 * validate before.
 */
export function messageOfModel(model: RateLimitConfigModel): RateLimitConfig {
  return create(RateLimitConfigSchema, { ...model, descriptors: model.descriptors.map(messageOfDescriptor) });
}

function modelOfDescriptor(message: RateLimitDescriptor): DescriptorModel {
  const { rateLimit, rateLimits } = message;
  const hasLimit = rateLimit !== undefined && !(rateLimits.length > 0 && isPlaceholder(rateLimit));
  return {
    key: message.key,
    value: message.value,
    ...(hasLimit ? { rateLimit: modelOfPolicy(rateLimit) } : {}),
    ...(rateLimits.length === 0 ? {} : { rateLimits: rateLimits.map(modelOfPolicy) }),
    descriptors: message.descriptors.map(modelOfDescriptor),
    shadowMode: message.shadowMode,
    detailedMetric: message.detailedMetric,
    quotaMode: message.quotaMode,
    valueToMetric: message.valueToMetric,
    shareThreshold: message.shareThreshold,
    ...(message.showValues && { showValues: true }),
    ...(message.metadata === undefined ? {} : { metadata: message.metadata }),
  };
}

/** Returns true if the policy only makes pods refuse a rule whose list of limits they do not know. */
function isPlaceholder({ unit, extendedUnit }: RateLimitPolicy): boolean {
  return unit === EXTENDED_UNIT && extendedUnit === UNKNOWN_UNIT;
}

function modelOfPolicy(message: RateLimitPolicy): RateLimitModel {
  const unit = message.unit === EXTENDED_UNIT && !isPlaceholder(message) ? message.extendedUnit : message.unit;
  return {
    unit: unit === UNKNOWN_UNIT ? "UNKNOWN" : (unitOfNumber(unit) ?? String(unit)),
    requestsPerUnit: message.requestsPerUnit,
    unlimited: message.unlimited,
    name: message.name,
    replaces: message.replaces.map((replace) => ({ name: replace.name })),
    ...windowFieldsOf(message),
  };
}

function messageOfDescriptor({ rateLimit, rateLimits, descriptors, ...fields }: DescriptorModel): RateLimitDescriptor {
  return create(RateLimitDescriptorSchema, {
    ...fields,
    ...(rateLimits !== undefined && {
      rateLimit: { unit: EXTENDED_UNIT },
      rateLimits: rateLimits.map(policyOfLimit),
    }),
    ...(rateLimit && { rateLimit: policyOfLimit(rateLimit) }),
    descriptors: descriptors.map(messageOfDescriptor),
  });
}

function policyOfLimit(limit: RateLimitModel): MessageInitShape<typeof RateLimitPolicySchema> {
  const parsed = parseUnit(limit.unit);
  const unit = parsed === undefined ? UNKNOWN_UNIT : UNIT_NUMBERS[parsed];
  const replaces = limit.replaces.map(({ name }) => ({ name }));
  return parsed !== undefined && isExtended(limit)
    ? { ...limit, unit: EXTENDED_UNIT, extendedUnit: unit, replaces }
    : { ...limit, unit, replaces };
}

/** Returns true if a pod that knows only fixed windows of one unit would enforce another limit. */
function isExtended({ unitMultiplier = 1, algorithm, countRejectedHits, timeZone }: RateLimitModel): boolean {
  return (
    unitMultiplier !== 1 ||
    (algorithm ?? DEFAULT_ALGORITHM) !== DEFAULT_ALGORITHM ||
    countRejectedHits === false ||
    timeZone !== undefined
  );
}
