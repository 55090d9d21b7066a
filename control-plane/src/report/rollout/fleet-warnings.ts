// Finds typing errors in fleet names: resources that no pod gets, pods that get no resource. Pure.
import { absentFleets, listNames } from "@weir/proto/rollout/absent-fleets";

/** What matters of a resource. */
export interface FleetResource {
  /** undefined: every fleet. */
  readonly fleets: readonly string[] | undefined;
}

/** The fleets of connected pods. */
export function podFleetsOf(pods: readonly { readonly fleet: string }[]): ReadonlySet<string> {
  return new Set(pods.map(({ fleet }) => fleet));
}

/** The warnings of a resource; none while no pod at all is connected, as after a start. */
export function fleetWarnings(
  fleets: readonly string[] | undefined,
  podFleets: ReadonlySet<string>,
): readonly string[] {
  return podFleets.size === 0 ? [] : absentFleets(fleets ?? [], podFleets, " to this replica");
}

/**
 * The fleets that get a resource; undefined when every fleet gets one, or there is no resource.
 * While a resource is for every fleet, pods of fleets that none names are usual.
 */
export function servedFleets(resources: readonly FleetResource[]): ReadonlySet<string> | undefined {
  const served = new Set<string>();
  for (const { fleets } of resources) {
    if (fleets === undefined) return undefined;
    for (const fleet of fleets) served.add(fleet);
  }
  return served.size === 0 ? undefined : served;
}

/** The warnings of a pod of this fleet. */
export function podWarnings(fleet: string, served: ReadonlySet<string> | undefined): readonly string[] {
  if (served === undefined || served.has(fleet)) return [];
  return [`no valid resource names its fleet ${fleet}, so it gets none (fleets of resources: ${listNames(served)})`];
}
