// The limits of a resource by their paths, as statistics of pods name them. Pure.
import type { RateLimitConfigResource } from "@weir/crds/rate-limit-config/schema/schema";
import { modelOfResource } from "@weir/crds/rate-limit-config/translate/translate";
import { type FieldPath, fieldPath } from "@weir/limits/model/field-path";
import { compositeKey, type DescriptorModel, limitsOf, type RateLimitModel } from "@weir/limits/model/model";
import { limitPaths } from "@weir/limits/rules/limit-paths";

/** A limit and its place in the resource. */
export interface PlacedLimit {
  readonly limit: RateLimitModel;
  /** Such as `spec.descriptors[2].rateLimit`. */
  readonly field: string;
  readonly shadowMode: boolean;
}

/** Every limit of the resource. */
export function limitsOfResource(resource: RateLimitConfigResource): ReadonlyMap<string, PlacedLimit> {
  const { domain, descriptors } = modelOfResource(resource);
  return new Map(limitsBelow(domain, descriptors, ["spec"]));
}

function limitsBelow(
  parent: string,
  descriptors: readonly DescriptorModel[],
  at: FieldPath,
): readonly (readonly [path: string, PlacedLimit])[] {
  return descriptors.flatMap((descriptor, index) => {
    const path = `${parent}.${compositeKey(descriptor)}`;
    const field = [...at, "descriptors", index];
    const limits = limitsOf(descriptor);
    const paths = limitPaths(path, limits);
    const own = limits.map((limit, each) => {
      const limitField = descriptor.rateLimits === undefined ? ["rateLimit"] : ["rateLimits", each];
      const placed = { limit, field: fieldPath([...field, ...limitField]), shadowMode: descriptor.shadowMode };
      return [paths[each] ?? path, placed] as const;
    });
    return [...own, ...limitsBelow(path, descriptor.descriptors, field)];
  });
}
