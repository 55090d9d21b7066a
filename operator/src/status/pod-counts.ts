// Adds up the pods of all replicas that receive a resource, by fleet and by their answer. Pure.
import { compareCodeUnits } from "@weir/common/order/code-unit-order";

import type { FleetGaps, KnownResource, PodRejection } from "../reports/merged-reports.ts";

/** The name of all fleets together in the status of rules that name none: their names are their owners' matter. */
const EVERY_FLEET = "*";

/** Numbers of pods. */
export interface Counts {
  readonly total: number;
  readonly accepted: number;
  readonly rejected: number;
  /** Those that have not answered, and ready pods that are not connected. */
  readonly pending: number;
}

/** A fleet on all replicas. */
export interface FleetCounts extends Counts {
  readonly name: string;
  readonly version: string;
  /** Streams that claim the fleet and are of none of its ready pods. */
  readonly unknown: number;
}

/** The pods of a resource. */
export interface PodTotals {
  readonly all: Counts;
  /** The fleets that the rules name, sorted by name; else one for all together. */
  readonly fleets: readonly FleetCounts[];
  /** Ready pods that are not connected. The statuses of their RateLimitServices name them. */
  readonly missing: number;
  /** Sorted by pod. */
  readonly rejections: readonly PodRejection[];
}

/** The reports from which pods are counted. */
export interface PodReports {
  /** The reports of replicas that have read the present generation. */
  readonly known: readonly KnownResource[];
  /** The reports of the others: their pods have not answered this generation, whatever they have ACKed. */
  readonly outdated: readonly KnownResource[];
  readonly gaps: readonly FleetGaps[];
}

/** Counts the pods of rules that name these fleets; undefined: they are for every fleet. */
export function countPods({ known, outdated, gaps }: PodReports, named: readonly string[] | undefined): PodTotals {
  const fleets = new Map<string, Omit<FleetCounts, "total" | "name">>();
  const rejections: PodRejection[] = [];
  const add = (fleet: string, { version = "", accepted = 0, rejected = 0, pending = 0, unknown = 0 }): void => {
    const name = named === undefined ? EVERY_FLEET : fleet;
    const before = fleets.get(name) ?? { version: "", accepted: 0, rejected: 0, pending: 0, unknown: 0 };
    fleets.set(name, {
      // They differ for moments only; any rule will do that does not depend on the order of replicas.
      version: lesserText(before.version, version),
      accepted: before.accepted + accepted,
      rejected: before.rejected + rejected,
      pending: before.pending + pending,
      unknown: before.unknown + unknown,
    });
  };
  for (const { name, digest, accepted, pending, rejected } of known.flatMap((resource) => resource.fleets)) {
    add(name, { version: digest, accepted, pending, rejected: rejected.length });
    rejections.push(...rejected);
  }
  for (const { name, accepted, pending, rejected } of outdated.flatMap((resource) => resource.fleets))
    add(name, { pending: accepted + pending + rejected.length });
  for (const { name, missing, unknown } of gaps)
    // Of every fleet, a number that changes with each stream of others would be written to each status.
    add(name, { pending: missing, unknown: named === undefined ? 0 : unknown });
  const sorted = [...fleets]
    .toSorted(([left], [right]) => compareCodeUnits(left, right))
    .map(([name, counts]) => ({ name, ...counts, total: counts.accepted + counts.rejected + counts.pending }));
  const sum = (count: keyof Counts): number => sorted.reduce((total, fleet) => total + fleet[count], 0);
  return {
    all: { total: sum("total"), accepted: sum("accepted"), rejected: sum("rejected"), pending: sum("pending") },
    fleets: sorted,
    missing: gaps.reduce((total, { missing }) => total + missing, 0),
    rejections: rejections.toSorted(
      (left, right) => compareCodeUnits(left.pod, right.pod) || compareCodeUnits(left.message, right.message),
    ),
  };
}

/** The first of two texts that are not empty, in the order of code units. */
function lesserText(left: string, right: string): string {
  if (left === "" || right === "") return left + right;
  return compareCodeUnits(left, right) < 0 ? left : right;
}
