// Formats a response for weir-client: one line per descriptor, the headers, the overall code. Pure.
import { unitOfNumber } from "@weir/limits/model/unit";
import type {
  RateLimitResponse,
  RateLimitResponse_DescriptorStatus,
} from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";

import type { ClientEntry } from "./arguments.ts";

/** limit_remaining of an unlimited rule. */
const UNLIMITED = 2 ** 32 - 1;

/** The text of a response to a request with these descriptors. */
export function formatAnswer(response: RateLimitResponse, descriptors: readonly (readonly ClientEntry[])[]): string {
  const lines = response.statuses.map((status, index) => {
    const entries = (descriptors[index] ?? []).map(({ key, value }) => `${key}=${value}`).join(",");
    return `${entries}: ${formatStatus(status)}`;
  });
  const headers = response.responseHeadersToAdd.map(({ key, value }) => `header ${key}: ${value}`);
  return [...lines, ...headers, `overall: ${formatCode(response.overallCode)}`].map((line) => `${line}\n`).join("");
}

function formatStatus(status: RateLimitResponse_DescriptorStatus): string {
  const { currentLimit, limitRemaining, durationUntilReset } = status;
  const code = formatCode(status.code);
  if (currentLimit === undefined) return limitRemaining === UNLIMITED ? `${code}, unlimited` : `${code}, no limit`;
  const unit = unitOfNumber(currentLimit.unit) ?? `unit ${currentLimit.unit}`;
  const name = currentLimit.name === "" ? "" : ` (${currentLimit.name})`;
  const reset = durationUntilReset === undefined ? "" : `, resets in ${durationUntilReset.seconds} s`;
  return `${code}, ${limitRemaining} left of ${currentLimit.requestsPerUnit} per ${unit.toLowerCase()}${name}${reset}`;
}

function formatCode(code: number): string {
  switch (code) {
    case 1:
      return "OK";
    case 2:
      return "OVER_LIMIT";
    default:
      return `UNKNOWN (${code})`;
  }
}
