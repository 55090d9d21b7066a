// Merges the reports of control plane replicas. A pod that several replicas report counts once, by its
// newest stream; in a fleet with known pods only these count. The order of replicas does not matter.
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { unmapAddress } from "@weir/common/net/host-port";
import { compareCodeUnits } from "@weir/common/order/code-unit-order";
import type { Pod, Resource, Rollout } from "@weir/proto/generated/weir/rollout/v1/rollout_pb";
import { podName, resourceName } from "@weir/proto/rollout/merge-rollouts";

import type { FleetGaps, KnownResource, MergedReports, ReadyPods, ReplicaSight } from "./merged-reports.ts";

/** Reason of problems that are NACKs, which are shown as rejections. */
const REJECTED = "RejectedByDataPlane";

/** The name that reports have for all fleets that no resource names. */
const OTHER_FLEETS = "*";

/** A replica with its last report, if that counts. */
export interface ReplicaReport extends ReplicaSight {
  readonly rollout: Rollout | undefined;
}

/** Names of the counted pods of each group of a replica. */
export type Groups = ReadonlyMap<number, readonly string[]>;

/** A replica that answers. */
export interface MergedReplica {
  readonly name: string;
  /** By `<namespace>/<name>`; the same map for the same report. */
  readonly resources: ReadonlyMap<string, Resource>;
  readonly groups: Groups;
  /** Number of counted pods of each fleet, by the name that reports have for it. */
  readonly fleets: ReadonlyMap<string, number>;
}

/** Merged reports, and what they were merged from: see changed-keys.ts. */
export interface ComparableReports extends MergedReports {
  readonly silent: readonly string[];
  readonly awaited: readonly string[];
  readonly replicas: readonly MergedReplica[];
  /** By the name that reports have for the fleet. */
  readonly gaps: ReadonlyMap<string, FleetGaps>;
}

/** Merges reports. `ready` has the pods of those fleets of which they are known. */
export function mergeReports(
  reports: readonly ReplicaReport[],
  ready: ReadonlyMap<string, ReadyPods> = new Map(),
): ComparableReports {
  const sorted = withoutDuplicates(reports).toSorted(
    (left, right) => compareCodeUnits(left.name, right.name) || compareCodeUnits(instanceOf(left), instanceOf(right)),
  );
  const answering = sorted.flatMap(({ name, state, rollout }) =>
    state === "answers" && rollout !== undefined ? { name, rollout } : [],
  );
  const rollouts = answering.map(({ rollout }) => rollout);
  const counted = newestStreams(rollouts, ready);
  const gaps = gapsOf(rollouts, counted, ready);
  const replicas = answering.map(({ name, rollout }) => ({
    name,
    resources: resourcesOf(rollout),
    groups: groupsOf(rollout, counted),
    fleets: fleetsOf(rollout, counted),
  }));
  const namesIn = (state: ReplicaSight["state"]): string[] =>
    sorted.filter((replica) => replica.state === state).map(({ name }) => name);
  const [silent, awaited] = [namesIn("silent"), namesIn("awaited")];
  const isComplete = answering.length > 0 && silent.length === 0 && awaited.length === 0;
  return {
    silent,
    awaited,
    replicas,
    gaps,
    pods: answering.length > 0 ? fleetsByPod(rollouts, ready) : undefined,
    isComplete,
    of: (key) => {
      const known = replicas.map((replica) => {
        const resource = replica.resources.get(key);
        return { name: replica.name, known: resource && knownResource(resource, replica) };
      });
      const fleets = new Set(known.flatMap((replica) => replica.known?.fleets.map(({ name }) => name) ?? []));
      return { silent, awaited, replicas: known, gaps: [...fleets].flatMap((fleet) => gaps.get(fleet) ?? []) };
    },
  };
}

/** Two addresses of one process are one replica: the one that answers counts. */
function withoutDuplicates(reports: readonly ReplicaReport[]): readonly ReplicaReport[] {
  const answering = new Map<string, ReplicaReport>();
  for (const report of reports) {
    const instance = instanceOf(report);
    if (instance !== "" && report.state === "answers") answering.set(instance, report);
  }
  return reports.filter((report) => {
    const answers = answering.get(instanceOf(report));
    return answers === undefined || answers === report;
  });
}

function instanceOf({ rollout }: ReplicaReport): string {
  return rollout?.instance ?? "";
}

/** Of the streams of each pod that counts the newest one. */
function newestStreams(rollouts: readonly Rollout[], ready: ReadonlyMap<string, ReadyPods>): ReadonlySet<Pod> {
  const newest = new Map<string, { readonly pod: Pod; readonly tie: string }>();
  for (const { instance, pods } of rollouts)
    for (const pod of pods) {
      const known = ready.get(pod.fleet);
      if (known !== undefined && !(known.ready.has(podName(pod)) && isOf(known, pod))) continue;
      // Whatever another fleet claims, it takes no known pod's place.
      const identity = known === undefined ? identityOf(pod) : `${pod.fleet} ${podName(pod)}`;
      const other = newest.get(identity);
      const tie = `${instance} ${pod.peer}`;
      const order = other && (compareTimes(other.pod.connectedAt, pod.connectedAt) || compareCodeUnits(other.tie, tie));
      if (order === undefined || order < 0) newest.set(identity, { pod, tie });
    }
  return new Set(Array.from(newest.values(), ({ pod }) => pod));
}

/** Known pods come last: they keep their fleet whatever others claim. */
function fleetsByPod(rollouts: readonly Rollout[], known: ReadonlyMap<string, ReadyPods>): ReadonlyMap<string, string> {
  return new Map(
    rollouts
      .flatMap(({ pods }) => pods)
      .filter((pod) => isOf(known.get(pod.fleet), pod))
      .toSorted((left, right) => Number(known.has(left.fleet)) - Number(known.has(right.fleet)))
      .map((pod) => [podName(pod), pod.fleet]),
  );
}

/** Returns true if a stream is of one of the pods, or these are unknown: a name is claimed, an address is not. */
function isOf(pods: ReadyPods | undefined, pod: Pod): boolean {
  return pods === undefined || pods.addresses.get(podName(pod))?.has(addressOf(pod)) === true;
}

function gapsOf(
  rollouts: readonly Rollout[],
  counted: ReadonlySet<Pod>,
  ready: ReadonlyMap<string, ReadyPods>,
): ReadonlyMap<string, FleetGaps> {
  const reported = new Set(rollouts.flatMap(({ fleets }) => fleets.map(({ name }) => name)));
  const streams = Map.groupBy(
    rollouts.flatMap(({ pods }) => pods),
    ({ fleet }) => fleet,
  );
  const connected = new Set(Array.from(counted, (pod) => `${pod.fleet} ${podName(pod)}`));
  const gaps = new Map<string, FleetGaps>();
  for (const [fleet, pods] of ready) {
    const name = reported.has(fleet) ? fleet : OTHER_FLEETS;
    const missing = pods.awaited.values().filter((pod) => !connected.has(`${fleet} ${pod}`));
    const unknown = (streams.get(fleet) ?? []).filter((pod) => !isOf(pods, pod));
    const before = gaps.get(name) ?? { missing: 0, unknown: 0 };
    gaps.set(name, {
      name,
      missing: before.missing + Array.from(missing).length,
      unknown: before.unknown + unknown.length,
    });
  }
  return new Map(gaps.entries().filter(([, { missing, unknown }]) => missing > 0 || unknown > 0));
}

/** Pods without a name may share a node id: then their addresses distinguish them. */
function identityOf(pod: Pod): string {
  return pod.pod === "" ? `${pod.nodeId} ${addressOf(pod)}` : `${pod.namespace}/${pod.pod}`;
}

/** The address of a stream without its port. */
function addressOf({ peer }: Pod): string {
  return unmapAddress(peer.replace(/:\d+$/, "").replace(/^\[|\]$/g, ""));
}

function compareTimes(left: Timestamp | undefined, right: Timestamp | undefined): number {
  const seconds = (left?.seconds ?? 0n) - (right?.seconds ?? 0n);
  return seconds === 0n ? (left?.nanos ?? 0) - (right?.nanos ?? 0) : Number(seconds);
}

const resourceMaps = new WeakMap<Rollout, MergedReplica["resources"]>();

function resourcesOf(rollout: Rollout): MergedReplica["resources"] {
  return resourceMaps.getOrInsertComputed(
    rollout,
    ({ resources }) => new Map(resources.map((resource) => [resourceName(resource), resource])),
  );
}

function groupsOf({ pods }: Rollout, counted: ReadonlySet<Pod>): Groups {
  const groups = new Map<number, string[]>();
  for (const pod of pods) if (counted.has(pod)) groups.getOrInsertComputed(pod.group, () => []).push(podName(pod));
  return groups;
}

function fleetsOf({ fleets, pods }: Rollout, counted: ReadonlySet<Pod>): ReadonlyMap<string, number> {
  const sizes = new Map(fleets.map(({ name }) => [name, 0]));
  for (const pod of pods) {
    if (!counted.has(pod)) continue;
    const fleet = sizes.has(pod.fleet) ? pod.fleet : OTHER_FLEETS;
    sizes.set(fleet, (sizes.get(fleet) ?? 0) + 1);
  }
  return sizes;
}

/** The fleets that the report leaves out of `fleetStates`: all their pods have ACKed the revision. */
function settledFleets(
  { settledDigest: digest, fleets: named, fleetStates }: Resource,
  sizes: MergedReplica["fleets"],
) {
  if (digest === "") return [];
  const listed = new Set(fleetStates.map(({ name }) => name));
  return [...(named.length > 0 ? named : sizes.keys())].flatMap((name) => {
    const accepted = sizes.get(name);
    return accepted === undefined || listed.has(name) ? [] : { name, digest, accepted, pending: 0, rejected: [] };
  });
}

/** changed-keys.ts compares the fields that are read here. */
function knownResource(resource: Resource, { groups, fleets }: MergedReplica): KnownResource {
  const countOf = (ids: readonly number[]): number => ids.reduce((sum, id) => sum + (groups.get(id)?.length ?? 0), 0);
  const { uid, observedGeneration, reason, servesLastGood, fleetStates } = resource;
  const listed = fleetStates.map(({ name, digest, acceptedGroups, pendingGroups, rejections }) => ({
    name,
    digest,
    accepted: countOf(acceptedGroups),
    pending: countOf(pendingGroups),
    rejected: rejections.flatMap(({ group, message }) => (groups.get(group) ?? []).map((pod) => ({ pod, message }))),
  }));
  const problems = resource.problems.filter((problem) => problem.reason !== REJECTED);
  // A client that does not count must not make it seem so with a NACK.
  const hasEarlier = fleetStates.some(({ rejections }) =>
    rejections.some(({ group, activeDigest }) => activeDigest !== "" && countOf([group]) > 0),
  );
  return {
    uid,
    generation: Number(observedGeneration),
    reason: reason === REJECTED ? "" : reason,
    problems: problems.map(({ field, message }) => ({ field, message })),
    servesLastGood: problems.length > 0 ? servesLastGood : hasEarlier,
    fleets: [...listed, ...settledFleets(resource, fleets)].toSorted((left, right) =>
      compareCodeUnits(left.name, right.name),
    ),
  };
}
