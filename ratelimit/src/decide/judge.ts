// Turns the count of a descriptor into its status and its statistics. Pure but for the two objects
// it is given.
import type { LimitedCheck } from "./check.ts";
import { OK, OVER_LIMIT } from "./decision.ts";
import { secondsUntilReset } from "./window.ts";

/**
 * Hits above this number are near the limit. Single precision, as in the field: pods of both kinds
 * must call the same hit near. `nearLimitRatio` is already rounded to single precision.
 */
function nearThreshold(requestsPerUnit: number, nearLimitRatio: number): number {
  return Math.floor(Math.fround(Math.fround(requestsPerUnit) * nearLimitRatio));
}

/**
 * A count before the hits that the store cannot have had: below 0, where the reference's unsigned
 * number goes round to its largest.
 */
const BEYOND = Number.POSITIVE_INFINITY;

/**
 * Writes code, remaining and reset of a counted check, and adds its hits to the statistics of its
 * rule. True when the limit is over, also in shadow mode.
 */
export function judge(check: LimitedCheck, nearLimitRatio: number, nowSeconds: number): boolean {
  const { rule, statistics } = check.match;
  const limit = rule.limit.requestsPerUnit;
  const { hits, after } = check;
  // Hits that were withheld from the store are taken off its count all the same.
  const before = after < hits ? BEYOND : after - hits;
  check.durationUntilResetSeconds = secondsUntilReset(nowSeconds, check.windowSeconds);
  if (after <= limit) {
    check.code = OK;
    check.limitRemaining = limit - after;
    statistics.withinLimit += hits;
    const threshold = nearThreshold(limit, nearLimitRatio);
    if (after > threshold) statistics.nearLimit += before >= threshold ? hits : after - threshold;
    return false;
  }
  const isWhollyOver = before >= limit;
  if (isWhollyOver) {
    statistics.overLimit += hits;
  } else {
    statistics.overLimit += after - limit;
    // The part of a straddling addend below the threshold is in total_hits only.
    statistics.nearLimit += limit - Math.max(nearThreshold(limit, nearLimitRatio), before);
  }
  rejectOrShadow(check, isWhollyOver ? hits : after - limit);
  return true;
}

/** The same for a check whose key the local cache knows to be over its limit. */
export function judgeKnownOver(check: LimitedCheck, nowSeconds: number): void {
  const { statistics } = check.match;
  check.durationUntilResetSeconds = secondsUntilReset(nowSeconds, check.windowSeconds);
  statistics.overLimit += check.hits;
  statistics.overLimitWithLocalCache += check.hits;
  rejectOrShadow(check, check.hits);
}

function rejectOrShadow(check: LimitedCheck, overHits: number): void {
  check.limitRemaining = 0;
  if (check.match.rule.shadowMode) {
    check.code = OK;
    check.match.statistics.shadowMode += overHits;
  } else {
    check.code = OVER_LIMIT;
  }
}
