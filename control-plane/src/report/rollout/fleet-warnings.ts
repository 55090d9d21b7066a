// Finds typing errors in fleet names: resources that no pod gets, pods that get no resource. Pure.
import { absentFleets, listNames } from "@weir/proto/rollout/absent-fleets";

import type { RolloutReport } from "./rollout-report.ts";

/** The fleets that a resource is for. */
interface FleetResource {
  /** undefined: every fleet. */
  readonly fleets: readonly string[] | undefined;
}

/** The report with warnings: of served resources without pods, and of pods without resources. */
export function addFleetWarnings(
  report: RolloutReport,
  pods: readonly { readonly fleet: string }[],
  served: readonly FleetResource[],
): RolloutReport {
  const podFleets = podFleetsOf(pods);
  const fleets = servedFleets(served);
  return {
    ...report,
    resources: report.resources.map((resource) => {
      if (resource.state === "refused") return resource;
      return { ...resource, warnings: [...resource.warnings, ...fleetWarnings(resource.fleets ?? [], podFleets)] };
    }),
    pods: report.pods.map((pod) => ({ ...pod, warnings: [...pod.warnings, ...podWarnings(pod.fleet, fleets)] })),
  };
}

/** The fleets of connected pods. */
export function podFleetsOf(pods: readonly { readonly fleet: string }[]): ReadonlySet<string> {
  return new Set(pods.map(({ fleet }) => fleet));
}

/** The warnings of a resource; none while no pod at all is connected, as after a start. */
export function fleetWarnings(fleets: readonly string[], podFleets: ReadonlySet<string>): readonly string[] {
  return podFleets.size === 0 ? [] : absentFleets(fleets, podFleets, " to this replica");
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
