// Turns the count of a descriptor into its status, and adds its hits to the counts of its rule.
import type { LimitedCheck } from "./check.ts";
import { nearThreshold } from "./near-threshold.ts";
import { OK, OVER_LIMIT } from "./status.ts";

/**
 * The count before the hits when it would be below 0: the unsigned number of envoyproxy/ratelimit
 * wraps round to its largest.
 */
const BEYOND = Number.POSITIVE_INFINITY;

/**
 * Writes code, remaining and reset of a counted check, and adds its hits to the counts of its rule;
 * a refund is OK and adds none. `nearLimitRatio` is already rounded to single precision. Returns true when the limit is over,
 * also in shadow mode.
 */
export function classify(check: LimitedCheck, nearLimitRatio: number, nowSeconds: number): boolean {
  const { rule, attachment: counts } = check.match;
  if (check.cell !== undefined) return check.cell.classify(nearLimitRatio);
  const limit = rule.limit.requestsPerUnit;
  const { hits, after } = check;
  // Hits that were withheld from the store are subtracted from its count too.
  const before = after < hits ? BEYOND : after - hits;
  check.durationUntilResetSeconds = check.secondsUntilReset(nowSeconds);
  if (hits < 0) {
    check.code = OK;
    check.limitRemaining = Math.max(0, limit - after);
    return false;
  }
  if (after <= limit) {
    check.code = OK;
    check.limitRemaining = limit - after;
    counts.withinLimit += hits;
    const threshold = nearThreshold(limit, nearLimitRatio);
    if (after > threshold) counts.nearLimit += before >= threshold ? hits : after - threshold;
    return false;
  }
  const isWhollyOver = before >= limit;
  if (isWhollyOver) {
    counts.overLimit += hits;
  } else {
    counts.overLimit += after - limit;
    // The part of a straddling addend below the threshold is in total_hits only.
    counts.nearLimit += limit - Math.max(nearThreshold(limit, nearLimitRatio), before);
  }
  rejectOrShadow(check, isWhollyOver ? hits : after - limit);
  return true;
}

/**
 * Writes the same for a check whose key the local cache has: its limit is over. The reset of a cell stays: the cache
 * knew it.
 */
export function classifyCached(check: LimitedCheck, nowSeconds: number): void {
  const { attachment: counts } = check.match;
  if (check.cell === undefined) check.durationUntilResetSeconds = check.secondsUntilReset(nowSeconds);
  counts.overLimit += check.hits;
  counts.overLimitWithLocalCache += check.hits;
  rejectOrShadow(check, check.hits);
}

/** Writes the status of a check that must not pass because its count is unknown; counts no hits. */
export function denyUncounted(check: LimitedCheck, nowSeconds: number): void {
  check.decidedBy = "failure mode";
  check.code = check.match.rule.shadowMode ? OK : OVER_LIMIT;
  check.limitRemaining = 0;
  check.durationUntilResetSeconds = check.secondsUntilReset(nowSeconds);
}

/**
 * STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT: increments no counter, because the local cache has a key
 * of the call. Refunds are counted in any case, here and below.
 */
export function withholdAll(checks: readonly LimitedCheck[]): void {
  for (const check of checks) if (check.hits > 0) check.addend = 0;
}

/**
 * When any counter, as it was read into `after`, would go over its limit by the hits of the call,
 * increments only those that would. As in envoyproxy/ratelimit, a rule in shadow mode withholds
 * the increments of others too, and a counter that is over keeps growing.
 */
export function withholdWhenOver(checks: readonly LimitedCheck[]): void {
  if (!checks.some((check) => check.wouldBeOver())) return;
  for (const check of checks) if (check.hits > 0 && !check.wouldBeOver()) check.addend = 0;
}

function rejectOrShadow(check: LimitedCheck, overHits: number): void {
  check.limitRemaining = 0;
  if (check.match.rule.shadowMode) {
    check.code = OK;
    check.match.attachment.shadowMode += overHits;
  } else {
    check.code = OVER_LIMIT;
  }
}
