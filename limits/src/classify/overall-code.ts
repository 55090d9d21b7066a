// The overall answer of a call from the statuses of its descriptors, before global shadow mode.
import type { Rule } from "../rules/rule.ts";
import type { Check } from "./check.ts";
import { type Code, OK, OVER_LIMIT } from "./status.ts";

/**
 * Any limit that is over rejects the call; quotas reject it only when all of them are over. With
 * `quotaMode` every descriptor is a quota, also those without a rule (which pass), but not unlimited
 * ones.
 */
export function overallCode(checks: readonly Check[], quotaMode: boolean): Code {
  let quotas = 0;
  let quotasOver = 0;
  for (const check of checks) {
    if (isQuota(check, quotaMode)) {
      quotas += 1;
      if (check.code === OVER_LIMIT) quotasOver += 1;
    } else if (check.code === OVER_LIMIT) {
      return OVER_LIMIT;
    }
  }
  return quotas > 0 && quotasOver === quotas ? OVER_LIMIT : OK;
}

/**
 * The first rule that rejected a call that is over its limits; undefined when none did. A quota
 * that is over while another one is not rejects nothing, nor does a rule whose status is based on
 * the failure mode.
 */
export function rejectingRule(checks: readonly Check[], quotaMode: boolean): Rule | undefined {
  const hasQuotaPassed = checks.some((check) => isQuota(check, quotaMode) && check.code === OK);
  for (const check of checks) {
    if (check.kind !== "limited" || check.code !== OVER_LIMIT || check.decidedBy === "failure mode") continue;
    if (!hasQuotaPassed || !isQuota(check, quotaMode)) return check.match.rule;
  }
  return undefined;
}

function isQuota(check: Check, quotaMode: boolean): boolean {
  switch (check.kind) {
    case "unlimited":
      return false;
    case "limited":
      return quotaMode || check.match.rule.quotaMode;
    case "none":
      return quotaMode || check.isQuota;
  }
}
