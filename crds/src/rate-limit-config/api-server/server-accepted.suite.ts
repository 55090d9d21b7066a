// Manifests that a real API server accepts: a table of server.system.test.ts.
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
import type { ServerCase } from "./server-case.suite.ts";

/** Manifests that the server accepts. */
export const ACCEPTED: readonly ServerCase[] = [
  ["a whole number with a point", limit("unit: day, requestsPerUnit: 5.0")],
  ["a domain alone", manifest("{ domain: d }")],
  ["no rules", spec("descriptors: []")],
  ["a rule without a limit", rule("key: k")],
  ["an empty value", rule('key: k, value: ""')],
  ["every unit", spec(`descriptors: [${everyUnit()}]`)],
  ["0 requests", limit("unit: second, requestsPerUnit: 0")],
  ["as many requests as 32 bits hold", limit("unit: second, requestsPerUnit: 4294967295")],
  ["unlimited", limit("unlimited: true")],
  ["unlimited with requests but no unit", limit("unlimited: true, requestsPerUnit: 5")],
  ["not unlimited, as written", limit("unlimited: false, unit: day, requestsPerUnit: 5")],
  ["a name and replaced names", limit("unit: day, requestsPerUnit: 5, name: a, replaces: [{ name: b }, { name: c }]")],
  ["a name twice in replaces", limit("unit: day, requestsPerUnit: 5, replaces: [{ name: b }, { name: b }]")],
  ["the most names in replaces", limit(`unit: day, requestsPerUnit: 5, replaces: [${names(32)}]`)],
  ["windows of ten years", limit("unit: second, requestsPerUnit: 5, unitMultiplier: 315360000")],
  ["a sliding window", limit("unit: day, requestsPerUnit: 5, algorithm: sliding_window, countRejectedHits: false")],
  [
    "a bucket with the largest burst",
    limit("unit: day, requestsPerUnit: 5, algorithm: token_bucket, burst: 4294967295"),
  ],
  ["a fixed window, as written", limit("unit: day, requestsPerUnit: 5, algorithm: fixed_window, unitMultiplier: 2")],
  ["a week in a time zone", limit("unit: week, requestsPerUnit: 5, timeZone: Europe/Zurich, unitMultiplier: 1")],
  ["months in a time zone", limit("unit: month, requestsPerUnit: 5, timeZone: UTC, unitMultiplier: 3, monthDay: 31")],
  ["two limits", rule(`key: k, rateLimits: [${limits(2)}]`)],
  [
    "eight limits that all count rejected hits",
    rule(`key: k, rateLimits: [${limits(8, ", countRejectedHits: true")}]`),
  ],
  ["eight limits at level 6", ruleAt(6, `key: k, rateLimits: [${limits(8)}]`)],
  ["the most rules at level 1, each with eight limits", spec(`descriptors: [${listRules()}]`)],
  [
    "every flag",
    rule(
      "key: k, value: 'v*', shadowMode: true, detailedMetric: true, quotaMode: true, valueToMetric: true, shareThreshold: true, showValues: true, rateLimit: { unit: hour, requestsPerUnit: 1 }",
    ),
  ],
  [
    "every flag off",
    rule(
      "key: k, shadowMode: false, detailedMetric: false, quotaMode: false, valueToMetric: false, shareThreshold: false, showValues: false",
    ),
  ],
  ["a share of a pattern in the key", rule("key: 'k*', shareThreshold: true")],
  ["a value that is a star", rule("key: k, value: '*', shareThreshold: true")],
  [
    "free metadata",
    rule("key: k, metadata: { team: checkout, weights: [1, 2.5], owner: null, deep: { a: { b: true } } }"),
  ],
  ["empty metadata", rule("key: k, metadata: {}")],
  ["the most metadata", rule(`key: k, metadata: { ${facts(64)} }`)],
  ["rules at level 6", ruleAt(6, "key: k, value: v, rateLimit: { unit: minute, requestsPerUnit: 1 }")],
  ["unlimited at level 2", ruleAt(2, "key: k, rateLimit: { unlimited: true }")],
  ["unlimited: false at level 3", ruleAt(3, "key: k, rateLimit: { unlimited: false, unit: day, requestsPerUnit: 0 }")],
  [
    "a limit on a rule with rules below it",
    rule("key: k, rateLimit: { unit: day, requestsPerUnit: 9 }, descriptors: [{ key: l }]"),
  ],
  ["a value of its own and any value", spec("descriptors: [{ key: k, value: v }, { key: k }]")],
  ["the longest domain", manifest(`{ domain: ${"d".repeat(256)} }`)],
  ["the longest key", rule(`key: ${"k".repeat(256)}`)],
  ["the longest value", rule(`key: k, value: ${"v".repeat(1024)}`)],
  ["the longest value of characters beyond 16 bits", rule(`key: k, value: ${"😀".repeat(1024)}`)],
  ["the longest name of a limit", limit(`unit: day, requestsPerUnit: 5, name: ${"n".repeat(256)}`)],
  ["the most rules at level 1", spec(`descriptors: [${rules(1024)}]`)],
  ["the most rules at level 1, each as expensive for CEL as fits", spec(`descriptors: [${heavyRules()}]`)],
  ["the most rules at level 2", rule(`key: k, descriptors: [${rules(64)}]`)],
  ["the most rules at level 6", ruleAt(5, `key: k, descriptors: [${rules(64)}]`)],
  ["thousands of limits below the first level", spec(`descriptors: [${deepRules()}]`)],
  ["fleets", spec("fleets: [edge, Gateway_2.x]")],
  ["the longest name of a fleet", spec(`fleets: [${"f".repeat(63)}]`)],
  ["the most fleets", spec(`fleets: [${fleets(64)}]`)],
  ["a domain with spaces and dots", manifest('{ domain: "a b.c/d" }')],
  ["labels and annotations", named('name: x, labels: { team: a }, annotations: { note: "b c" }')],
  ["an annotation and a label that are null", named("name: x, labels: { a: null }, annotations: { b: ~ }")],
  ["an annotation whose name has capitals before the slash", named("name: x, annotations: { Example.com/A: b }")],
  ["an empty namespace", named('name: x, namespace: ""')],
  ["a finalizer", named("name: x, finalizers: [example.com/f]")],
  ["the longest name", named(`name: ${"x".repeat(253)}`)],
  ["a name with dots", named("name: a.b-c.0")],
  [
    "a limit that is an alias",
    spec("descriptors: [{ key: a, rateLimit: &l { unit: day, requestsPerUnit: 1 } }, { key: b, rateLimit: *l }]"),
  ],
];

/** 2048 limits at level 3: CEL looks at each. */
function deepRules(): string {
  const limits = Array.from({ length: 64 }, (_, index) => `{ key: k${index}, rateLimit: { unlimited: true } }`);
  const second = Array.from({ length: 32 }, (_, index) => `{ key: k${index}, descriptors: [${limits.join(", ")}] }`);
  return `{ key: k, descriptors: [${second.join(", ")}] }`;
}

function everyUnit(): string {
  return ["second", "minute", "hour", "day", "week", "month", "year"]
    .map((unit) => `{ key: ${unit}, rateLimit: { unit: ${unit}, requestsPerUnit: 1 } }`)
    .join(", ");
}

/** 1024 lists of limits, each with what CEL looks at. */
function listRules(): string {
  const list = limits(8, ", unitMultiplier: 5, timeZone: UTC, monthDay: 3").replaceAll("minute", "month");
  return Array.from({ length: 1024 }, (_, index) => `{ key: k${index}, rateLimits: [${list}] }`).join(", ");
}

/** 1024 limits that replace others, with long names: most of what a text may hold. */
function heavyRules(): string {
  const replaces = Array.from({ length: 6 }, (_, index) => `{ name: ${"m".repeat(99)}${index} }`).join(", ");
  const limitText = `{ unit: day, requestsPerUnit: 1, name: ${"m".repeat(100)}, replaces: [${replaces}] }`;
  return Array.from({ length: 1024 }, (_, index) => `{ key: k${index}, rateLimit: ${limitText} }`).join(", ");
}
