// Manifests with limits that a real API server rejects, with its messages: tables of
// server.system.test.ts.
import { limit, manifest, names, rule, ruleAt } from "./server-case.suite.ts";
import type { ServerCase } from "./server-case.suite.ts";

/** Manifests with a wrong limit at the first level, or another mistake below it. */
export const REFUSED_LIMITS: readonly ServerCase[] = [
  {
    what: "an empty limit",
    manifest: limit(""),
    refusal:
      "[spec.descriptors[0].rateLimit.unit: Required value: unit is required, unless unlimited is true, spec.descriptors[0].rateLimit.requestsPerUnit: Required value: requestsPerUnit is required, unless unlimited is true; 0 rejects every request]",
  },
  {
    what: "a limit that is a number",
    manifest: rule("key: k, rateLimit: 5"),
    refusal:
      'spec.descriptors[0].rateLimit: Invalid value: "integer": spec.descriptors[0].rateLimit in body must be of type object: "integer"',
  },
  {
    what: "no unit",
    manifest: limit("requestsPerUnit: 5"),
    refusal: "spec.descriptors[0].rateLimit.unit: Required value: unit is required, unless unlimited is true",
  },
  {
    what: "a null unit",
    manifest: limit("unit: null, requestsPerUnit: 5"),
    refusal: "spec.descriptors[0].rateLimit.unit: Required value: unit is required, unless unlimited is true",
  },
  {
    what: "no requests",
    manifest: limit("unit: day"),
    refusal:
      "spec.descriptors[0].rateLimit.requestsPerUnit: Required value: requestsPerUnit is required, unless unlimited is true; 0 rejects every request",
  },
  {
    what: "not unlimited and nothing else",
    manifest: limit("unlimited: false"),
    refusal:
      "[spec.descriptors[0].rateLimit.unit: Required value: unit is required, unless unlimited is true, spec.descriptors[0].rateLimit.requestsPerUnit: Required value: requestsPerUnit is required, unless unlimited is true; 0 rejects every request]",
  },
  {
    what: "a unit in capitals",
    manifest: limit("unit: DAY, requestsPerUnit: 5"),
    refusal:
      'spec.descriptors[0].rateLimit.unit: Unsupported value: "DAY": supported values: "second", "minute", "hour", "day", "week", "month", "year"',
  },
  {
    what: "an unknown unit",
    manifest: limit("unit: fortnight, requestsPerUnit: 5"),
    refusal:
      'spec.descriptors[0].rateLimit.unit: Unsupported value: "fortnight": supported values: "second", "minute", "hour", "day", "week", "month", "year"',
  },
  {
    what: "an empty unit",
    manifest: limit('unit: "", requestsPerUnit: 5'),
    refusal:
      'spec.descriptors[0].rateLimit.unit: Unsupported value: "": supported values: "second", "minute", "hour", "day", "week", "month", "year"',
  },
  {
    what: "fewer than 0 requests",
    manifest: limit("unit: day, requestsPerUnit: -1"),
    refusal:
      "spec.descriptors[0].rateLimit.requestsPerUnit: Invalid value: -1: spec.descriptors[0].rateLimit.requestsPerUnit in body should be greater than or equal to 0",
  },
  {
    what: "more requests than 32 bits hold",
    manifest: limit("unit: day, requestsPerUnit: 4294967296"),
    refusal:
      "spec.descriptors[0].rateLimit.requestsPerUnit: Invalid value: 4294967296: spec.descriptors[0].rateLimit.requestsPerUnit in body should be less than or equal to 4294967295",
  },
  {
    what: "half a request",
    manifest: limit("unit: day, requestsPerUnit: 0.5"),
    refusal:
      'spec.descriptors[0].rateLimit.requestsPerUnit: Invalid value: "number": spec.descriptors[0].rateLimit.requestsPerUnit in body must be of type integer: "number"',
  },
  {
    what: "requests as a text",
    manifest: limit('unit: day, requestsPerUnit: "5"'),
    refusal:
      'spec.descriptors[0].rateLimit.requestsPerUnit: Invalid value: "string": spec.descriptors[0].rateLimit.requestsPerUnit in body must be of type integer: "string"',
  },
  {
    what: "unlimited with a unit",
    manifest: limit("unit: day, unlimited: true"),
    refusal: "spec.descriptors[0].rateLimit.unit: Forbidden: should not specify rate limit unit when unlimited",
  },
  {
    what: "unlimited with unit and requests",
    manifest: limit("unit: day, requestsPerUnit: 1, unlimited: true"),
    refusal: "spec.descriptors[0].rateLimit.unit: Forbidden: should not specify rate limit unit when unlimited",
  },
  {
    what: "unlimited as a text",
    manifest: limit("unlimited: yess"),
    refusal:
      'spec.descriptors[0].rateLimit.unlimited: Invalid value: "string": spec.descriptors[0].rateLimit.unlimited in body must be of type boolean: "string"',
  },
  {
    what: "a limit that replaces itself",
    manifest: limit("unit: day, requestsPerUnit: 5, name: a, replaces: [{ name: b }, { name: a }]"),
    refusal:
      'spec.descriptors[0].rateLimit.replaces: Invalid value: "object": replaces should not contain name of same descriptor',
  },
  {
    what: "an empty name in replaces",
    manifest: limit('unit: day, requestsPerUnit: 5, replaces: [{ name: "" }]'),
    refusal:
      'spec.descriptors[0].rateLimit.replaces[0].name: Invalid value: "": spec.descriptors[0].rateLimit.replaces[0].name in body should be at least 1 chars long',
  },
  {
    what: "no name in replaces",
    manifest: limit("unit: day, requestsPerUnit: 5, replaces: [{}]"),
    refusal: "spec.descriptors[0].rateLimit.replaces[0].name: Required value",
  },
  {
    what: "replaces as texts",
    manifest: limit("unit: day, requestsPerUnit: 5, replaces: [a]"),
    refusal:
      'spec.descriptors[0].rateLimit.replaces[0]: Invalid value: "string": spec.descriptors[0].rateLimit.replaces[0] in body must be of type object: "string"',
  },
  {
    what: "too many names in replaces",
    manifest: limit(`unit: day, requestsPerUnit: 5, replaces: [${names(33)}]`),
    refusal: "spec.descriptors[0].rateLimit.replaces: Too many: 33: must have at most 32 items",
  },
  {
    what: "a name of a limit that is too long",
    manifest: limit(`unit: day, requestsPerUnit: 5, name: ${"n".repeat(257)}`),
    refusal: "spec.descriptors[0].rateLimit.name: Too long: may not be more than 256 bytes",
  },
  {
    what: "fields of the future",
    manifest: limit("unit: day, requestsPerUnit: 5, unitMultiplier: 2"),
    refusal:
      'RateLimitConfig in version "v1alpha1" cannot be handled as a RateLimitConfig: strict decoding error: unknown field "spec.descriptors[0].rateLimit.unitMultiplier"',
  },
  {
    what: "a share without a star",
    manifest: rule("key: k, value: v, shareThreshold: true"),
    refusal:
      "spec.descriptors[0].shareThreshold: Invalid value: \"object\": shareThreshold can only be used with wildcard values (containing '*')",
  },
  {
    what: "an empty key at level 5",
    manifest: ruleAt(5, 'key: ""'),
    refusal:
      'spec.descriptors[0].descriptors[0].descriptors[0].descriptors[0].descriptors[0].key: Invalid value: "": spec.descriptors[0].descriptors[0].descriptors[0].descriptors[0].descriptors[0].key in body should be at least 1 chars long',
  },
  {
    what: "a misspelt field at level 6",
    manifest: ruleAt(6, "key: k, ratelimit: { unit: day, requestsPerUnit: 1 }"),
    refusal:
      'RateLimitConfig in version "v1alpha1" cannot be handled as a RateLimitConfig: strict decoding error: unknown field "spec.descriptors[0].descriptors[0].descriptors[0].descriptors[0].descriptors[0].descriptors[0].ratelimit"',
  },
  {
    what: "several things",
    manifest: manifest('{ domain: "", descriptors: [{ key: "", rateLimit: { unit: x, requestsPerUnit: -1 } }] }'),
    refusal:
      'spec.descriptors[0].key: Invalid value: "": spec.descriptors[0].key in body should be at least 1 chars long, spec.descriptors[0].rateLimit.requestsPerUnit: Invalid value: -1: spec.descriptors[0].rateLimit.requestsPerUnit in body should be greater than or equal to 0, spec.descriptors[0].rateLimit.unit: Unsupported value: "x": supported values: "second", "minute", "hour", "day", "week", "month", "year", spec.domain: Invalid value: "": spec.domain in body should be at least 1 chars long',
  },
];

/**
 * Rules that the server rejects at every level, and its message for the rule at `RULE`, such as
 * `spec.descriptors[0]`.
 */
export const REFUSED_AT_EVERY_LEVEL: readonly {
  readonly what: string;
  readonly fields: string;
  readonly refusal: string;
}[] = [
  {
    what: "no unit",
    fields: "key: k, rateLimit: { requestsPerUnit: 5 }",
    refusal: "RULE.rateLimit.unit: Required value: unit is required, unless unlimited is true",
  },
  {
    what: "no requests",
    fields: "key: k, rateLimit: { unit: day }",
    refusal:
      "RULE.rateLimit.requestsPerUnit: Required value: requestsPerUnit is required, unless unlimited is true; 0 rejects every request",
  },
  {
    what: "an empty limit",
    fields: "key: k, rateLimit: {}",
    refusal:
      "[RULE.rateLimit.unit: Required value: unit is required, unless unlimited is true, RULE.rateLimit.requestsPerUnit: Required value: requestsPerUnit is required, unless unlimited is true; 0 rejects every request]",
  },
  {
    what: "unlimited with unit and requests",
    fields: "key: k, rateLimit: { unit: day, requestsPerUnit: 1, unlimited: true }",
    refusal: "RULE.rateLimit.unit: Forbidden: should not specify rate limit unit when unlimited",
  },
  {
    what: "an unknown unit",
    fields: "key: k, rateLimit: { unit: days, requestsPerUnit: 1 }",
    refusal:
      'RULE.rateLimit.unit: Unsupported value: "days": supported values: "second", "minute", "hour", "day", "week", "month", "year"',
  },
  {
    what: "a limit as a rule file writes it",
    fields: "key: k, rate_limit: { unit: day, requests_per_unit: 1 }",
    refusal:
      'RateLimitConfig in version "v1alpha1" cannot be handled as a RateLimitConfig: strict decoding error: unknown field "RULE.rate_limit"',
  },
  {
    what: "a NUL character in the key",
    fields: 'key: "a\\0b"',
    refusal: "RULE.key: Invalid value: \"a\\x00b\": RULE.key in body should match '^[^\\x00-\\x1f\\x7f-\\x9f]*$'",
  },
  {
    what: "a control character in the value",
    fields: 'key: k, value: "a\\u0085"',
    refusal: "RULE.value: Invalid value: \"a\\u0085\": RULE.value in body should match '^[^\\x00-\\x1f\\x7f-\\x9f]*$'",
  },
];
