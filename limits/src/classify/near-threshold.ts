// The number of hits above which they are near a limit.

/**
 * Hits above this number are near the limit. Single precision, as in envoyproxy/ratelimit: both must
 * call the same hit near. Never above the limit, to which single precision may round it up.
 */
export function nearThreshold(requestsPerUnit: number, nearLimitRatio: number): number {
  return Math.min(requestsPerUnit, Math.floor(Math.fround(Math.fround(requestsPerUnit) * nearLimitRatio)));
}
