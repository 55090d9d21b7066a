// Limits that a real API server rejects, with its messages: a table of server.system.test.ts.
import { limit, limits, names, rule } from "./server-case.suite.ts";
import type { RefusedCase } from "./server-case.suite.ts";
import {
  empty,
  inBody,
  mistyped,
  pathAt,
  requestless,
  required,
  ruled,
  tooLong,
  tooMany,
  unitWhenUnlimited,
  unitless,
  unknown,
  unsupportedUnit,
  undecoded,
} from "./server-messages.suite.ts";

const RULE = pathAt(1);
const LIMIT = `${RULE}.rateLimit`;
const LIMITS = `${RULE}.rateLimits`;
const MONTHLESS = ruled(`${LIMIT}.monthDay`, "a day of the month needs the unit month and a time zone");
const NEGATIVE = inBody(`${LIMIT}.requestsPerUnit`, "-1", "should be greater than or equal to 0");

/** Manifests with a wrong limit at the first level. */
export const REFUSED_LIMITS: readonly RefusedCase[] = [
  ["a limit that is a number", rule("key: k, rateLimit: 5"), mistyped(LIMIT, "integer", "object")],
  ["a null unit", limit("unit: null, requestsPerUnit: 5"), unitless(LIMIT)],
  ["not unlimited and nothing else", limit("unlimited: false"), `[${unitless(LIMIT)}, ${requestless(LIMIT)}]`],
  ["a unit in capitals", limit("unit: DAY, requestsPerUnit: 5"), unsupportedUnit(LIMIT, "DAY")],
  ["an empty unit", limit('unit: "", requestsPerUnit: 5'), unsupportedUnit(LIMIT, "")],
  ["fewer than 0 requests", limit("unit: day, requestsPerUnit: -1"), NEGATIVE],
  [
    "more requests than 32 bits hold",
    limit("unit: day, requestsPerUnit: 4294967296"),
    inBody(`${LIMIT}.requestsPerUnit`, "4294967296", "should be less than or equal to 4294967295"),
  ],
  [
    "half a request",
    limit("unit: day, requestsPerUnit: 0.5"),
    mistyped(`${LIMIT}.requestsPerUnit`, "number", "integer"),
  ],
  [
    "requests as a text",
    limit('unit: day, requestsPerUnit: "5"'),
    mistyped(`${LIMIT}.requestsPerUnit`, "string", "integer"),
  ],
  ["unlimited with a unit", limit("unit: day, unlimited: true"), unitWhenUnlimited(LIMIT)],
  ["unlimited as a text", limit("unlimited: yess"), mistyped(`${LIMIT}.unlimited`, "string", "boolean")],
  [
    "a limit that replaces itself",
    limit("unit: day, requestsPerUnit: 5, name: a, replaces: [{ name: b }, { name: a }]"),
    `${LIMIT}.replaces: Invalid value: "object": replaces should not contain name of same descriptor`,
  ],
  ["an empty name in replaces", daily('replaces: [{ name: "" }]'), empty(`${LIMIT}.replaces[0].name`)],
  ["no name in replaces", daily("replaces: [{}]"), required(`${LIMIT}.replaces[0].name`)],
  ["replaces as texts", daily("replaces: [a]"), mistyped(`${LIMIT}.replaces[0]`, "string", "object")],
  ["too many names in replaces", daily(`replaces: [${names(33)}]`), tooMany(`${LIMIT}.replaces`, 33, 32)],
  ["a name of a limit that is too long", daily(`name: ${"n".repeat(257)}`), tooLong(`${LIMIT}.name`, 256)],
  ["fields of the future", daily("period: 2"), unknown(`${LIMIT}.period`)],
  [
    "a multiplier of 0",
    daily("unitMultiplier: 0"),
    inBody(`${LIMIT}.unitMultiplier`, "0", "should be greater than or equal to 1"),
  ],
  [
    "a window of more than ten years",
    daily("unitMultiplier: 3651"),
    ruled(
      `${LIMIT}.unitMultiplier`,
      "a window has at most ten years: 315360000 seconds, 5256000 minutes, 87600 hours, 3650 days, 521 weeks, 121 months, 10 years",
    ),
  ],
  [
    "another algorithm",
    daily("algorithm: gcra"),
    `${LIMIT}.algorithm: Unsupported value: "gcra": supported values: "fixed_window", "sliding_window", "token_bucket"`,
  ],
  [
    "a burst of 0",
    daily("algorithm: token_bucket, burst: 0"),
    inBody(`${LIMIT}.burst`, "0", "should be greater than or equal to 1"),
  ],
  [
    "a burst of a bucket that never leaks",
    limit("unit: day, requestsPerUnit: 0, algorithm: token_bucket, burst: 3"),
    ruled(`${LIMIT}.burst`, "a burst needs at least 1 request per unit: a bucket of 0 never leaks"),
  ],
  ["a burst without a bucket", daily("burst: 3"), ruled(`${LIMIT}.burst`, "a burst needs the algorithm token_bucket")],
  [
    "a sliding window in a time zone",
    daily("algorithm: sliding_window, timeZone: UTC"),
    ruled(`${LIMIT}.timeZone`, "a time zone needs the algorithm fixed_window"),
  ],
  [
    "an hour in a time zone",
    limit("unit: hour, requestsPerUnit: 5, timeZone: UTC"),
    ruled(`${LIMIT}.timeZone`, "a time zone needs the unit day, week, month or year"),
  ],
  [
    "several days in a time zone",
    daily("timeZone: UTC, unitMultiplier: 2"),
    ruled(`${LIMIT}.unitMultiplier`, "in a time zone a unit multiplier needs the unit month"),
  ],
  ["an empty time zone", daily('timeZone: ""'), empty(`${LIMIT}.timeZone`)],
  ["a day of the month of a day", daily("timeZone: UTC, monthDay: 3"), MONTHLESS],
  ["a day of the month without a time zone", limit("unit: month, requestsPerUnit: 5, monthDay: 3"), MONTHLESS],
  [
    "a day of the month that no month has",
    limit("unit: month, requestsPerUnit: 5, timeZone: UTC, monthDay: 32"),
    inBody(`${LIMIT}.monthDay`, "32", "should be less than or equal to 31"),
  ],
  [
    "unlimited with an algorithm",
    limit("unlimited: true, algorithm: sliding_window"),
    ruled(
      `${LIMIT}.unlimited`,
      "an unlimited rule has no window: remove unitMultiplier, algorithm, burst, countRejectedHits, timeZone, monthDay",
    ),
  ],
  ["a list of one limit", listed(limits(1)), inBody(LIMITS, "1", "should have at least 2 items")],
  ["a list of nine limits", listed(limits(9)), tooMany(LIMITS, 9, 8)],
  [
    "a limit of a list without a name",
    listed(`${limits(1)}, { unit: day, requestsPerUnit: 1 }`),
    required(`${LIMITS}[1].name`),
  ],
  [
    "a name twice in a list",
    listed(`${limits(2)}, ${limits(1)}`),
    `${LIMITS}[2]: Duplicate value: map[string]interface {}{"name":"n0"}`,
  ],
  ["an unlimited limit of a list", listed(limits(2, ", unlimited: true")), unlisted("unlimited")],
  ["a limit of a list that replaces others", listed(limits(2, ", replaces: []")), unlisted("replaces")],
  [
    "one limit of a list that counts rejected hits",
    listed(`${limits(1)}, { name: b, unit: day, requestsPerUnit: 1, countRejectedHits: true }`),
    ruled(LIMITS, "countRejectedHits must be the same in each limit of a list"),
  ],
  [
    "a list with a burst without a bucket",
    listed(`${limits(1)}, { name: b, unit: day, requestsPerUnit: 1, burst: 3 }`),
    ruled(`${LIMITS}[1].burst`, "a burst needs the algorithm token_bucket"),
  ],
  [
    "a limit and a list",
    rule(`key: k, rateLimit: { unit: day, requestsPerUnit: 1 }, rateLimits: [${limits(2)}]`),
    `${LIMITS}: Forbidden: a rule has one limit or a list of limits: remove one of them`,
  ],
];

/** A manifest with one list of limits. */
function listed(fields: string): string {
  return rule(`key: k, rateLimits: [${fields}]`);
}

/** The message for a field that only a limit outside of lists may have, in two limits. */
function unlisted(field: string): string {
  return undecoded(
    `strict decoding error: unknown field "${LIMITS}[0].${field}", unknown field "${LIMITS}[1].${field}"`,
  );
}

/** A limit of 5 requests a day with further fields. */
function daily(fields: string): string {
  return limit(`unit: day, requestsPerUnit: 5, ${fields}`);
}
