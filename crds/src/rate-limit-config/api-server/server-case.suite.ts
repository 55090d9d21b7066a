// One manifest of the tests against a real API server, and short ways to write it. Nothing is run
// here.

/** A manifest, and what it is about. */
export type ServerCase = readonly [what: string, text: string];

/** One that the server rejects, with its message; what is in each message is left out. */
export type RefusedCase = readonly [...ServerCase, refusal: string];

/** A manifest around a spec, which is written as flow YAML. */
export function manifest(content: string, metadata = "name: x"): string {
  return `apiVersion: ratelimit.weir.dev/v1alpha1\nkind: RateLimitConfig\nmetadata: { ${metadata} }\nspec: ${content}\n`;
}

/** A manifest with further fields of the spec. */
export function spec(fields: string): string {
  return manifest(`{ domain: d, ${fields} }`);
}

/** A manifest with this metadata. */
export function named(metadata: string): string {
  return manifest("{ domain: d }", metadata);
}

/** A manifest with one rule at the first level. */
export function rule(fields: string): string {
  return spec(`descriptors: [{ ${fields} }]`);
}

/** A manifest with one limit at the first level. */
export function limit(fields: string): string {
  return rule(`key: k, rateLimit: { ${fields} }`);
}

/** A manifest with one rule at a level, counted from 1. */
export function ruleAt(level: number, fields: string): string {
  return rule(`${"key: k, descriptors: [{ ".repeat(level - 1)}${fields}${" }]".repeat(level - 1)}`);
}

/** So many rules of one level. */
export const rules = (count: number): string => list(count, (index) => `{ key: k${index} }`);
/** So many names in replaces. */
export const names = (count: number): string => list(count, (index) => `{ name: n${index} }`);
/** So many limits of a list, with further fields. */
export const limits = (count: number, fields = ""): string =>
  list(count, (index) => `{ name: n${index}, unit: minute, requestsPerUnit: 5${fields} }`);
/** So many fields of metadata. */
export const facts = (count: number): string => list(count, (index) => `f${index}: 1`);
/** So many names of fleets. */
export const fleets = (count: number): string => list(count, (index) => `f${index}`);

function list(count: number, item: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => item(index)).join(", ");
}
