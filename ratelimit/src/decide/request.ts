// A rate limit request as the decider sees it, free of any wire. Messages of protobuf-es satisfy it
// structurally, so transports hand them over as they are; a hand-written codec fills the same
// shape.
import type { Entry, LimitOverride } from "@weir/limits/rules/rule";

/**
 * Most hits of one descriptor. No limit is larger than 2^32 − 1, so the answer is the same beyond;
 * but totals are exact to 2^53 only and stores count to 2^63, and a single larger addend would end
 * the exactness of a statistic, or a counter, for good.
 */
const ADDEND_MAX = 2 ** 40;

/** One question: which of these descriptors of the domain is over its limit? */
export interface RateLimitRequest {
  readonly domain: string;
  readonly descriptors: readonly RequestDescriptor[];
  /**
   * Hits that each descriptor without an addend of its own adds; 0 and absent on the wire both mean
   * 1.
   */
  readonly hitsAddend: number;
}

/** An ordered list of pairs, with an optional limit that replaces the configured one. */
export interface RequestDescriptor {
  /** Keys and values are case-sensitive and may be empty. */
  readonly entries: readonly Entry[];
  /** A limit that the caller brings along; `unit` is the number of envoy.type.v3.RateLimitUnit, or 7 for WEEK. */
  readonly limit?: LimitOverride | undefined;
  /** Hits of this descriptor; 0 asks without counting. Absent means the addend of the request. */
  readonly hitsAddend?: bigint | number | undefined;
  /** Gives the hits back instead of adding them. */
  readonly isNegativeHits?: boolean;
}

/**
 * The hits of a descriptor: its own addend, 0 allowed; else the request's, where 0 and absent mean 1.
 * Below 0 when they are given back.
 */
export function hitsOf(request: RateLimitRequest, descriptor: RequestDescriptor): number {
  const hits = hitsAddend(request, descriptor);
  return descriptor.isNegativeHits === true ? 0 - hits : hits;
}

function hitsAddend(request: RateLimitRequest, descriptor: RequestDescriptor): number {
  const own = descriptor.hitsAddend;
  if (own === undefined) return request.hitsAddend === 0 ? 1 : request.hitsAddend;
  return Math.min(Number(own), ADDEND_MAX);
}
