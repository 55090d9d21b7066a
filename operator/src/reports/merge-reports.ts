// Merges the reports of control plane replicas. A pod that several replicas report counts once, by its
// newest stream. Pure; the order of the replicas does not matter.
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { compareCodeUnits } from "@weir/common/order/code-unit-order";
import type { Pod, Resource, Rollout } from "@weir/proto/generated/weir/rollout/v1/rollout_pb";
import { podName, resourceName } from "@weir/proto/rollout/merge-rollouts";

import type { KnownResource, MergedReports, ReplicaSight } from "./merged-reports.ts";

/** Reason of problems that are NACKs, which are shown as rejections. */
const REJECTED = "RejectedByDataPlane";

/** A replica with its last report, if that counts. */
export interface ReplicaReport extends ReplicaSight {
  readonly rollout: Rollout | undefined;
}

/** Names of the counted pods of each group of a replica. */
type Groups = ReadonlyMap<number, readonly string[]>;

/** A replica that answers. */
export interface MergedReplica {
  readonly name: string;
  /** By `<namespace>/<name>`; the same map for the same report. */
  readonly resources: ReadonlyMap<string, Resource>;
  readonly groups: Groups;
}

/** Merged reports, and what they were merged from: see changed-keys.ts. */
export interface ComparableReports extends MergedReports {
  readonly silent: readonly string[];
  readonly awaited: readonly string[];
  readonly replicas: readonly MergedReplica[];
}

/** Merges reports. */
export function mergeReports(reports: readonly ReplicaReport[]): ComparableReports {
  const sorted = withoutDuplicates(reports).toSorted(
    (left, right) => compareCodeUnits(left.name, right.name) || compareCodeUnits(instanceOf(left), instanceOf(right)),
  );
  const answering = sorted.flatMap(({ name, state, rollout }) =>
    state === "answers" && rollout !== undefined ? { name, rollout } : [],
  );
  const counted = newestStreams(answering.map(({ rollout }) => rollout));
  const replicas = answering.map(({ name, rollout }) => ({
    name,
    resources: resourcesOf(rollout),
    groups: groupsOf(rollout, counted),
  }));
  const namesIn = (state: ReplicaSight["state"]): string[] =>
    sorted.filter((replica) => replica.state === state).map(({ name }) => name);
  const [silent, awaited] = [namesIn("silent"), namesIn("awaited")];
  const isComplete = answering.length > 0 && silent.length === 0 && awaited.length === 0;
  return {
    silent,
    awaited,
    replicas,
    pods: isComplete ? new Map(Array.from(counted, (pod) => [podName(pod), pod.fleet])) : undefined,
    of: (key) => ({
      silent,
      awaited,
      replicas: replicas.map(({ name, resources, groups }) => {
        const resource = resources.get(key);
        return { name, known: resource && knownResource(resource, groups) };
      }),
    }),
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

/** Of the streams of each pod the newest one. */
function newestStreams(rollouts: readonly Rollout[]): ReadonlySet<Pod> {
  const newest = new Map<string, { readonly pod: Pod; readonly tie: string }>();
  for (const { instance, pods } of rollouts)
    for (const pod of pods) {
      const identity = identityOf(pod);
      const known = newest.get(identity);
      const tie = `${instance} ${pod.peer}`;
      const order = known && (compareTimes(known.pod.connectedAt, pod.connectedAt) || compareCodeUnits(known.tie, tie));
      if (order === undefined || order < 0) newest.set(identity, { pod, tie });
    }
  return new Set(Array.from(newest.values(), ({ pod }) => pod));
}

/** Pods without a name may share a node id: then their addresses tell them apart. */
function identityOf(pod: Pod): string {
  if (pod.pod !== "") return `${pod.namespace}/${pod.pod}`;
  return `${pod.nodeId} ${pod.peer.replace(/:\d+$/, "")}`;
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

/** changed-keys.ts compares the fields that are read here. */
function knownResource(resource: Resource, groups: Groups): KnownResource {
  const countOf = (ids: readonly number[]): number => ids.reduce((sum, id) => sum + (groups.get(id)?.length ?? 0), 0);
  const { uid, observedGeneration, reason, problems, servesLastGood, fleetStates } = resource;
  return {
    uid,
    generation: Number(observedGeneration),
    reason: reason === REJECTED ? "" : reason,
    problems: problems
      .filter((problem) => problem.reason !== REJECTED)
      .map(({ field, message }) => ({ field, message })),
    servesLastGood,
    fleets: fleetStates.map(({ name, digest, acceptedGroups, pendingGroups, rejections }) => ({
      name,
      digest,
      accepted: countOf(acceptedGroups),
      pending: countOf(pendingGroups),
      rejected: rejections.flatMap(({ group, message }) => (groups.get(group) ?? []).map((pod) => ({ pod, message }))),
    })),
  };
}
