// Encodes a decision as a RateLimitResponse straight into the buffer that is sent: the last step of
// every decision.
import type { MessageEncoder } from "@weir/http2/grpc/method";
import type { DescriptorStatus } from "@weir/limits/classify/status";
import type { RuleLimit } from "@weir/limits/model/rule-limit";

import type { Decision, HeaderToAdd } from "../../../decide/decision.ts";
import { structMaxBytes, writeStruct } from "./struct-writer.ts";
import {
  closeDelimited,
  DELIMITED_HEAD_MAX_BYTES,
  stringMaxBytes,
  VARINT_32_MAX_BYTES,
  writeString,
  writeVarint,
} from "./wire-writer.ts";

/** Tags of RateLimitResponse. */
const OVERALL_CODE = 0x08;
const STATUS = 0x12;
const HEADER = 0x1a;
const DYNAMIC_METADATA = 0x32;

/** Tags of RateLimitResponse.DescriptorStatus, and of the Duration in it. */
const CODE = 0x08;
const CURRENT_LIMIT = 0x12;
const LIMIT_REMAINING = 0x18;
const DURATION_UNTIL_RESET = 0x22;
const DURATION_SECONDS = 0x08;

/** Tags of RateLimitResponse.RateLimit. */
const REQUESTS_PER_UNIT = 0x08;
const UNIT = 0x10;
const NAME = 0x1a;
const UNIT_MULTIPLIER = 0x22;
const WRAPPED_VALUE = 0x08;

/** Tags of HeaderValue. */
const HEADER_KEY = 0x0a;
const HEADER_VALUE = 0x12;

/** A code with its tag. */
const CODE_BYTES = 2;

/** A status without the contents of its limit, at most: all fields are there, with tags and lengths. */
const STATUS_MAX_BYTES =
  2 * DELIMITED_HEAD_MAX_BYTES + CODE_BYTES + (1 + VARINT_32_MAX_BYTES) + (2 + 1 + VARINT_32_MAX_BYTES);

/** Encodes decisions. */
export class DecisionEncoder implements MessageEncoder<Decision> {
  maxBytes({ statuses, headers, dynamicMetadata }: Decision): number {
    let sum = CODE_BYTES + STATUS_MAX_BYTES * statuses.length;
    for (const { currentLimit } of statuses) if (currentLimit !== undefined) sum += limitMaxBytes(currentLimit);
    if (headers !== undefined) for (const header of headers) sum += headerMaxBytes(header);
    if (dynamicMetadata !== undefined) sum += DELIMITED_HEAD_MAX_BYTES + structMaxBytes(dynamicMetadata);
    return sum;
  }

  encode({ overallCode, statuses, headers, dynamicMetadata }: Decision, target: Buffer, offset: number): number {
    target[offset] = OVERALL_CODE;
    target[offset + 1] = overallCode;
    let at = offset + CODE_BYTES;
    for (const status of statuses) {
      target[at] = STATUS;
      at = closeDelimited(target, at + 2, writeStatus(target, at + 2, status));
    }
    if (headers !== undefined) for (const header of headers) at = writeHeader(target, at, header);
    if (dynamicMetadata === undefined) return at;
    target[at] = DYNAMIC_METADATA;
    return closeDelimited(target, at + 2, writeStruct(target, at + 2, dynamicMetadata));
  }
}

function writeStatus(target: Buffer, offset: number, status: DescriptorStatus): number {
  const { currentLimit, limitRemaining, durationUntilResetSeconds } = status;
  target[offset] = CODE;
  target[offset + 1] = status.code;
  let at = offset + CODE_BYTES;
  if (currentLimit !== undefined) {
    target[at] = CURRENT_LIMIT;
    at = closeDelimited(target, at + 2, writeLimit(target, at + 2, currentLimit));
  }
  if (limitRemaining !== 0) {
    target[at] = LIMIT_REMAINING;
    at = writeVarint(target, at + 1, limitRemaining);
  }
  if (durationUntilResetSeconds === undefined) return at;
  target[at] = DURATION_UNTIL_RESET;
  const start = at + 2;
  if (durationUntilResetSeconds === 0) return closeDelimited(target, start, start);
  target[start] = DURATION_SECONDS;
  return closeDelimited(target, start, writeVarint(target, start + 1, durationUntilResetSeconds));
}

/** Bytes that a limit takes at most. */
function limitMaxBytes({ name }: RuleLimit): number {
  return 3 * (1 + VARINT_32_MAX_BYTES) + 2 + stringMaxBytes(name);
}

function writeLimit(
  target: Buffer,
  offset: number,
  { requestsPerUnit, unit, unitMultiplier, name }: RuleLimit,
): number {
  let at = offset;
  if (requestsPerUnit !== 0) {
    target[at] = REQUESTS_PER_UNIT;
    at = writeVarint(target, at + 1, requestsPerUnit);
  }
  if (unit !== 0) {
    target[at] = UNIT;
    at = writeVarint(target, at + 1, unit);
  }
  if (name !== "") at = writeString(target, at, NAME, name);
  if (unitMultiplier === undefined) return at;
  target[at] = UNIT_MULTIPLIER;
  target[at + 2] = WRAPPED_VALUE;
  return closeDelimited(target, at + 2, writeVarint(target, at + 3, unitMultiplier));
}

function headerMaxBytes({ key, value }: HeaderToAdd): number {
  return DELIMITED_HEAD_MAX_BYTES + stringMaxBytes(key) + stringMaxBytes(value);
}

function writeHeader(target: Buffer, offset: number, { key, value }: HeaderToAdd): number {
  target[offset] = HEADER;
  const start = offset + 2;
  let at = start;
  if (key !== "") at = writeString(target, at, HEADER_KEY, key);
  if (value !== "") at = writeString(target, at, HEADER_VALUE, value);
  return closeDelimited(target, start, at);
}
