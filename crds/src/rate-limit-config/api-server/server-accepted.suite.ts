// Manifests that a real API server accepts: a table of server.system.test.ts.
import { facts, fleets, limit, manifest, names, rule, ruleAt, rules } from "./server-case.suite.ts";
import type { ServerCase } from "./server-case.suite.ts";

/** Manifests that the server accepts. */
export const ACCEPTED: readonly ServerCase[] = [
  { what: "a whole number with a point", manifest: limit("unit: day, requestsPerUnit: 5.0") },
  { what: "a domain alone", manifest: manifest("{ domain: d }") },
  { what: "no rules", manifest: manifest("{ domain: d, descriptors: [] }") },
  { what: "a rule without a limit", manifest: rule("key: k") },
  { what: "an empty value", manifest: rule('key: k, value: ""') },
  { what: "every unit", manifest: manifest(`{ domain: d, descriptors: [${everyUnit()}] }`) },
  { what: "0 requests", manifest: limit("unit: second, requestsPerUnit: 0") },
  { what: "as many requests as 32 bits hold", manifest: limit("unit: second, requestsPerUnit: 4294967295") },
  { what: "unlimited", manifest: limit("unlimited: true") },
  { what: "unlimited with requests but no unit", manifest: limit("unlimited: true, requestsPerUnit: 5") },
  { what: "not unlimited, as written", manifest: limit("unlimited: false, unit: day, requestsPerUnit: 5") },
  {
    what: "a name and replaced names",
    manifest: limit("unit: day, requestsPerUnit: 5, name: a, replaces: [{ name: b }, { name: c }]"),
  },
  {
    what: "a name twice in replaces",
    manifest: limit("unit: day, requestsPerUnit: 5, replaces: [{ name: b }, { name: b }]"),
  },
  { what: "the most names in replaces", manifest: limit(`unit: day, requestsPerUnit: 5, replaces: [${names(32)}]`) },
  {
    what: "every flag",
    manifest: rule(
      "key: k, value: 'v*', shadowMode: true, detailedMetric: true, quotaMode: true, valueToMetric: true, shareThreshold: true, rateLimit: { unit: hour, requestsPerUnit: 1 }",
    ),
  },
  {
    what: "every flag off",
    manifest: rule(
      "key: k, shadowMode: false, detailedMetric: false, quotaMode: false, valueToMetric: false, shareThreshold: false",
    ),
  },
  { what: "a share of a pattern in the key", manifest: rule("key: 'k*', shareThreshold: true") },
  { what: "a value that is a star", manifest: rule("key: k, value: '*', shareThreshold: true") },
  {
    what: "free metadata",
    manifest: rule("key: k, metadata: { team: checkout, weights: [1, 2.5], owner: null, deep: { a: { b: true } } }"),
  },
  { what: "empty metadata", manifest: rule("key: k, metadata: {}") },
  { what: "the most metadata", manifest: rule(`key: k, metadata: { ${facts(64)} }`) },
  {
    what: "rules at level 6",
    manifest: ruleAt(6, "key: k, value: v, rateLimit: { unit: minute, requestsPerUnit: 1 }"),
  },
  { what: "unlimited at level 2", manifest: ruleAt(2, "key: k, rateLimit: { unlimited: true }") },
  {
    what: "unlimited: false at level 3",
    manifest: ruleAt(3, "key: k, rateLimit: { unlimited: false, unit: day, requestsPerUnit: 0 }"),
  },
  {
    what: "a limit on a rule with rules below it",
    manifest: rule("key: k, rateLimit: { unit: day, requestsPerUnit: 9 }, descriptors: [{ key: l }]"),
  },
  {
    what: "a value of its own and any value",
    manifest: manifest("{ domain: d, descriptors: [{ key: k, value: v }, { key: k }] }"),
  },
  { what: "the longest domain", manifest: manifest(`{ domain: ${"d".repeat(256)} }`) },
  { what: "the longest key", manifest: rule(`key: ${"k".repeat(256)}`) },
  { what: "the longest value", manifest: rule(`key: k, value: ${"v".repeat(1024)}`) },
  { what: "the longest value of characters beyond 16 bits", manifest: rule(`key: k, value: ${"😀".repeat(1024)}`) },
  { what: "the longest name of a limit", manifest: limit(`unit: day, requestsPerUnit: 5, name: ${"n".repeat(256)}`) },
  { what: "the most rules at level 1", manifest: manifest(`{ domain: d, descriptors: [${rules(1024)}] }`) },
  {
    what: "the most rules at level 1, each as expensive for CEL as fits",
    manifest: manifest(`{ domain: d, descriptors: [${heavyRules()}] }`),
  },
  { what: "the most rules at level 2", manifest: rule(`key: k, descriptors: [${rules(64)}]`) },
  { what: "the most rules at level 6", manifest: ruleAt(5, `key: k, descriptors: [${rules(64)}]`) },
  {
    what: "thousands of limits below the first level",
    manifest: manifest(`{ domain: d, descriptors: [${deepRules()}] }`),
  },
  { what: "fleets", manifest: manifest("{ domain: d, fleets: [edge, Gateway_2.x] }") },
  { what: "the longest name of a fleet", manifest: manifest(`{ domain: d, fleets: [${"f".repeat(63)}] }`) },
  { what: "the most fleets", manifest: manifest(`{ domain: d, fleets: [${fleets(64)}] }`) },
  { what: "a domain with spaces and dots", manifest: manifest('{ domain: "a b.c/d" }') },
  {
    what: "labels and annotations",
    manifest: manifest("{ domain: d }", 'name: x, labels: { team: a }, annotations: { note: "b c" }'),
  },
  {
    what: "an annotation and a label that are null",
    manifest: manifest("{ domain: d }", "name: x, labels: { a: null }, annotations: { b: ~ }"),
  },
  {
    what: "an annotation whose name has capitals before the slash",
    manifest: manifest("{ domain: d }", "name: x, annotations: { Example.com/A: b }"),
  },
  { what: "an empty namespace", manifest: manifest("{ domain: d }", 'name: x, namespace: ""') },
  { what: "a finalizer", manifest: manifest("{ domain: d }", "name: x, finalizers: [example.com/f]") },
  { what: "the longest name", manifest: manifest("{ domain: d }", `name: ${"x".repeat(253)}`) },
  { what: "a name with dots", manifest: manifest("{ domain: d }", "name: a.b-c.0") },
  {
    what: "a limit that is an alias",
    manifest: manifest(
      "{ domain: d, descriptors: [{ key: a, rateLimit: &l { unit: day, requestsPerUnit: 1 } }, { key: b, rateLimit: *l }] }",
    ),
  },
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

/** 1024 limits that replace others, with long names: most of what a text may hold. */
function heavyRules(): string {
  const replaces = Array.from({ length: 6 }, (_, index) => `{ name: ${"m".repeat(99)}${index} }`).join(", ");
  const limitText = `{ unit: day, requestsPerUnit: 1, name: ${"m".repeat(100)}, replaces: [${replaces}] }`;
  return Array.from({ length: 1024 }, (_, index) => `{ key: k${index}, rateLimit: ${limitText} }`).join(", ");
}
