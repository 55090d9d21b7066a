// One manifest of the tests against a real API server, and short ways to write it. Nothing is run
// here.

/** One manifest. */
export interface ServerCase {
  readonly what: string;
  readonly manifest: string;
  /** What the server says, without what it says every time; absent when it accepts the manifest. */
  readonly refusal?: string;
  /** Set where `readManifests` decides otherwise than the server: why. */
  readonly differs?: string;
}

/** A manifest around a spec, which is written as flow YAML. */
export function manifest(spec: string, metadata = "name: x"): string {
  return `apiVersion: ratelimit.weir.dev/v1alpha1\nkind: RateLimitConfig\nmetadata: { ${metadata} }\nspec: ${spec}\n`;
}

/** A manifest with one rule at the first level. */
export function rule(fields: string): string {
  return manifest(`{ domain: d, descriptors: [{ ${fields} }] }`);
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
export function rules(count: number): string {
  return Array.from({ length: count }, (_, index) => `{ key: k${index} }`).join(", ");
}

/** So many names in replaces. */
export function names(count: number): string {
  return Array.from({ length: count }, (_, index) => `{ name: n${index} }`).join(", ");
}

/** So many fields of metadata. */
export function facts(count: number): string {
  return Array.from({ length: count }, (_, index) => `f${index}: 1`).join(", ");
}

/** So many names of fleets. */
export function fleets(count: number): string {
  return Array.from({ length: count }, (_, index) => `f${index}`).join(", ");
}
