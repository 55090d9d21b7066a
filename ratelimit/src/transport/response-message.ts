// Converts a decision to the protobuf message, for answers and spans in JSON.
import { create } from "@bufbuild/protobuf";
import { DurationSchema } from "@bufbuild/protobuf/wkt";
import { HeaderValueSchema } from "@weir/proto/generated/envoy/config/core/v3/base_pb";
import {
  type RateLimitResponse,
  type RateLimitResponse_DescriptorStatus,
  RateLimitResponse_DescriptorStatusSchema,
  type RateLimitResponse_RateLimit,
  type RateLimitResponse_RateLimit_Unit,
  RateLimitResponse_RateLimitSchema,
  RateLimitResponseSchema,
} from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";

import type { DescriptorStatus } from "@weir/limits/classify/status";
import type { RuleLimit } from "@weir/limits/model/rule-limit";
import type { Decision } from "../decide/decision.ts";

/** The response that carries a decision. */
export function responseMessage(decision: Decision): RateLimitResponse {
  const response = create(RateLimitResponseSchema);
  response.overallCode = decision.overallCode;
  for (const status of decision.statuses) response.statuses.push(statusMessage(status));
  if (decision.headers !== undefined) {
    for (const { key, value } of decision.headers)
      response.responseHeadersToAdd.push(create(HeaderValueSchema, { key, value }));
  }
  if (decision.dynamicMetadata !== undefined) response.dynamicMetadata = decision.dynamicMetadata;
  return response;
}

function statusMessage(status: DescriptorStatus): RateLimitResponse_DescriptorStatus {
  const message = create(RateLimitResponse_DescriptorStatusSchema);
  message.code = status.code;
  message.limitRemaining = status.limitRemaining;
  if (status.currentLimit !== undefined) message.currentLimit = limitMessage(status.currentLimit);
  if (status.durationUntilResetSeconds !== undefined) {
    message.durationUntilReset = create(DurationSchema, { seconds: BigInt(status.durationUntilResetSeconds) });
  }
  return message;
}

function limitMessage(limit: RuleLimit): RateLimitResponse_RateLimit {
  const message = create(RateLimitResponse_RateLimitSchema);
  message.requestsPerUnit = limit.requestsPerUnit;
  message.unit = limit.unit as RateLimitResponse_RateLimit_Unit; // The decision has the wire's numbers.
  if (limit.unitMultiplier !== undefined) message.unitMultiplier = limit.unitMultiplier;
  message.name = limit.name;
  return message;
}
