// Compares two states of merged reports. Pure. Most resources of a report are as they were: they are
// compared where they are, and only the others are merged and serialised.
import { isDeepStrictEqual } from "node:util";

import type { Resource } from "@weir/proto/generated/weir/rollout/v1/rollout_pb";

import type { ComparableReports, MergedReplica } from "./merge-reports.ts";

/** The resources, as `<namespace>/<name>`, of which something else is reported; undefined: that may be any. */
export function changedKeys(before: ComparableReports, after: ComparableReports): ReadonlySet<string> | undefined {
  if (!isDeepStrictEqual(namesIn(before), namesIn(after))) return undefined;
  const fleets = fleetsWithOtherGaps(before, after);
  const differing = after.replicas.flatMap((replica, index) => [
    ...differingKeys(before.replicas[index], replica),
    ...keysIn(fleets, replica),
  ]);
  const isChanged = (key: string): boolean => JSON.stringify(before.of(key)) !== JSON.stringify(after.of(key));
  return new Set([...new Set(differing)].filter(isChanged));
}

function namesIn({ silent, awaited, replicas }: ComparableReports): readonly (readonly string[])[] {
  return [silent, awaited, replicas.map(({ name }) => name)];
}

function fleetsWithOtherGaps({ gaps: before }: ComparableReports, { gaps: after }: ComparableReports) {
  const fleets = new Set(before.keys()).union(after);
  return new Set(fleets.values().filter((fleet) => !isDeepStrictEqual(before.get(fleet), after.get(fleet))));
}

function keysIn(fleets: ReadonlySet<string>, { resources }: MergedReplica): readonly string[] {
  if (fleets.size === 0) return [];
  const concerned = resources
    .entries()
    .filter(([, { fleetStates }]) => fleetStates.some(({ name }) => fleets.has(name)));
  return Array.from(concerned, ([key]) => key);
}

/** What differs in the report of a replica, or concerns pods that do; of some of it the same may be merged. */
function differingKeys(before: MergedReplica | undefined, after: MergedReplica): readonly string[] {
  const ids = new Set(before?.groups.keys()).union(after.groups);
  const groups = ids.values().filter((id) => before?.groups.get(id)?.join() !== after.groups.get(id)?.join());
  const changed = new Set(groups);
  if (before?.resources === after.resources && changed.size === 0) return [];
  return [...new Set(before?.resources.keys()).union(after.resources)].filter((key) => {
    const resource = after.resources.get(key);
    return !areSame(before?.resources.get(key), resource) || (changed.size > 0 && hasGroupOf(changed, resource));
  });
}

function hasGroupOf(groups: ReadonlySet<number>, resource: Resource | undefined): boolean {
  return (resource?.fleetStates ?? []).some(
    ({ acceptedGroups, pendingGroups, rejections }) =>
      acceptedGroups.some((id) => groups.has(id)) ||
      pendingGroups.some((id) => groups.has(id)) ||
      rejections.some(({ group }) => groups.has(group)),
  );
}

/** Whether the fields are the same that are merged: twelve times as fast as reading the report. */
function areSame(left: Resource | undefined, right: Resource | undefined): boolean {
  if (left === undefined || right === undefined || left === right) return left === right;
  return (
    left.uid === right.uid &&
    left.observedGeneration === right.observedGeneration &&
    left.reason === right.reason &&
    left.servesLastGood === right.servesLastGood &&
    areAll(
      left.problems,
      right.problems,
      (one, other) => one.field === other.field && one.message === other.message && one.reason === other.reason,
    ) &&
    areAll(
      left.fleetStates,
      right.fleetStates,
      (one, other) =>
        one.name === other.name &&
        one.digest === other.digest &&
        areAll(one.acceptedGroups, other.acceptedGroups, Object.is) &&
        areAll(one.pendingGroups, other.pendingGroups, Object.is) &&
        areAll(
          one.rejections,
          other.rejections,
          (x, y) => x.group === y.group && x.message === y.message && x.activeDigest === y.activeDigest,
        ),
    )
  );
}

function areAll<T>(left: readonly T[], right: readonly T[], areEqual: (left: T, right: T) => boolean): boolean {
  return left.length === right.length && left.every((each, index) => areEqual(each, right[index] as T));
}
