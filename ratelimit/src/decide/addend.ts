// How many hits a descriptor adds.
import type { RateLimitRequest, RequestDescriptor } from "./request.ts";

/**
 * The descriptor's own addend, 0 allowed; else the request's, where 0 and absent mean 1. Beyond what a number holds exactly (2^53 − 1) the addend is cut:
 * limits are 32-bit, so the answer is the same.
 */
export function hitsAddend(request: RateLimitRequest, descriptor: RequestDescriptor): number {
  const own = descriptor.hitsAddend;
  if (own === undefined) return request.hitsAddend === 0 ? 1 : request.hitsAddend;
  const addend = Number(own);
  return addend > Number.MAX_SAFE_INTEGER ? Number.MAX_SAFE_INTEGER : addend;
}
