// Reports of replicas on one resource, for tests of its status.
import type { FleetPods, KnownResource, ResourceReports } from "../reports/merged-reports.ts";
import type { ObservedResource } from "./observed-resource.ts";
import { statusOf } from "./status-of.ts";

/** The time at which statuses are computed, in milliseconds since the epoch. */
export const NOW_MS = Date.UTC(2026, 0, 31, 12);
/** A resource with valid rules. */
export const RESOURCE: ObservedResource = {
  uid: "u1",
  generation: 3,
  domain: "mail",
  fleets: undefined,
  shadowMode: false,
  problems: [],
};

/** A fleet of which so many pods have ACKed. */
export function fleetOf(accepted: number, more: Partial<FleetPods> = {}): FleetPods {
  return { name: "*", digest: "d1", accepted, pending: 0, rejected: [], ...more };
}

/** The report of a replica on the resource: one pod has ACKed. */
export function knownOf(more: Partial<KnownResource> = {}): KnownResource {
  return { uid: "u1", generation: 3, reason: "", problems: [], servesLastGood: false, fleets: [fleetOf(1)], ...more };
}

/** The reports of replicas, each with what it knows of the resource. */
export function reportsOf(
  known: readonly (KnownResource | undefined)[],
  more: Partial<ResourceReports> = {},
): ResourceReports {
  return {
    silent: [],
    awaited: [],
    gaps: [],
    replicas: known.map((each, index) => ({ name: `cp-${index}`, known: each })),
    ...more,
  };
}

/** Conditions as texts, such as `True Valid`. */
export function conditionsOf(resource: ObservedResource, reports: ResourceReports): Readonly<Record<string, string>> {
  const { conditions = [] } = statusOf(resource, reports, NOW_MS, undefined).status;
  return Object.fromEntries(conditions.map(({ type, status, reason }) => [type, `${status} ${reason}`]));
}

/** One with invalid rules. */
export const INVALID = { ...RESOURCE, problems: [{ field: "spec.domain", message: "must not be empty" }] };
