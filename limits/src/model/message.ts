// Between the RateLimitConfig message and the model. Nothing is validated here.
import { create } from "@bufbuild/protobuf";

import {
  RateLimitConfigSchema,
  RateLimitDescriptorSchema,
  RateLimitPolicySchema,
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
  return create(RateLimitConfigSchema, {
    name: model.name,
    domain: model.domain,
    descriptors: model.descriptors.map(messageOfDescriptor),
  });
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

function messageOfDescriptor(model: DescriptorModel): RateLimitDescriptor {
  return create(RateLimitDescriptorSchema, {
    key: model.key,
    value: model.value,
    ...(model.rateLimit === undefined ? {} : { rateLimit: messageOfPolicy(model.rateLimit) }),
    descriptors: model.descriptors.map(messageOfDescriptor),
    shadowMode: model.shadowMode,
    detailedMetric: model.detailedMetric,
    quotaMode: model.quotaMode,
    valueToMetric: model.valueToMetric,
    shareThreshold: model.shareThreshold,
    ...(model.metadata === undefined ? {} : { metadata: model.metadata }),
  });
}

function messageOfPolicy(model: RateLimitModel): RateLimitPolicy {
  const unit = parseUnit(model.unit);
  return create(RateLimitPolicySchema, {
    unit: unit === undefined ? UNKNOWN_UNIT : UNIT_NUMBERS[unit],
    requestsPerUnit: model.requestsPerUnit,
    unlimited: model.unlimited,
    name: model.name,
    replaces: model.replaces.map((replace) => ({ name: replace.name })),
  });
}
