// The response headers: how close a client is to its limit, and the rule that rejected it.
import type { Rule } from "@weir/limits/rules/rule";
import { type Check, type LimitedCheck, UNLIMITED_REMAINING } from "@weir/limits/classify/check";
import { OVER_LIMIT } from "@weir/limits/classify/status";
import type { HeaderToAdd } from "./decision.ts";
import type { LimitHeaderNames } from "./decider.ts";

/** Everything outside visible ASCII, and the percent sign itself: encoded in a header value. */
const UNSAFE_IN_HEADER = /[^\x21-\x24\x26-\x7e]/gu;

/**
 * Limit, remaining and reset of the descriptor that is closest to its limit; undefined when none
 * has a limit.
 */
export function limitHeaders(
  checks: readonly Check[],
  names: LimitHeaderNames,
  quotaMode: boolean,
): readonly HeaderToAdd[] | undefined {
  const chosen = closestToLimit(checks, quotaMode);
  if (chosen?.currentLimit === undefined) return undefined;
  return [
    { key: names.limit, value: String(chosen.currentLimit.requestsPerUnit) },
    { key: names.remaining, value: String(chosen.limitRemaining) },
    { key: names.reset, value: String(chosen.durationUntilResetSeconds) },
  ];
}

/** The configured path of a rule as a header can carry it: percent-encoded. */
export function headerValueOf(rule: Rule): string {
  return rule.path.toWellFormed().replace(UNSAFE_IN_HEADER, (character) => encodeURIComponent(character));
}

/**
 * The smallest remaining, the first of equals; but the last rejection by a limit that is not a
 * quota wins over all.
 */
function closestToLimit(checks: readonly Check[], quotaMode: boolean): LimitedCheck | undefined {
  let chosen: LimitedCheck | undefined;
  let remaining = UNLIMITED_REMAINING;
  for (const check of checks) {
    if (check.kind !== "limited") continue;
    const isRejection = check.code === OVER_LIMIT && !quotaMode && !check.match.rule.quotaMode;
    if (isRejection || check.limitRemaining < remaining) {
      chosen = check;
      remaining = check.limitRemaining;
    }
  }
  return chosen;
}
