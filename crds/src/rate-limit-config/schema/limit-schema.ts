// The schema of the limit inside a rule of the custom resource. The validator of @weir/limits repeats its rules on fields
// that need each other.
import * as z from "zod";

import { flag, list, text } from "../../schema/fields.ts";

/** Longest name of a limit, in characters. */
const LIMIT_NAME_LENGTH_MAX = 256;

/** Most limits that one limit switches off. */
const REPLACES_MAX = 32;

/** Largest number of requests per unit: the largest in the 32 bits on the wire. */
const REQUESTS_MAX = 4_294_967_295;

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

const limitFields = {
  unit: z
    .enum(["second", "minute", "hour", "day", "week", "month", "year"])
    .optional()
    .describe(
      "Length of the window in which requests are counted: second, minute, hour, day, week, month (30 days) or year (365 days). Windows are " +
        "aligned to the Unix epoch. Required, unless unlimited is true: then it must be absent.",
    ),
  requestsPerUnit: z.int().min(0).max(REQUESTS_MAX).optional().meta({
    format: "int64",
    description: "Requests allowed in one unit. 0 rejects every request. Required, unless unlimited is true.",
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
} as const;

/** The limit of a rule. */
export const limitSchema = z
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
