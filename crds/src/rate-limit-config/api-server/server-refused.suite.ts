// Manifests that a real API server rejects, with its messages: tables of server.system.test.ts.
import { facts, fleets, manifest, named, rule, ruleAt, rules, spec } from "./server-case.suite.ts";
import type { RefusedCase } from "./server-case.suite.ts";
import {
  empty,
  inBody,
  mistyped,
  pathAt,
  requestless,
  required,
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
