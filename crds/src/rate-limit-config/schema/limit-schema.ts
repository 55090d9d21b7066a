// The schema of the limit inside a rule of the custom resource. The validator of @weir/limits repeats its rules on fields
// that need each other.
import { ALGORITHMS, WINDOW_FIELDS } from "@weir/limits/model/model";
import { UNIT_SECONDS, WINDOW_MAX_SECONDS } from "@weir/limits/model/unit";
import * as z from "zod";

import { flag, list, text } from "../../schema/fields.ts";

/** Longest name of a limit, in characters. */
const LIMIT_NAME_LENGTH_MAX = 256;

/** Most limits that one limit switches off. */
const REPLACES_MAX = 32;

/** Largest number of requests per window: the largest in the 32 bits on the wire. */
const REQUESTS_MAX = 4_294_967_295;

/** Number of limits in a list. */
const LISTED_MIN = 2;
const LISTED_MAX = 8;

/** Longest name of a time zone, in characters; the longest in use has half of it. */
const TIME_ZONE_LENGTH_MAX = 64;

/** Latest day of a month. */
const MONTH_DAY_MAX = 31;

const UNITS = ["second", "minute", "hour", "day", "week", "month", "year"] as const;

/** Units in the longest window, by unit. */
const MULTIPLIERS_MAX = UNITS.map(
  (unit) =>
    [unit, Math.floor(WINDOW_MAX_SECONDS / UNIT_SECONDS[unit.toUpperCase() as Uppercase<typeof unit>])] as const,
);

/**
 * CEL rules about the limit of a rule. They are in the schema of the rule, because the API server's
 * budget depends on how many of the objects fit into one request, and empty limits are the smallest
 * objects.
 */
export const LIMIT_VALIDATIONS = [
  {
    rule: "!has(self.rateLimit) || has(self.rateLimit.unit) || (has(self.rateLimit.unlimited) && self.rateLimit.unlimited)",
    message: "unit is required, unless unlimited is true",
    reason: "FieldValueRequired",
    fieldPath: ".rateLimit.unit",
  },
  {
    rule: "!has(self.rateLimit) || has(self.rateLimit.requestsPerUnit) || (has(self.rateLimit.unlimited) && self.rateLimit.unlimited)",
    message: "requestsPerUnit is required, unless unlimited is true; 0 rejects every request",
    reason: "FieldValueRequired",
    fieldPath: ".rateLimit.requestsPerUnit",
  },
  {
    rule: "!has(self.rateLimit) || !has(self.rateLimit.unit) || !has(self.rateLimit.unlimited) || !self.rateLimit.unlimited",
    message: "should not specify rate limit unit when unlimited",
    reason: "FieldValueForbidden",
    fieldPath: ".rateLimit.unit",
  },
] as const;

/** One more, of the first level only: it costs too much below. */
export const REPLACES_VALIDATION = {
  rule: "!has(self.rateLimit) || !has(self.rateLimit.name) || !has(self.rateLimit.replaces) || self.rateLimit.replaces.all(replaced, replaced.name != self.rateLimit.name)",
  message: "replaces should not contain name of same descriptor",
  fieldPath: ".rateLimit.replaces",
} as const;

/**
 * CEL rules about fields of a limit that need each other, of the first level only: the API server's
 * budget is for it, and the control plane checks every level.
 */
const LIMIT_RULES = [
  {
    rule: "!has(self.burst) || (has(self.algorithm) && self.algorithm == 'token_bucket')",
    message: "a burst needs the algorithm token_bucket",
    fieldPath: ".burst",
  },
  {
    rule: "!has(self.burst) || !has(self.requestsPerUnit) || self.requestsPerUnit > 0",
    message: "a burst needs at least 1 request per unit: a bucket of 0 never leaks",
    fieldPath: ".burst",
  },
  {
    rule: "!has(self.timeZone) || !has(self.algorithm) || self.algorithm == 'fixed_window'",
    message: "a time zone needs the algorithm fixed_window",
    fieldPath: ".timeZone",
  },
  {
    rule: "!has(self.timeZone) || !has(self.unit) || self.unit in ['day', 'week', 'month', 'year']",
    message: "a time zone needs the unit day, week, month or year",
    fieldPath: ".timeZone",
  },
  {
    rule: "!has(self.timeZone) || !has(self.unitMultiplier) || self.unitMultiplier == 1 || !has(self.unit) || !(self.unit in ['day', 'week', 'year'])",
    message: "in a time zone a unit multiplier needs the unit month",
    fieldPath: ".unitMultiplier",
  },
  {
    rule: "!has(self.monthDay) || (has(self.timeZone) && has(self.unit) && self.unit == 'month')",
    message: "a day of the month needs the unit month and a time zone",
    fieldPath: ".monthDay",
  },
  {
    rule: `!has(self.unitMultiplier) || !has(self.unit) || self.unitMultiplier <= {${MULTIPLIERS_MAX.map(([unit, most]) => `'${unit}': ${most}`).join(", ")}}[self.unit]`,
    message: `a window has at most ten years: ${MULTIPLIERS_MAX.map(([unit, most]) => `${most} ${unit}s`).join(", ")}`,
    fieldPath: ".unitMultiplier",
  },
] as const;

const UNLIMITED_RULE = {
  rule: `!has(self.unlimited) || !self.unlimited || !(${WINDOW_FIELDS.map((field) => `has(self.${field})`).join(" || ")})`,
  message: `an unlimited rule has no window: remove ${WINDOW_FIELDS.join(", ")}`,
  fieldPath: ".unlimited",
} as const;

/** CEL rules about the list of limits of a rule, of the first level only. */
export const LIST_VALIDATIONS = [
  {
    rule: "!has(self.rateLimit) || !has(self.rateLimits)",
    message: "a rule has one limit or a list of limits: remove one of them",
    reason: "FieldValueForbidden",
    fieldPath: ".rateLimits",
  },
  {
    rule: "!has(self.rateLimits) || self.rateLimits.all(limit, has(limit.countRejectedHits) == has(self.rateLimits[0].countRejectedHits) && (!has(limit.countRejectedHits) || limit.countRejectedHits == self.rateLimits[0].countRejectedHits))",
    message: "countRejectedHits must be the same in each limit of a list",
    fieldPath: ".rateLimits",
  },
] as const;

const unit = z.enum(UNITS);

const requestsPerUnit = z.int().min(0).max(REQUESTS_MAX);

/** Fields that envoyproxy/ratelimit does not have. */
const windowFields = {
  unitMultiplier: z.int().min(1).max(WINDOW_MAX_SECONDS).optional().meta({
    format: "int64",
    description: "Units in a window: with minute, 5 makes windows of 5 minutes. Absent: 1.",
    example: 5,
  }),
  algorithm: z
    .enum(ALGORITHMS)
    .optional()
    .describe(
      "How requests are counted: anew in each window, with a share of the window before, or in a bucket that leaks requestsPerUnit in a window. Absent: fixed_window.",
    ),
  burst: z.int().min(1).max(REQUESTS_MAX).optional().meta({
    format: "int64",
    description:
      "Requests that fit into a token_bucket, which needs at least 1 requestsPerUnit. Absent: requestsPerUnit.",
    example: 20,
  }),
  countRejectedHits: flag(
    "Count requests that the limit rejects. Absent: true for a rateLimit with fixed_window, else false.",
  ),
  timeZone: text(TIME_ZONE_LENGTH_MAX).min(1).optional().meta({
    description:
      "IANA name of the time zone in which windows of a day, week (from Monday), month or year begin. Absent: windows are aligned to the Unix epoch.",
    example: "Europe/Zurich",
  }),
  monthDay: z.int().min(1).max(MONTH_DAY_MAX).optional().meta({
    format: "int32",
    description: "Day that months in a timeZone begin on; in shorter months their last. Absent: 1.",
    example: 15,
  }),
} as const;

const limitFields = {
  unit: unit
    .optional()
    .describe(
      "Length of the window in which requests are counted: second, minute, hour, day, week, month (30 days) or year (365 days). Windows are " +
        "aligned to the Unix epoch, unless timeZone is set. Required, unless unlimited is true: then it must be absent.",
    ),
  requestsPerUnit: requestsPerUnit.optional().meta({
    format: "int64",
    description: "Requests allowed in one window. 0 rejects every request. Required, unless unlimited is true.",
    example: 20,
  }),
  unlimited: flag("Every request passes, and is still counted in the statistics."),
  name: text(LIMIT_NAME_LENGTH_MAX).optional().meta({
    description:
      "Name of the limit: returned to the caller, and used by replaces of other limits. It need not be unique.",
    example: "per-user",
  }),
  replaces: list(
    z
      .object({
        name: text(LIMIT_NAME_LENGTH_MAX)
          .min(1)
          .meta({ description: "Name of the limits to switch off.", example: "per-address" }),
      })
      .describe("Names limits by their name."),
    {
      max: REPLACES_MAX,
      description:
        "Limits that this one switches off when both match the same request. They are neither counted nor enforced then.",
    },
  ),
  ...windowFields,
} as const;

const limitObject = z
  .object(limitFields)
  .superRefine((limit, context) => {
    if (limit.unlimited === true) return;
    if (limit.unit === undefined) {
      context.addIssue({ code: "custom", path: ["unit"], message: "is required, unless unlimited is true" });
    }
    if (limit.requestsPerUnit === undefined) {
      context.addIssue({
        code: "custom",
        path: ["requestsPerUnit"],
        message: "is required, unless unlimited is true; 0 rejects every request",
      });
    }
  })
  .meta({
    example: { unit: "minute", requestsPerUnit: 20 },
    description:
      "The limit: so many requests in each unit, or unlimited. A rule without one leads to the rules below it, or exempts its value from a " +
      "rule on the same key. One counter is kept for each different value of the entries that led here.",
  });

const listedLimit = z
  .object({
    name: text(LIMIT_NAME_LENGTH_MAX).min(1).meta({
      description:
        "Name of the limit: returned to the caller, and a part of its statistics' names. Unique in the list.",
      example: "burst",
    }),
    unit: unit.describe("Length of the window, as in rateLimit."),
    requestsPerUnit: requestsPerUnit.meta({
      format: "int64",
      description: "Requests allowed in one window.",
      example: 5,
    }),
    ...windowFields,
  })
  .meta({
    description: "One limit of several; none of them is unlimited or replaces others.",
    example: { name: "burst", unit: "second", requestsPerUnit: 5 },
  });

/** The limit of a rule of a level, counted from 1. */
export function limitSchema(level: number): typeof limitObject {
  return level === 1 ? limitObject.meta({ "x-kubernetes-validations": [...LIMIT_RULES, UNLIMITED_RULE] }) : limitObject;
}

/** The list of limits of a rule of a level, counted from 1. */
export function limitsSchema(level: number): z.ZodOptional<z.ZodArray<typeof listedLimit>> {
  return list(level === 1 ? listedLimit.meta({ "x-kubernetes-validations": LIMIT_RULES }) : listedLimit, {
    min: LISTED_MIN,
    max: LISTED_MAX,
    keys: ["name"],
    example: [
      { name: "burst", unit: "second", requestsPerUnit: 5 },
      { name: "sustained", unit: "minute", requestsPerUnit: 60 },
    ],
    description:
      "Several limits in place of rateLimit: a request passes when it has room in all of them. Of one that does not, none counts anything, " +
      "unless countRejectedHits is true.",
  });
}
