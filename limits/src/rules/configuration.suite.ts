// Rule fixtures for tests: short builders, and the configuration that the conformance cases call B.
import type { DescriptorModel, RateLimitConfigModel, RateLimitModel } from "../model/model.ts";
import type { Attach } from "./rule.ts";

/** Attaches its statistics key to each match. */
export const attachKeys: Attach<string> = { rule: (path) => path, dynamic: (key) => key };

/** A descriptor with every field at its default but those given. */
export function descriptor(fields: Partial<DescriptorModel> & { readonly key: string }): DescriptorModel {
  return {
    value: "",
    descriptors: [],
    shadowMode: false,
    detailedMetric: false,
    quotaMode: false,
    valueToMetric: false,
    shareThreshold: false,
    ...fields,
  };
}

/** A limit of so many requests per unit. */
export function limit(requestsPerUnit: number, unit: string, fields: Partial<RateLimitModel> = {}): RateLimitModel {
  return { unit, requestsPerUnit, unlimited: false, name: "", replaces: [], ...fields };
}

/** An unlimited limit. */
export function unlimited(fields: Partial<RateLimitModel> = {}): RateLimitModel {
  return { unit: "", requestsPerUnit: 0, unlimited: true, name: "", replaces: [], ...fields };
}

/** A configuration of one domain. */
export function configuration(domain: string, descriptors: readonly DescriptorModel[]): RateLimitConfigModel {
  return { name: `${domain}.yaml`, domain, descriptors };
}

/** The entries of `key=value` texts. */
export function entries(...pairs: readonly string[]): { key: string; value: string }[] {
  return pairs.map((pair) => {
    const at = pair.indexOf("=");
    return { key: pair.slice(0, at), value: pair.slice(at + 1) };
  });
}

/** Configuration B of the conformance cases. */
export const CONFIGURATION_B: RateLimitConfigModel = configuration("test-domain", [
  descriptor({
    key: "key1",
    value: "value1",
    descriptors: [
      descriptor({ key: "subkey1", rateLimit: limit(5, "second") }),
      descriptor({ key: "subkey1", value: "subvalue1", rateLimit: limit(10, "second") }),
    ],
  }),
  descriptor({ key: "key2", rateLimit: limit(20, "minute") }),
  descriptor({ key: "key2", value: "value2", rateLimit: limit(30, "minute") }),
  descriptor({ key: "key2", value: "value3" }),
  descriptor({ key: "key3", rateLimit: limit(1, "hour") }),
  descriptor({ key: "key4", rateLimit: limit(1, "day", { name: "key4_rate_limit" }) }),
  descriptor({
    key: "key5",
    value: "value5",
    rateLimit: limit(15, "day"),
    descriptors: [descriptor({ key: "subkey5", value: "subvalue5", rateLimit: limit(25, "day") })],
  }),
  descriptor({ key: "key6", rateLimit: unlimited() }),
  descriptor({ key: "key7", rateLimit: limit(70, "minute"), detailedMetric: true }),
]);
