// Finds the fleets in which every pod has the current revision of a resource: as a rule all of them, and to report each
// for each of thousands of resources takes seconds. Pure.
import { type ElementOrder, sortedDifferences } from "@weir/common/order/sorted-differences";

import type { PodState } from "../../pods/pod-registry.ts";
import { revisionIn } from "../../pods/pod-revisions.ts";
import { deviationOf } from "../../pods/sync-status.ts";
import type { Revision } from "../../snapshot/revision.ts";
import type { Snapshot } from "../../snapshot/snapshot.ts";
import type { GroupedFleet } from "./pod-groups.ts";

/** The fleets of a resource, divided. */
export interface SettledFleets {
  /** Digest of the current revision, which every pod of the settled fleets has ACKed. */
  readonly digest: string;
  /** Number of these pods. */
  readonly pods: number;
  /** The other fleets that receive the resource. */
  readonly unsettled: readonly GroupedFleet[];
}

/** The snapshots with a resource. */
interface Holders {
  count: number;
  /** Those in which another revision is published, or not every pod has ACKed it. */
  readonly unsettled: GroupedFleet[];
}

/** By digest, as pods are compared. */
const BY_DIGEST: ElementOrder<Revision> = {
  nameOf: ({ name }) => name,
  isSame: (left, right) => left === right || (left.digest === right.digest && left.name === right.name),
};

/**
 * Returns a function that divides the fleets of a current revision, `named` or all; its result is undefined when these
 * are not exactly the fleets whose snapshots have it, as before a publication.
 */
export function settledIn(
  fleets: readonly GroupedFleet[],
  currentRevision: (name: string) => Revision | undefined,
): (present: Revision, named: readonly string[] | undefined) => SettledFleets | undefined {
  const holders = new Map<string, Holders>();
  for (const fleet of fleets) {
    const late = lateNames(fleet);
    for (const revision of fleet.snapshot?.revisions ?? []) {
      const { name, digest } = revision;
      const known = holders.getOrInsertComputed(name, () => ({ count: 0, unsettled: [] }));
      known.count += 1;
      const present = currentRevision(name);
      if (late.has(name) || (present !== revision && present?.digest !== digest)) known.unsettled.push(fleet);
    }
  }
  const byName = new Map(fleets.map((each) => [each.fleet, each]));
  const sizes = new Map(fleets.map((each) => [each, sizeOf(each)]));
  const podsOf = (all: readonly GroupedFleet[]): number => all.reduce((sum, each) => sum + (sizes.get(each) ?? 0), 0);
  const allPods = podsOf(fleets);
  return ({ name, digest }, named) => {
    const { count, unsettled } = holders.get(name) ?? { count: 0, unsettled: [] };
    const wanted = named?.flatMap((fleet) => byName.get(fleet) ?? []);
    if (count !== (wanted ?? fleets).length) return undefined;
    if (wanted?.some(({ snapshot }) => snapshot?.get(name) === undefined) === true) return undefined;
    return { digest, pods: (wanted === undefined ? allPods : podsOf(wanted)) - podsOf(unsettled), unsettled };
  };
}

function sizeOf({ groups }: GroupedFleet): number {
  return groups.reduce((sum, { size }) => sum + size, 0);
}

/** Names of the resources of the fleet's snapshot that some of its pods lack. */
function lateNames({ snapshot, groups }: GroupedFleet): ReadonlySet<string> {
  if (snapshot === undefined) return new Set();
  return new Set(groups.flatMap(({ pod }) => [...lateNamesOf(pod, snapshot)]));
}

function* lateNamesOf(pod: PodState, snapshot: Snapshot): Generator<string> {
  const { acked, rejected } = pod;
  if (rejected === undefined && acked !== undefined && acked.names === undefined) {
    if (acked.snapshot === snapshot) return; // As a rule.
    for (const { name, after } of sortedDifferences(acked.snapshot.revisions, snapshot.revisions, BY_DIGEST))
      if (after !== undefined) yield name;
    return;
  }
  for (const revision of snapshot.revisions) {
    const { name, digest } = revision;
    if (revisionIn(acked, name)?.digest !== digest || deviationOf(pod, revision) !== undefined) yield name;
  }
}
