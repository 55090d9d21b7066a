// Turns the count of a descriptor into its status and its statistics. Pure but for the two objects it is given.
import type { LimitedCheck } from "./check.ts";
import { OK, OVER_LIMIT } from "./decision.ts";
import { secondsUntilReset } from "./window.ts";

/**
 * Hits above this number are near the limit. Single precision, as in the field: pods of both kinds must call the same hit near. `nearLimitRatio` is
 * already rounded to single precision.
 */
function nearThreshold(requestsPerUnit: number, nearLimitRatio: number): number {
  return Math.floor(Math.fround(Math.fround(requestsPerUnit) * nearLimitRatio));
}

/** Writes code, remaining and reset of a counted check, and adds its hits to the statistics of its rule. */
export function judge(check: LimitedCheck, nearLimitRatio: number, nowSeconds: number): void {
  const { rule, statistics } = check.match;
  const limit = rule.limit.requestsPerUnit;
  const { addend, after } = check;
  const before = after - addend;
  check.durationUntilResetSeconds = secondsUntilReset(nowSeconds, check.windowSeconds);
  if (after <= limit) {
    check.code = OK;
    check.limitRemaining = limit - after;
    statistics.withinLimit += addend;
    const threshold = nearThreshold(limit, nearLimitRatio);
    if (after > threshold) statistics.nearLimit += before >= threshold ? addend : after - threshold;
    return;
  }
  const isWhollyOver = before >= limit;
  if (isWhollyOver) {
    statistics.overLimit += addend;
  } else {
    statistics.overLimit += after - limit;
    // The part of a straddling addend below the threshold is in total_hits only.
    statistics.nearLimit += limit - Math.max(nearThreshold(limit, nearLimitRatio), before);
  }
  check.limitRemaining = 0;
  if (rule.shadowMode) {
    check.code = OK;
    statistics.shadowMode += isWhollyOver ? addend : after - limit;
  } else {
    check.code = OVER_LIMIT;
  }
}
