// Compares two states of merged reports. Pure. Most resources of a report are as they were: they are
// compared where they are, and only the others are merged and serialised.
import { isDeepStrictEqual } from "node:util";

import type { Resource } from "@weir/proto/generated/weir/rollout/v1/rollout_pb";

import type { ComparableReports, Groups, MergedReplica } from "./merge-reports.ts";

/** The resources, as `<namespace>/<name>`, of which something else is reported; undefined: that may be any. */
export function changedKeys(before: ComparableReports, after: ComparableReports): ReadonlySet<string> | undefined {
  if (!isDeepStrictEqual(namesIn(before), namesIn(after))) return undefined;
  const fleets = fleetsWithOtherGaps(before, after);
  const differing = after.replicas.flatMap((replica, index) => [
    ...differingKeys(before.replicas[index], replica),
    ...keysIn(fleets.union(fleetsOfOtherSize(before.replicas[index], replica)), replica),
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

/** The fleets with another number of pods that count. */
function fleetsOfOtherSize(before: MergedReplica | undefined, after: MergedReplica): ReadonlySet<string> {
  const fleets = new Set(before?.fleets.keys()).union(after.fleets);
  return new Set(fleets.values().filter((fleet) => before?.fleets.get(fleet) !== after.fleets.get(fleet)));
}

function keysIn(fleets: ReadonlySet<string>, { resources }: MergedReplica): readonly string[] {
  if (fleets.size === 0) return [];
  const concerned = resources.entries().filter(([, resource]) => {
    const { fleets: named, fleetStates, settledDigest } = resource;
    if (fleetStates.some(({ name }) => fleets.has(name))) return true;
    return settledDigest !== "" && (named.length === 0 || named.some((name) => fleets.has(name)));
  });
  return Array.from(concerned, ([key]) => key);
}

/**
 * The keys of resources that differ in the report of a replica, or concern pods that do; some may be equal once
 * merged.
 */
function differingKeys(before: MergedReplica | undefined, after: MergedReplica): readonly string[] {
  const numbers = new Map([["", 0]]);
  const [left, right] = [numberGroups(before?.groups, numbers), numberGroups(after.groups, numbers)];
  const areGroupsSame = isDeepStrictEqual(left, right);
  if (before?.resources === after.resources && areGroupsSame) return [];
  const isSameGroup = (one: number, other: number): boolean => (left.get(one) ?? 0) === (right.get(other) ?? 0);
  return [...new Set(before?.resources.keys()).union(after.resources)].filter((key) => {
    const [was, is] = [before?.resources.get(key), after.resources.get(key)];
    return !(was === is && areGroupsSame) && !areSame(was, is, isSameGroup);
  });
}

/** A number for each group, equal for groups with the same pods in all reports; 0: none of its pods counts. */
function numberGroups(groups: Groups | undefined, numbers: Map<string, number>): ReadonlyMap<number, number> {
  const entries = groups?.entries() ?? [];
  return new Map(
    Array.from(entries, ([id, pods]) => [id, numbers.getOrInsertComputed(pods.join(), () => numbers.size)]),
  );
}

/** Returns true if the fields are the same that are merged: twelve times as fast as reading the report. */
function areSame(
  left: Resource | undefined,
  right: Resource | undefined,
  isSameGroup: (left: number, right: number) => boolean,
): boolean {
  if (left === undefined || right === undefined) return left === right;
  return (
    left.uid === right.uid &&
    left.observedGeneration === right.observedGeneration &&
    left.reason === right.reason &&
    left.servesLastGood === right.servesLastGood &&
    left.settledDigest === right.settledDigest &&
    (left.settledDigest === "" || areAll(left.fleets, right.fleets, Object.is)) &&
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
        areAll(one.acceptedGroups, other.acceptedGroups, isSameGroup) &&
        areAll(one.pendingGroups, other.pendingGroups, isSameGroup) &&
        areAll(
          one.rejections,
          other.rejections,
          (x, y) => isSameGroup(x.group, y.group) && x.message === y.message && x.activeDigest === y.activeDigest,
        ),
    )
  );
}

function areAll<T>(left: readonly T[], right: readonly T[], areEqual: (left: T, right: T) => boolean): boolean {
  return left.length === right.length && left.every((each, index) => areEqual(each, right[index] as T));
}
