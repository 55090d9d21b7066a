// Tests of the schema: every refusal with its own small fixture, its field and its exact words.
import { describe, expect, it } from "vitest";

import { parseRateLimitConfigResource } from "./schema.ts";
import { fieldPath } from "@weir/limits/model/field-path";

const RESOURCE = {
  apiVersion: "ratelimit.weir.dev/v1alpha1",
  kind: "RateLimitConfig",
  metadata: { name: "shop" },
  spec: { domain: "shop" },
};

const LIMIT = { unit: "minute", requestsPerUnit: 5 };

function problemsOf(value: unknown): readonly string[] {
  const parsed = parseRateLimitConfigResource(value);
  return parsed.ok ? [] : parsed.problems.map(({ path, message }) => `${fieldPath(path)}: ${message}`);
}

function withMetadata(metadata: object): object {
  return { ...RESOURCE, metadata: { ...RESOURCE.metadata, ...metadata } };
}

function withSpec(spec: object): object {
  return { ...RESOURCE, spec: { ...RESOURCE.spec, ...spec } };
}

function withRule(rule: object): object {
  return withSpec({ descriptors: [{ key: "k", ...rule }] });
}

/** Rules nested so many levels deep. */
function nested(levels: number): object {
  return levels === 1 ? { key: "k", rateLimit: LIMIT } : { key: "k", descriptors: [nested(levels - 1)] };
}

function nestedList(levels: number): unknown {
  return levels === 0 ? 1 : [nestedList(levels - 1)];
}

describe("parseRateLimitConfigResource() accepts", () => {
  it.each([
    { what: "a domain without rules", value: RESOURCE },
    {
      what: "everything that a rule can have",
      value: withRule({
        value: "v*",
        rateLimit: { ...LIMIT, name: "one", replaces: [{ name: "two" }] },
        shadowMode: true,
        detailedMetric: true,
        quotaMode: true,
        valueToMetric: true,
        shareThreshold: true,
        metadata: { free: [1, null, { deep: "x" }] },
        descriptors: [{ key: "k" }],
      }),
    },
    { what: "a limit of 0", value: withRule({ rateLimit: { unit: "second", requestsPerUnit: 0 } }) },
    { what: "the largest limit", value: withRule({ rateLimit: { unit: "year", requestsPerUnit: 4_294_967_295 } }) },
    { what: "unlimited alone", value: withRule({ rateLimit: { unlimited: true } }) },
    {
      what: "a token bucket",
      value: withRule({
        rateLimit: { ...LIMIT, unitMultiplier: 5, algorithm: "token_bucket", burst: 1, countRejectedHits: true },
      }),
    },
    {
      what: "a list of limits",
      value: withRule({
        rateLimits: [
          { ...LIMIT, name: "a", algorithm: "sliding_window" },
          { ...LIMIT, unit: "month", name: "b", timeZone: "Europe/Zurich", monthDay: 31 },
        ],
      }),
    },
    { what: "an empty value", value: withRule({ value: "" }) },
    { what: "six levels of rules", value: withSpec({ descriptors: [nested(6)] }) },
    { what: "named fleets", value: withSpec({ fleets: ["edge", "internal"] }) },
    {
      what: "nulls in the metadata, which count as absent",
      value: withMetadata({ creationTimestamp: null, labels: null }),
    },
    { what: "an empty namespace, as templates write it", value: withMetadata({ namespace: "" }) },
    {
      what: "null for the text of a label",
      value: withMetadata({ labels: { a: null }, annotations: { "Example.com/A": null } }),
    },
    { what: "a null value, which has a default", value: withRule({ value: null }) },
    { what: "null for other fields of a spec that may be absent", value: withSpec({ fleets: null, shadowMode: null }) },
    { what: "null for a limit", value: withRule({ rateLimit: null }) },
    { what: "a null inside a rule's metadata", value: withRule({ metadata: { owner: null } }) },
    {
      what: "what the API server adds",
      value: {
        ...withMetadata({ uid: "1", generation: 2, creationTimestamp: "2026-01-31T12:00:00Z", managedFields: [{}] }),
        status: { conditions: [] },
      },
    },
    { what: "256 characters outside the basic plane", value: withRule({ key: "😀".repeat(256) }) },
    { what: "metadata of 20 levels", value: withRule({ metadata: { a: nestedList(19) } }) },
  ])("$what", ({ value }) => {
    expect(problemsOf(value)).toEqual([]);
  });
});

describe("parseRateLimitConfigResource() refuses", () => {
  const RULE = "spec.descriptors[0]";
  const NAME_TEXT =
    'must be NAME or PREFIX/NAME: NAME of at most 63 letters, digits, "-", "_" and ".", beginning and ending with a letter or digit, PREFIX like example.com';
  it.each([
    { value: null, problems: [": must be a mapping, is null"] },
    { value: "x", problems: [': must be a mapping, is "x"'] },
    { value: [RESOURCE], problems: [": must be a mapping, is a list"] },
    {
      value: {},
      problems: [
        'apiVersion: is required: must be "ratelimit.weir.dev/v1alpha1"',
        'kind: is required: must be "RateLimitConfig"',
      ],
    },
    {
      value: { ...RESOURCE, apiVersion: "v1", extra: 1 },
      problems: ['apiVersion: must be "ratelimit.weir.dev/v1alpha1", is "v1"'],
    },
    {
      value: { ...RESOURCE, kind: "rateLimitConfig" },
      problems: ['kind: must be "RateLimitConfig", is "rateLimitConfig"'],
    },
    {
      value: { apiVersion: RESOURCE.apiVersion, kind: RESOURCE.kind },
      problems: ["metadata: is required", "spec: is required"],
    },
    { value: { ...RESOURCE, Spec: {} }, problems: ['Spec: unknown field "Spec", did you mean "spec"?'] },
    { value: withMetadata({ name: undefined }), problems: ["metadata.name: is required"] },
    {
      value: withMetadata({ name: "Shop_1" }),
      problems: [
        'metadata.name: must consist of lower-case letters, digits, "-" and ".", and begin and end with a letter or digit, is "Shop_1"',
      ],
    },
    {
      value: withMetadata({ namespace: "a.b" }),
      problems: [
        'metadata.namespace: must consist of lower-case letters, digits and "-", and begin and end with a letter or digit, is "a.b"',
      ],
    },
    { value: withMetadata({ name: "a".repeat(254) }), problems: ["metadata.name: must have at most 253 characters"] },
    {
      value: withMetadata({ labels: { "a.b/c": true } }),
      problems: ['metadata.labels["a.b/c"]: must be a string, is the boolean true: put it in quotes'],
    },
    {
      value: withMetadata({ creationTimestamp: "now" }),
      problems: ['metadata.creationTimestamp: must be a time such as 2026-01-31T12:00:00Z, is "now"'],
    },
    {
      value: withMetadata({ creationTimestamp: "2026-01-31T12:00Z" }),
      problems: ['metadata.creationTimestamp: must be a time such as 2026-01-31T12:00:00Z, is "2026-01-31T12:00Z"'],
    },
    {
      value: withMetadata({ labels: { a: "b c", "x/y/z": "" } }),
      problems: [
        'metadata.labels.a: must have at most 63 letters, digits, "-", "_" and ".", and begin and end with a letter or digit, is "b c"',
        `metadata.labels["x/y/z"]: ${NAME_TEXT}, is "x/y/z"`,
      ],
    },
    {
      value: withMetadata({ annotations: { "a b": "c" } }),
      problems: [`metadata.annotations["a b"]: ${NAME_TEXT}, is "a b"`],
    },
    {
      value: withMetadata({ annotations: { a: "b".repeat(262_144) } }),
      problems: ["metadata.annotations: must have at most 262144 bytes in all names and values together"],
    },
    { value: withMetadata({ finalizers: "a/b" }), problems: ['metadata.finalizers: must be a list, is "a/b"'] },
    {
      value: withMetadata({ finalizers: ["a/b", "a/b"] }),
      problems: ["metadata.finalizers: must not name a finalizer twice"],
    },
    { value: withMetadata({ finalizers: ["a/"] }), problems: [`metadata.finalizers[0]: ${NAME_TEXT}, is "a/"`] },
    { value: withSpec({ domain: "" }), problems: ["spec.domain: must not be empty"] },
    { value: withSpec({ domain: null }), problems: ["spec.domain: is required"] },
    {
      value: withRule({ rateLimit: { unit: null, requestsPerUnit: 1 } }),
      problems: [`${RULE}.rateLimit.unit: is required, unless unlimited is true`],
    },
    { value: { ...RESOURCE, spec: null }, problems: ["spec: is required"] },
    {
      value: withSpec({ domain: "a\u0000b" }),
      problems: ['spec.domain: must not contain the control character U+0000, is "a\\u0000b"'],
    },
    {
      value: withRule({ key: "a\tb\u0000" }),
      problems: [`${RULE}.key: must not contain the control character U+0009, is "a\\tb\\u0000"`],
    },
    {
      value: withRule({ descriptors: [{ key: "k", value: "\u0085" }] }),
      problems: [`${RULE}.descriptors[0].value: must not contain the control character U+0085, is "\u0085"`],
    },
    { value: withSpec({ domain: 5 }), problems: ["spec.domain: must be a string, is the number 5: put it in quotes"] },
    { value: withSpec({ domian: "x" }), problems: ['spec.domian: unknown field "domian", did you mean "domain"?'] },
    {
      value: withSpec({ limits: [] }),
      problems: ['spec.limits: unknown field "limits", known are descriptors, domain, fleets, shadowMode'],
    },
    { value: withSpec({ fleets: [] }), problems: ["spec.fleets: must not be empty"] },
    { value: withSpec({ fleets: ["a", ""] }), problems: ["spec.fleets[1]: must not be empty"] },
    {
      value: withSpec({ fleets: ["*"] }),
      problems: [
        'spec.fleets[0]: must consist of letters, digits, "-", "_" and ".", and begin and end with a letter or digit, is "*"',
      ],
    },
    { value: withSpec({ fleets: ["f".repeat(64)] }), problems: ["spec.fleets[0]: must have at most 63 characters"] },
    { value: withSpec({ fleets: ["a", "a"] }), problems: ["spec.fleets: must not name a fleet twice"] },
    { value: withSpec({ fleets: "a" }), problems: ['spec.fleets: must be a list, is "a"'] },
    { value: withSpec({ descriptors: {} }), problems: ["spec.descriptors: must be a list, is a mapping"] },
    {
      value: withSpec({ descriptors: ["a", null] }),
      problems: [`${RULE}: must be a mapping, is "a"`, "spec.descriptors[1]: must be a mapping, is null"],
    },
    { value: withRule({ key: undefined }), problems: [`${RULE}.key: is required`] },
    { value: withRule({ key: "" }), problems: [`${RULE}.key: must not be empty`] },
    {
      value: withRule({ key: "k".repeat(257) }),
      problems: [`${RULE}.key: must have at most 256 characters, is "${"k".repeat(60)}…"`],
    },
    {
      value: withRule({ value: "v".repeat(1025) }),
      problems: [`${RULE}.value: must have at most 1024 characters, is "${"v".repeat(60)}…"`],
    },
    { value: withRule({ shadowMode: "yes" }), problems: [`${RULE}.shadowMode: must be true or false, is "yes"`] },
    {
      value: withRule({ rate_limit: LIMIT }),
      problems: [`${RULE}.rate_limit: unknown field "rate_limit", did you mean "rateLimit"?`],
    },
    { value: withRule({ metadata: [] }), problems: [`${RULE}.metadata: must be a mapping, is a list`] },
    {
      value: withRule({ metadata: { a: nestedList(20) } }),
      problems: [`${RULE}.metadata.a: must be a JSON value that nests at most 20 levels deep`],
    },
    {
      value: withRule({ rateLimit: { ...LIMIT, unit: "Second" } }),
      problems: [
        `${RULE}.rateLimit.unit: must be one of "second", "minute", "hour", "day", "week", "month", "year", is "Second"`,
      ],
    },
    {
      value: withRule({ rateLimit: { ...LIMIT, requestsPerUnit: -1 } }),
      problems: [`${RULE}.rateLimit.requestsPerUnit: must be at least 0, is the number -1`],
    },
    {
      value: withRule({ rateLimit: { ...LIMIT, requestsPerUnit: 4_294_967_296 } }),
      problems: [`${RULE}.rateLimit.requestsPerUnit: must be at most 4294967295, is the number 4294967296`],
    },
    {
      value: withRule({ rateLimit: { ...LIMIT, requestsPerUnit: 1e20 } }),
      problems: [`${RULE}.rateLimit.requestsPerUnit: must be at most 4294967295, is the number 100000000000000000000`],
    },
    {
      value: withRule({ rateLimit: { ...LIMIT, requestsPerUnit: -1e20 } }),
      problems: [`${RULE}.rateLimit.requestsPerUnit: must be at least 0, is the number -100000000000000000000`],
    },
    {
      value: withRule({ rateLimit: { ...LIMIT, requestsPerUnit: 1.5 } }),
      problems: [`${RULE}.rateLimit.requestsPerUnit: must be a whole number, is the number 1.5`],
    },
    {
      value: withRule({ rateLimit: { ...LIMIT, requestsPerUnit: "5" } }),
      problems: [`${RULE}.rateLimit.requestsPerUnit: must be a whole number, is "5": leave out the quotes`],
    },
    {
      value: withRule({ rateLimit: { ...LIMIT, replaces: [{ name: "" }, {}] } }),
      problems: [
        `${RULE}.rateLimit.replaces[0].name: must not be empty`,
        `${RULE}.rateLimit.replaces[1].name: is required`,
      ],
    },
    {
      value: withRule({
        rateLimit: { ...LIMIT, unitMultiplier: 0, algorithm: "gcra", burst: 4_294_967_296, monthDay: 32 },
      }),
      problems: [
        `${RULE}.rateLimit.unitMultiplier: must be at least 1, is the number 0`,
        `${RULE}.rateLimit.algorithm: must be one of "fixed_window", "sliding_window", "token_bucket", is "gcra"`,
        `${RULE}.rateLimit.burst: must be at most 4294967295, is the number 4294967296`,
        `${RULE}.rateLimit.monthDay: must be at most 31, is the number 32`,
      ],
    },
    {
      value: withRule({ rateLimits: [{ unlimited: true }] }),
      problems: [
        `${RULE}.rateLimits[0].unlimited: unknown field "unlimited", known are algorithm, burst, countRejectedHits, monthDay, name, requestsPerUnit, timeZone, unit, unitMultiplier`,
        `${RULE}.rateLimits[0].name: is required`,
        `${RULE}.rateLimits[0].unit: is required: must be one of "second", "minute", "hour", "day", "week", "month", "year"`,
        `${RULE}.rateLimits[0].requestsPerUnit: is required`,
        `${RULE}.rateLimits: must have at least 2 items`,
      ],
    },
    {
      value: withRule({ rateLimit: {} }),
      problems: [
        `${RULE}.rateLimit.unit: is required, unless unlimited is true`,
        `${RULE}.rateLimit.requestsPerUnit: is required, unless unlimited is true; 0 rejects every request`,
      ],
    },
    {
      value: withSpec({ descriptors: [nested(7)] }),
      problems: [`${RULE}${".descriptors[0]".repeat(5)}.descriptors: rules nest at most 6 levels deep`],
    },
  ])("$problems.0", ({ value, problems }) => {
    expect(problemsOf(value)).toEqual(problems);
  });

  it("all problems in one answer, wherever they are", () => {
    expect(problemsOf({ ...withMetadata({ name: "A" }), spec: { fleets: [], descriptors: [{ kye: "k" }] } })).toEqual([
      'spec.descriptors[0].kye: unknown field "kye", did you mean "key"?',
      'metadata.name: must consist of lower-case letters, digits, "-" and ".", and begin and end with a letter or digit, is "A"',
      "spec.domain: is required",
      "spec.fleets: must not be empty",
      "spec.descriptors[0].key: is required",
    ]);
  });
});

describe("parseRateLimitConfigResource() with unknownFields: ignore", () => {
  it("leaves fields out that a newer API server may have", () => {
    const value = { ...withMetadata({ fresh: 1 }), spec: { domain: "d", fresh: true } };
    expect(parseRateLimitConfigResource(value, { unknownFields: "ignore" })).toMatchObject({
      ok: true,
      resource: { ...RESOURCE, spec: { domain: "d" } },
    });
  });

  it("leaves labels, annotations and finalizers to the API server, whose rules may be newer", () => {
    const value = withMetadata({ labels: { "a b": "c d" }, annotations: { "a b": "c" }, finalizers: ["a b"] });
    expect(parseRateLimitConfigResource(value, { unknownFields: "ignore" }).ok).toBe(true);
    expect(parseRateLimitConfigResource(value).ok).toBe(false);
  });

  it("still refuses what is wrong", () => {
    expect(parseRateLimitConfigResource(withSpec({ domain: "a\u0000" }), { unknownFields: "ignore" }).ok).toBe(false);
    expect(parseRateLimitConfigResource(withSpec({ domain: "" }), { unknownFields: "ignore" }).ok).toBe(false);
  });
});
