// Manifests that a real API server rejects, with its messages: tables of server.system.test.ts.
import {
  facts,
  fleets,
  limit,
  limits,
  manifest,
  named,
  names,
  rule,
  ruleAt,
  rules,
  spec,
} from "./server-case.suite.ts";
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
  undecoded,
  unitWhenUnlimited,
  unitless,
  unknown,
  unmatched,
  unsupportedUnit,
} from "./server-messages.suite.ts";

const RULE = pathAt(1);
const LIMIT = `${RULE}.rateLimit`;
const LIMITS = `${RULE}.rateLimits`;
const MONTHLESS = ruled(`${LIMIT}.monthDay`, "a day of the month needs the unit month and a time zone");
const NEGATIVE = inBody(`${LIMIT}.requestsPerUnit`, "-1", "should be greater than or equal to 0");

const FLEET_PATTERN = "^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$";
const TEXT_PATTERN = String.raw`^[^\x00-\x1f\x7f-\x9f]*$`;
const NAME_PART = `name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`;

/** Manifests whose spec the server rejects, but for limits. */
export const REFUSED: readonly RefusedCase[] = [
  ["no spec", manifest("").replace("spec: \n", ""), required("spec")],
  ["a null spec", manifest("null"), required("spec")],
  ["a spec that is a list", manifest("[]"), mistyped("spec", "array", "object")],
  ["no domain", manifest("{ descriptors: [] }"), required("spec.domain")],
  ["an empty domain", manifest('{ domain: "" }'), empty("spec.domain")],
  ["a null domain", manifest("{ domain: null }"), required("spec.domain")],
  ["a domain that is a number", manifest("{ domain: 5 }"), mistyped("spec.domain", "integer", "string")],
  ["a domain that is too long", manifest(`{ domain: ${"d".repeat(257)} }`), tooLong("spec.domain", 256)],
  ["an unknown field", spec("rules: []"), unknown("spec.rules")],
  [
    "a field twice",
    spec("domain: e"),
    undecoded('strict decoding error: yaml: unmarshal errors:\n  line 4: key "domain" already set in map'),
  ],
  ["an empty list of fleets", spec("fleets: []"), inBody("spec.fleets", "0", "should have at least 1 items")],
  ["a fleet twice", spec("fleets: [a, b, a]"), 'spec.fleets[2]: Duplicate value: "a"'],
  ["an empty fleet", spec('fleets: [""]'), empty("spec.fleets[0]")],
  ["a fleet with a slash", spec('fleets: ["a/b"]'), unmatched("spec.fleets[0]", "a/b", FLEET_PATTERN)],
  ["a fleet that is a star", spec('fleets: ["*"]'), unmatched("spec.fleets[0]", "*", FLEET_PATTERN)],
  ["a fleet that ends with a dash", spec('fleets: ["a-"]'), unmatched("spec.fleets[0]", "a-", FLEET_PATTERN)],
  ["a fleet that is too long", spec(`fleets: [${"f".repeat(64)}]`), tooLong("spec.fleets[0]", 63)],
  ["too many fleets", spec(`fleets: [${fleets(65)}]`), tooMany("spec.fleets", 65, 64)],
  ["fleets as a text", spec("fleets: edge"), mistyped("spec.fleets", "string", "array")],
  ["a null fleet", spec("fleets: [null]"), mistyped("spec.fleets[0]", "null", "string")],
  ["rules as a mapping", spec("descriptors: { key: k }"), unknown("spec.descriptors.key")],
  [
    "a rule that is a text",
    spec("descriptors: [k]"),
    `${RULE}: Invalid value: "k": must be an object for an array of list-type map, ${mistyped(RULE, "string", "object")}`,
  ],
  ["a null rule", spec("descriptors: [null]"), mistyped(RULE, "null", "object")],
  ["no key", rule("value: v"), required(`${RULE}.key`)],
  ["an empty key", rule('key: ""'), empty(`${RULE}.key`)],
  ["a null key", rule("key: null"), required(`${RULE}.key`)],
  ["a key that is a number", rule("key: 5"), mistyped(`${RULE}.key`, "integer", "string")],
  ["a key that is too long", rule(`key: ${"k".repeat(257)}`), tooLong(`${RULE}.key`, 256)],
  ["an empty key at level 5", ruleAt(5, 'key: ""'), empty(`${pathAt(5)}.key`)],
  ["a value that is a number", rule("key: k, value: 404"), mistyped(`${RULE}.value`, "integer", "string")],
  ["a value that YAML reads as a boolean", rule("key: k, value: yes"), mistyped(`${RULE}.value`, "boolean", "string")],
  ["a value that is too long", rule(`key: k, value: ${"v".repeat(1025)}`), tooLong(`${RULE}.value`, 1024)],
  ["too many rules at level 1", spec(`descriptors: [${rules(1025)}]`), tooMany("spec.descriptors", 1025, 1024)],
  [
    "too many rules at level 2",
    rule(`key: k, descriptors: [${rules(65)}]`),
    `${RULE}.descriptors: Invalid value: "object": must have at most 64 items`,
  ],
  [
    "too many rules at level 3",
    ruleAt(2, `key: k, descriptors: [${rules(65)}]`),
    tooMany(`${pathAt(2)}.descriptors`, 65, 64),
  ],
  [
    "a rule twice",
    spec("descriptors: [{ key: a, value: v }, { key: b }, { key: a, value: v, shadowMode: true }]"),
    'spec.descriptors[2]: Duplicate value: map[string]interface {}{"key":"a", "value":"v"}',
  ],
  [
    "a rule without a value twice, once with the empty value",
    ruleAt(5, 'key: k, descriptors: [{ key: a }, { key: a, value: "" }]'),
    `${pathAt(5)}.descriptors[1]: Duplicate value: map[string]interface {}{"key":"a", "value":""}`,
  ],
  ["a NUL character in the domain", manifest('{ domain: "a\\0b" }'), unmatched("spec.domain", "a\\x00b", TEXT_PATTERN)],
  ["a line break in the domain", manifest('{ domain: "a\\n" }'), unmatched("spec.domain", "a\\n", TEXT_PATTERN)],
  ["rules at level 7", ruleAt(7, "key: k"), unknown(`${pathAt(6)}.descriptors`)],
  ["an empty list of rules at level 7", ruleAt(6, "key: k, descriptors: []"), unknown(`${pathAt(6)}.descriptors`)],
  [
    "a misspelt field at level 6",
    ruleAt(6, "key: k, ratelimit: { unit: day, requestsPerUnit: 1 }"),
    unknown(`${pathAt(6)}.ratelimit`),
  ],
  ["a flag that is a text", rule('key: k, shadowMode: "true"'), mistyped(`${RULE}.shadowMode`, "string", "boolean")],
  [
    "a flag that is a number",
    rule("key: k, detailedMetric: 1"),
    mistyped(`${RULE}.detailedMetric`, "integer", "boolean"),
  ],
  ["metadata that is a text", rule("key: k, metadata: checkout"), mistyped(`${RULE}.metadata`, "string", "object")],
  ["metadata that is a list", rule("key: k, metadata: [1]"), mistyped(`${RULE}.metadata`, "array", "object")],
  ["too much metadata", rule(`key: k, metadata: { ${facts(65)} }`), tooMany(`${RULE}.metadata`, 65, 64)],
  [
    "a share without a star",
    rule("key: k, value: v, shareThreshold: true"),
    `${RULE}.shareThreshold: Invalid value: "object": shareThreshold can only be used with wildcard values (containing '*')`,
  ],
  [
    "several things",
    manifest('{ domain: "", descriptors: [{ key: "", rateLimit: { unit: x, requestsPerUnit: -1 } }] }'),
    [empty(`${RULE}.key`), NEGATIVE, unsupportedUnit(LIMIT, "x"), empty("spec.domain")].join(", "),
  ],
];

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

/** Rules that the server rejects at every level, and its message for the rule at `RULE`. */
export const REFUSED_AT_EVERY_LEVEL: readonly RefusedCase[] = [
  ["no unit", "key: k, rateLimit: { requestsPerUnit: 5 }", unitless("RULE.rateLimit")],
  ["no requests", "key: k, rateLimit: { unit: day }", requestless("RULE.rateLimit")],
  ["an empty limit", "key: k, rateLimit: {}", `[${unitless("RULE.rateLimit")}, ${requestless("RULE.rateLimit")}]`],
  [
    "unlimited with unit and requests",
    "key: k, rateLimit: { unit: day, requestsPerUnit: 1, unlimited: true }",
    unitWhenUnlimited("RULE.rateLimit"),
  ],
  [
    "an unknown unit",
    "key: k, rateLimit: { unit: days, requestsPerUnit: 1 }",
    unsupportedUnit("RULE.rateLimit", "days"),
  ],
  [
    "a limit as a rule file writes it",
    "key: k, rate_limit: { unit: day, requests_per_unit: 1 }",
    unknown("RULE.rate_limit"),
  ],
  ["a NUL character in the key", 'key: "a\\0b"', unmatched("RULE.key", "a\\x00b", TEXT_PATTERN)],
  ["a control character in the value", 'key: k, value: "a\\u0085"', unmatched("RULE.value", "a\\u0085", TEXT_PATTERN)],
];

/** Manifests whose metadata, version or kind the server rejects. */
export const REFUSED_OBJECTS: readonly RefusedCase[] = [
  [
    "a name with capitals",
    named("name: Shop"),
    "RateLimitConfig.ratelimit.weir.dev \"Shop\" is invalid: metadata.name: Invalid value: \"Shop\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
  ],
  [
    "no name",
    named("labels: { a: b }"),
    'RateLimitConfig.ratelimit.weir.dev "" is invalid: metadata.name: Required value: name or generateName is required',
  ],
  [
    "a name that is too long",
    named(`name: ${"x".repeat(254)}`),
    `RateLimitConfig.ratelimit.weir.dev "${"x".repeat(254)}" is invalid: metadata.name: Invalid value: "${"x".repeat(254)}": must be no more than 253 characters`,
  ],
  [
    "a label that is a number",
    named("name: x, labels: { a: 5 }"),
    undecoded("json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"),
  ],
  [
    "an invalid label",
    named('name: x, labels: { a: "b c" }'),
    "metadata.labels: Invalid value: \"b c\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
  ],
  [
    "a label with an invalid name",
    named("name: x, labels: { a/b/c: d }"),
    `metadata.labels: Invalid value: "a/b/c": a qualified ${NAME_PART.replace(" part", "")} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
  ],
  [
    "an annotation with an invalid name",
    named("name: x, annotations: { a b: c }"),
    `metadata.annotations: Invalid value: "a b": ${NAME_PART}`,
  ],
  [
    "finalizers that are no list",
    named("name: x, finalizers: example.com/f"),
    undecoded("json: cannot unmarshal string into Go struct field ObjectMeta.finalizers of type []string"),
  ],
  [
    "an invalid finalizer",
    named("name: x, finalizers: [example.com/]"),
    `[metadata.finalizers: Invalid value: "example.com/": name part must be non-empty, metadata.finalizers: Invalid value: "example.com/": ${NAME_PART}]`,
  ],
  ["another version", manifest("{ domain: d }").replace("v1alpha1", "v1"), unknown("spec").replace("v1alpha1", "v1")],
  [
    "another kind",
    manifest("{ domain: d }").replace("kind: RateLimitConfig", "kind: RateLimit"),
    'RateLimit.ratelimit.weir.dev "x" is invalid: kind: Invalid value: "RateLimit": must be RateLimitConfig',
  ],
  [
    "a creation time without seconds",
    named('name: x, creationTimestamp: "2026-01-31T12:00Z"'),
    undecoded('parsing time "2026-01-31T12:00Z" as "2006-01-02T15:04:05Z07:00": cannot parse "Z" as ":"'),
  ],
  [
    "a creation time that is no time",
    named("name: x, creationTimestamp: yesterday"),
    undecoded('parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"'),
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
