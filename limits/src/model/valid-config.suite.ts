// Random rules that the validator finds nothing in, for property tests: random ones of which what
// is wrong is left out or put right.
import { compositeKey } from "./model.ts";
import type { DescriptorModel, RateLimitConfigModel, RateLimitModel } from "./model.ts";
import { randomConfig } from "./random-config.suite.ts";
import { parseUnit } from "./unit.ts";
import type fc from "fast-check";

/** Any valid configuration. */
export const validConfig: fc.Arbitrary<RateLimitConfigModel> = randomConfig.map((config) => ({
  ...config,
  domain: config.domain === "" ? "any" : config.domain,
  descriptors: validLevel(config.descriptors),
}));

function validLevel(descriptors: readonly DescriptorModel[]): readonly DescriptorModel[] {
  const seen = new Set<string>();
  return descriptors.flatMap((descriptor) => {
    const composite = compositeKey(descriptor);
    if (descriptor.key === "" || seen.has(composite)) return [];
    seen.add(composite);
    return [validDescriptor(descriptor)];
  });
}

function validDescriptor(descriptor: DescriptorModel): DescriptorModel {
  const { rateLimit, rateLimits: _rateLimits, ...rest } = descriptor;
  return {
    ...rest,
    ...(rateLimit === undefined ? {} : { rateLimit: validLimit(rateLimit) }),
    shareThreshold: descriptor.shareThreshold && compositeKey(descriptor).includes("*"),
    descriptors: validLevel(descriptor.descriptors),
  };
}

function validLimit(limit: RateLimitModel): RateLimitModel {
  const isKnown = parseUnit(limit.unit) !== undefined;
  return {
    requestsPerUnit: limit.requestsPerUnit,
    unlimited: limit.unlimited,
    name: limit.name,
    unit: limit.unlimited ? "" : isKnown ? limit.unit : "minute",
    replaces: limit.replaces.filter(({ name }) => name !== "" && name !== limit.name),
  };
}
