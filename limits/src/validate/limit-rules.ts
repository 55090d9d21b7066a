// Validates the limits of one rule. Fields that envoyproxy/ratelimit has come first, in its words and order.
import type { FieldPath } from "../model/field-path.ts";
import {
  ALGORITHMS,
  DEFAULT_ALGORITHM,
  type DescriptorModel,
  LIMITS_MAX,
  type RateLimitModel,
  WINDOW_FIELDS,
} from "../model/model.ts";
import { parseUnit, UNIT_SECONDS, WINDOW_MAX_SECONDS, windowSecondsOf } from "../model/unit.ts";
import type { Unit } from "../model/unit.ts";

/** Fewest limits in a list. */
const LIMITS_MIN = 2;

/** Largest capacity of a token bucket: the largest number in the 32 bits on the wire. */
const BURST_MAX = 4_294_967_295;

/** Latest day of a month. */
const MONTH_DAY_MAX = 31;

/** Units that a window in a time zone may have. */
const CALENDAR_UNITS: ReadonlySet<Unit | undefined> = new Set<Unit>(["DAY", "WEEK", "MONTH", "YEAR"]);

/** Names that need no look-up; links such as US/Eastern are not among them. */
const TIME_ZONES: ReadonlySet<string> = new Set(["UTC", ...Intl.supportedValuesOf("timeZone")]);

/** Takes a problem, and its path from the rule on. */
type Report = (path: FieldPath, message: string) => void;

/** Reports what is wrong with the limit of a rule, or with its list of limits. */
export function checkLimits({ rateLimit, rateLimits }: DescriptorModel, report: Report): void {
  if (rateLimit !== undefined) checkLimit(rateLimit, (path, message) => report(["rateLimit", ...path], message));
  if (rateLimits === undefined) return;
  if (rateLimit !== undefined) report(["rateLimits"], "a rule has one limit or a list of limits: remove one of them");
  checkList(rateLimits, (path, message) => report(["rateLimits", ...path], message));
}

function checkLimit(limit: RateLimitModel, report: Report): void {
  const hasUnit = parseUnit(limit.unit) !== undefined;
  if (limit.unlimited && hasUnit) report(["unit"], "should not specify rate limit unit when unlimited");
  if (!limit.unlimited && !hasUnit) report(["unit"], `invalid rate limit unit '${limit.unit}'`);
  limit.replaces.forEach((replace, index) => {
    const path = ["replaces", index, "name"];
    if (replace.name === "") report(path, "should not have an empty replaces entry");
    else if (replace.name === limit.name) report(path, "replaces should not contain name of same descriptor");
  });
  if (!limit.unlimited) {
    checkMultiplier(limit, report);
    checkAlgorithm(limit, report);
    checkCalendar(limit, report);
  } else {
    for (const field of WINDOW_FIELDS)
      if (limit[field] !== undefined) report([field], "must be absent from an unlimited rule, which has no window");
  }
}

/** A list is all or nothing, so that what its limits have in common is the same in each. */
function checkList(limits: readonly RateLimitModel[], report: Report): void {
  if (limits.length < LIMITS_MIN || limits.length > LIMITS_MAX)
    report([], `a list has ${LIMITS_MIN} to ${LIMITS_MAX} limits, current number is ${limits.length}`);
  const names = new Set<string>();
  limits.forEach((limit, index) => {
    checkLimit(limit, (path, message) => report([index, ...path], message));
    if (limit.name === "") report([index, "name"], "each limit of a list needs a name");
    else if (names.has(limit.name)) report([index, "name"], `duplicate limit name '${limit.name}' in a list`);
    names.add(limit.name);
    if (limit.unlimited) report([index, "unlimited"], "a limit of a list cannot be unlimited: remove it");
    if (limit.replaces.length > 0) report([index, "replaces"], "a limit of a list cannot replace others: remove it");
    if (limit.countRejectedHits !== limits[0]?.countRejectedHits)
      report(
        [index, "countRejectedHits"],
        `must be ${limits[0]?.countRejectedHits ?? "absent"} as in the list's first limit`,
      );
  });
}

function checkMultiplier({ unit: text, unitMultiplier }: RateLimitModel, report: Report): void {
  if (unitMultiplier === undefined) return;
  if (unitMultiplier === 0) report(["unitMultiplier"], "invalid unit multiplier of 0");
  const unit = parseUnit(text);
  if (unit === undefined || windowSecondsOf(unit, unitMultiplier) !== undefined) return;
  const largest = Math.floor(WINDOW_MAX_SECONDS / UNIT_SECONDS[unit]);
  const window = `a window of ${unit.toLowerCase()}s has at most ${largest}, which is ten years`;
  report(["unitMultiplier"], `invalid unit multiplier of ${unitMultiplier}: ${window}`);
}

function checkAlgorithm({ algorithm, burst, requestsPerUnit }: RateLimitModel, report: Report): void {
  if (algorithm !== undefined && !ALGORITHMS.some((known) => known === algorithm))
    report(["algorithm"], `invalid algorithm '${algorithm}': must be fixed_window, sliding_window or token_bucket`);
  if (burst === undefined) return;
  if (algorithm !== "token_bucket")
    report(
      ["burst"],
      `a burst needs the algorithm token_bucket, current algorithm is '${algorithm ?? DEFAULT_ALGORITHM}'`,
    );
  if (burst < 1 || burst > BURST_MAX) report(["burst"], `invalid burst of ${burst}: must be 1 to ${BURST_MAX}`);
  if (requestsPerUnit === 0) report(["burst"], "a burst needs at least 1 request per unit: a bucket of 0 never leaks");
}

function checkCalendar(limit: RateLimitModel, report: Report): void {
  const { unitMultiplier = 1, algorithm = DEFAULT_ALGORITHM, timeZone, monthDay } = limit;
  if (timeZone === undefined && monthDay === undefined) return;
  const unit = parseUnit(limit.unit);
  if (timeZone !== undefined) {
    if (!isTimeZone(timeZone))
      report(["timeZone"], `unknown time zone '${timeZone}': must be a name such as Europe/Zurich or UTC`);
    if (algorithm !== DEFAULT_ALGORITHM)
      report(["timeZone"], `a time zone needs the algorithm fixed_window, current algorithm is '${algorithm}'`);
    if (!CALENDAR_UNITS.has(unit))
      report(["timeZone"], `a time zone needs the unit day, week, month or year, current unit is '${limit.unit}'`);
    else if (unit !== "MONTH" && unitMultiplier > 1)
      report(
        ["unitMultiplier"],
        `in a time zone a unit multiplier needs the unit month, current unit is '${limit.unit}'`,
      );
  }
  if (monthDay === undefined) return;
  if (monthDay < 1 || monthDay > MONTH_DAY_MAX)
    report(["monthDay"], `invalid day of the month ${monthDay}: must be 1 to ${MONTH_DAY_MAX}`);
  if (unit !== "MONTH")
    report(["monthDay"], `a day of the month needs the unit month, current unit is '${limit.unit}'`);
  if (timeZone === undefined) report(["monthDay"], "a day of the month needs a time zone such as Europe/Zurich or UTC");
}

/**
 * Returns true for a name of the IANA database, links included; an offset such as +01:00 is none. Temporal decides,
 * which the windows are made with: Intl takes further names, such as PST.
 */
function isTimeZone(name: string): boolean {
  if (TIME_ZONES.has(name)) return true;
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    return Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name).timeZoneId !== "";
  } catch {
    // A RangeError says that the name is unknown.
    return false;
  }
}
