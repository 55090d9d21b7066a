// Adds up the pods of all replicas that receive a resource, by fleet and by their answer. Pure.
import { compareCodeUnits } from "@weir/common/order/code-unit-order";

import type { KnownResource, PodRejection } from "../reports/merged-reports.ts";

/** Numbers of pods. */
export interface Counts {
  readonly total: number;
  readonly accepted: number;
  readonly rejected: number;
  readonly pending: number;
}

/** A fleet on all replicas. */
export interface FleetCounts extends Counts {
  readonly name: string;
  readonly version: string;
}

/** The pods of a resource. */
export interface PodTotals {
  readonly all: Counts;
  /** Sorted by name. */
  readonly fleets: readonly FleetCounts[];
  /** Sorted by pod. */
  readonly rejections: readonly PodRejection[];
}

/**
 * Counts pods. Those of replicas that know only an earlier generation, `outdated`, have not answered the
 * present one, whatever they have ACKed.
 */
export function countPods(known: readonly KnownResource[], outdated: readonly KnownResource[]): PodTotals {
  const fleets = new Map<string, { version: string; accepted: number; rejected: number; pending: number }>();
  const rejections: PodRejection[] = [];
  const add = (resource: KnownResource, isOutdated: boolean): void => {
    for (const { name, digest, accepted, pending, rejected } of resource.fleets) {
      const counts = fleets.getOrInsertComputed(name, () => ({ version: "", accepted: 0, rejected: 0, pending: 0 }));
      // Replicas differ for moments only; any rule will do that does not depend on their order.
      if (!isOutdated && (counts.version === "" || compareCodeUnits(digest, counts.version) < 0))
        counts.version = digest;
      counts.accepted += isOutdated ? 0 : accepted;
      counts.pending += isOutdated ? accepted + pending + rejected.length : pending;
      counts.rejected += isOutdated ? 0 : rejected.length;
      if (!isOutdated) rejections.push(...rejected);
    }
  };
  for (const resource of known) add(resource, false);
  for (const resource of outdated) add(resource, true);
  const sorted = [...fleets]
    .toSorted(([left], [right]) => compareCodeUnits(left, right))
    .map(([name, counts]) => ({ name, ...counts, total: counts.accepted + counts.rejected + counts.pending }));
  const sum = (count: keyof Counts): number => sorted.reduce((total, fleet) => total + fleet[count], 0);
  return {
    all: { total: sum("total"), accepted: sum("accepted"), rejected: sum("rejected"), pending: sum("pending") },
    fleets: sorted,
    rejections: rejections.toSorted(
      (left, right) => compareCodeUnits(left.pod, right.pod) || compareCodeUnits(left.message, right.message),
    ),
  };
}
