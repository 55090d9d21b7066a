// How many hits a descriptor adds.
import type { RateLimitRequest, RequestDescriptor } from "./request.ts";

/**
 * Most hits of one descriptor. No limit is larger than 2^32 − 1, so the answer is the same beyond;
 * but totals are exact to 2^53 only and stores count to 2^63, and a single larger addend would end
 * the exactness of a statistic, or a counter, for good.
 */
const ADDEND_MAX = 2 ** 40;

/** The descriptor's own addend, 0 allowed; else the request's, where 0 and absent mean 1. */
export function hitsAddend(request: RateLimitRequest, descriptor: RequestDescriptor): number {
  const own = descriptor.hitsAddend;
  if (own === undefined) return request.hitsAddend === 0 ? 1 : request.hitsAddend;
  return Math.min(Number(own), ADDEND_MAX);
}
