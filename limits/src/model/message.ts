// Converts the RateLimitConfig message to the model and back, without validation.
import { create } from "@bufbuild/protobuf";

import {
  RateLimitConfigSchema,
  RateLimitDescriptorSchema,
} from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";
import type {
  RateLimitConfig,
  RateLimitDescriptor,
  RateLimitPolicy,
} from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";
import type { DescriptorModel, RateLimitConfigModel, RateLimitModel } from "./model.ts";
import { parseUnit, UNIT_NUMBERS, unitOfNumber } from "./unit.ts";

const UNKNOWN_UNIT = 0;

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
  return {
    key: message.key,
    value: message.value,
    ...(message.rateLimit === undefined ? {} : { rateLimit: modelOfPolicy(message.rateLimit) }),
    descriptors: message.descriptors.map(modelOfDescriptor),
    shadowMode: message.shadowMode,
    detailedMetric: message.detailedMetric,
    quotaMode: message.quotaMode,
    valueToMetric: message.valueToMetric,
    shareThreshold: message.shareThreshold,
    ...(message.metadata === undefined ? {} : { metadata: message.metadata }),
  };
}

function modelOfPolicy(message: RateLimitPolicy): RateLimitModel {
  return {
    unit: message.unit === UNKNOWN_UNIT ? "UNKNOWN" : (unitOfNumber(message.unit) ?? String(message.unit)),
    requestsPerUnit: message.requestsPerUnit,
    unlimited: message.unlimited,
    name: message.name,
    replaces: message.replaces.map((replace) => ({ name: replace.name })),
  };
}

function messageOfDescriptor({ rateLimit, descriptors, ...fields }: DescriptorModel): RateLimitDescriptor {
  const unit = parseUnit(rateLimit?.unit ?? "");
  return create(RateLimitDescriptorSchema, {
    ...fields,
    ...(rateLimit && {
      rateLimit: {
        ...rateLimit,
        unit: unit === undefined ? UNKNOWN_UNIT : UNIT_NUMBERS[unit],
        replaces: rateLimit.replaces.map(({ name }) => ({ name })),
      },
    }),
    descriptors: descriptors.map(messageOfDescriptor),
  });
}
