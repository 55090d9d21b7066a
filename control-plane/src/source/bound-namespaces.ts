// The bound of the resources of one namespace, the same for every source: the oldest are served, so that
// one namespace cannot take all memory or stop the updates of the others.
import { type Age, compareAge } from "@weir/limits/ownership/ownership";

import {
  type SourceLocation,
  resourceKey,
  type SourceRefusal,
  type SourceResource,
  type SourceState,
} from "./source.ts";

/** Most resources of one namespace that are served. */
export const NAMESPACE_RESOURCES_MAX = 10_000;

/** Most resources of one namespace that are reported as too many: the oldest of them. */
export const EXCESS_MAX = 1000;

/** Leaves out the youngest resources of each namespace that has more than `max`. */
export function boundNamespaces({ resources, refusals }: SourceState, max = NAMESPACE_RESOURCES_MAX): SourceState {
  const excess = [...Map.groupBy(resources, ({ namespace }) => namespace).values()]
    .filter(({ length }) => length > max)
    .map((namespace) => namespace.toSorted(compareAge).slice(max));
  if (excess.length === 0) return { resources, refusals };
  const leftOut = new Set<SourceResource>(excess.flat());
  const reported = excess.flatMap((namespace) => namespace.slice(0, EXCESS_MAX));
  return {
    resources: resources.filter((resource) => !leftOut.has(resource)),
    refusals: [...refusals, ...reported.map((resource) => tooMany(resource, resource.place, max))],
  };
}

/** Reports a resource that is not one of the oldest of its namespace. */
export function tooMany(age: Age, place: SourceLocation, max: number): SourceRefusal {
  const { namespace } = age;
  return {
    place,
    field: "",
    message: `namespace ${namespace} has more than ${max} RateLimitConfigs, this is not one of the oldest ${max}`,
    resource: resourceKey(age),
    keepsLastGood: false,
    reason: "TooMany",
  };
}
