// The answers of several replicas as one picture: each replica knows all resources and only its own
// pods. Pure.
import { compareCodeUnits } from "@weir/common/order/code-unit-order";
import {
  type Fleet,
  Hold,
  type Pod,
  type PodCounts,
  PodState,
  type Resource,
  ResourceState,
  type Rollout,
  type Unreadable,
} from "@weir/proto/generated/weir/rollout/v1/rollout_pb";

import type { RolloutFilter } from "./arguments.ts";

/** One answer and whose it is. */
export interface ReplicaAnswer {
  readonly server: string;
  readonly rollout?: Rollout;
  /** Why there is no answer, or no newer one. */
  readonly error?: string;
}

/** A pod and the replica that it is connected to. */
export interface PlacedPod {
  readonly pod: Pod;
  readonly replica: string;
}

/** Numbers of pods. */
export type Counts = Pick<PodCounts, "total" | "accepted" | "rejected" | "pending">;

/** A fleet on all replicas. */
export interface MergedFleet {
  readonly name: string;
  /** More than one while replicas differ. */
  readonly versions: readonly string[];
  readonly resources: number;
  readonly holds: readonly Hold[];
  readonly pods: Counts;
}

/** A resource on all replicas. */
export interface MergedResource {
  /** As the replica tells it that is furthest from serving it. */
  readonly resource: Resource;
  readonly pods: Counts;
}

/** Everything that the replicas know. */
export interface MergedRollout {
  readonly replicas: readonly ReplicaAnswer[];
  readonly fleets: readonly MergedFleet[];
  readonly pods: readonly PlacedPod[];
  readonly resources: readonly MergedResource[];
  readonly unreadable: readonly Unreadable[];
  /** What is not as it should be, for people; empty when every resource is served and accepted. */
  readonly problems: readonly string[];
}

/**
 * A resource that is asked for by its name; an empty name asks for any of the namespace, and
 * without that for none.
 */
export type WantedResource = Pick<RolloutFilter, "namespace" | "name" | "generation">;

const NOTHING_WANTED: WantedResource = { namespace: "", name: "", generation: 0 };

/** How far a resource is from being served, so that the worst answer is shown. */
const SEVERITY: Readonly<Record<ResourceState, number>> = {
  [ResourceState.UNSPECIFIED]: 3,
  [ResourceState.SERVED]: 0,
  [ResourceState.REFUSED]: 5,
  [ResourceState.QUARANTINED]: 4,
};

const HOLD_TEXT: Readonly<Record<Hold, string>> = {
  [Hold.UNSPECIFIED]: "",
  [Hold.EMPTY]: "nothing is left of its resources, which may be an accident",
  [Hold.TOO_LARGE]: "it is larger than pods can receive",
  [Hold.REJECTED]: "pods rejected it without naming a resource",
};

/** Line and column behind the path of a file. */
const PLACE_IN_FILE = /:\d+:\d+$/;

/** Why a fleet's newer content is kept back, in words; empty when it is not. */
export function holdText(hold: Hold): string {
  return HOLD_TEXT[hold] ?? "for a reason that this program does not know";
}

/**
 * Merges answers. Two addresses of one replica count once. What is asked for by name, a resource or
 * a namespace, must be there.
 */
export function mergeRollouts(
  answers: readonly ReplicaAnswer[],
  wanted: WantedResource = NOTHING_WANTED,
): MergedRollout {
  const replicas = withoutTwins(answers);
  const rollouts = replicas.flatMap(({ rollout }) => (rollout === undefined ? [] : [rollout]));
  const pods = rollouts
    .flatMap((rollout) => rollout.pods.map((pod) => ({ pod, replica: rollout.replica })))
    .toSorted(
      (left, right) =>
        compareCodeUnits(left.pod.fleet, right.pod.fleet) || compareCodeUnits(podName(left.pod), podName(right.pod)),
    );
  const merged = {
    replicas,
    fleets: groups(
      rollouts.flatMap(({ fleets }) => fleets),
      ({ name }) => name,
    ).map(mergeFleet),
    pods,
    resources: groups(
      rollouts.flatMap(({ resources }) => resources),
      resourceName,
    ).map(mergeResource),
    unreadable: groups(
      rollouts.flatMap(({ unreadable }) => unreadable),
      ({ location, message }) => `${location}\n${message}`,
    ).flatMap(([first]) => (first === undefined ? [] : [first])),
  };
  return { ...merged, problems: [...problemsOf(merged), ...missing(rollouts, wanted)] };
}

/** What a pod is called. */
export function podName(pod: Pod): string {
  if (pod.pod === "") return pod.nodeId === "" ? pod.peer : pod.nodeId;
  return pod.namespace === "" ? pod.pod : `${pod.namespace}/${pod.pod}`;
}

/** What a resource is called. */
export function resourceName(resource: Resource): string {
  return `${resource.namespace}/${resource.name}`;
}

function withoutTwins(answers: readonly ReplicaAnswer[]): readonly ReplicaAnswer[] {
  const seen = new Set<string>();
  return answers.filter(({ rollout }) => {
    // Servers from before the field are told apart by their names only.
    const process =
      rollout === undefined || rollout.instance === "" ? rollout?.replica : `instance ${rollout.instance}`;
    if (process === undefined || process === "") return true;
    const isTwin = seen.has(process);
    seen.add(process);
    return !isTwin;
  });
}

function mergeFleet(fleets: readonly Fleet[]): MergedFleet {
  return {
    name: fleets[0]?.name ?? "",
    versions: [...new Set(fleets.map(({ version }) => version).filter((version) => version !== ""))].toSorted(),
    resources: Math.max(0, ...fleets.map(({ resources }) => resources)),
    holds: [...new Set(fleets.map(({ hold }) => hold).filter((hold) => hold !== Hold.UNSPECIFIED))],
    pods: sum(fleets.map(({ pods }) => pods)),
  };
}

function mergeResource(resources: readonly Resource[]): MergedResource {
  const [worst] = resources.toSorted(
    (left, right) =>
      severityOf(right) - severityOf(left) ||
      Number(left.generation - right.generation) ||
      compareCodeUnits(left.reason, right.reason),
  );
  if (worst === undefined) throw new Error("A group of resources is empty");
  return { resource: worst, pods: sum(resources.map(({ pods }) => pods)) };
}

function severityOf({ state, reason, servesLastGood }: Resource): number {
  if (state === ResourceState.SERVED) return servesLastGood ? 2 : reason === "" ? 0 : 1;
  return SEVERITY[state] ?? 3;
}

function problemsOf(merged: Omit<MergedRollout, "problems">): readonly string[] {
  const replicas = merged.replicas.flatMap(({ server, rollout, error }) => {
    const name = rollout === undefined || rollout.replica === "" ? server : rollout.replica;
    return [
      ...(error === undefined ? [] : [error]),
      ...(rollout === undefined || rollout.ready ? [] : [`the replica ${name} serves nothing yet`]),
      ...(rollout?.source === undefined || rollout.source.error === ""
        ? []
        : [`the replica ${name} cannot read ${rollout.source.location}: ${rollout.source.error}`]),
    ];
  });
  const fleets = merged.fleets.flatMap(({ name, versions, holds }) => [
    ...(versions.length > 1 ? [`the replicas serve ${versions.length} versions to the fleet ${name}`] : []),
    ...holds.map((hold) => `newer content of the fleet ${name} is kept back: ${holdText(hold)}`),
  ]);
  const refused = merged.resources.filter(({ resource }) => resource.state !== ResourceState.SERVED).length;
  const served = merged.resources.filter(({ resource }) => resource.state === ResourceState.SERVED);
  const stale = served.filter(({ resource }) => resource.servesLastGood).length;
  const contested = served.filter(({ resource }) => !resource.servesLastGood && resource.reason !== "").length;
  const unreadable = new Set(merged.unreadable.map(({ location }) => location.replace(PLACE_IN_FILE, ""))).size;
  const rejecting = merged.pods.filter(({ pod }) => pod.state === PodState.REJECTED).length;
  const waiting = merged.pods.filter(
    ({ pod }) => pod.state !== PodState.REJECTED && pod.state !== PodState.ACCEPTED,
  ).length;
  return [
    ...replicas,
    ...fleets,
    ...(refused === 0 ? [] : [`${resourcesText(refused)} not served as written`]),
    ...(stale === 0 ? [] : [`${resourcesText(stale)} served in an earlier form`]),
    ...(contested === 0
      ? []
      : [`${resourcesText(contested)} served, but another manifest of the same name is refused`]),
    ...(unreadable === 0
      ? []
      : [`${unreadable} ${unreadable === 1 ? "file or object" : "files or objects"} cannot be read`]),
    ...(rejecting === 0 ? [] : [`${podsText(rejecting)} rejected the version in force`]),
    ...(waiting === 0 ? [] : [`${podsText(waiting)} not yet accepted the version in force`]),
  ];
}

/**
 * What replicas do not know, or not yet as it was applied: all that they say of it may be about the
 * time before.
 */
function missing(rollouts: readonly Rollout[], { namespace, name, generation }: WantedResource): readonly string[] {
  if (name === "") {
    const unaware = rollouts.filter(
      ({ resources }) => namespace !== "" && !resources.some((resource) => resource.namespace === namespace),
    );
    return unaware.map(({ replica }) => `the replica ${replica} knows no resource in the namespace ${namespace}`);
  }
  return rollouts.flatMap(({ replica, resources }) => {
    const known = resources.find((resource) => resource.namespace === namespace && resource.name === name);
    if (known === undefined) return [`the replica ${replica} knows no resource ${namespace}/${name}`];
    if (known.generation >= BigInt(generation)) return [];
    return [
      `the replica ${replica} knows ${namespace}/${name} in generation ${known.generation}, not yet in ${generation}`,
    ];
  });
}

function resourcesText(count: number): string {
  return count === 1 ? "1 resource is" : `${count} resources are`;
}

function podsText(count: number): string {
  return count === 1 ? "1 pod has" : `${count} pods have`;
}

function sum(counts: readonly (PodCounts | undefined)[]): Counts {
  const all = { total: 0, accepted: 0, rejected: 0, pending: 0 };
  for (const one of counts) {
    if (one === undefined) continue;
    all.total += one.total;
    all.accepted += one.accepted;
    all.rejected += one.rejected;
    all.pending += one.pending;
  }
  return all;
}

/** Items with the same name, in the order of the names. */
function groups<Item>(items: readonly Item[], nameOf: (item: Item) => string): readonly (readonly Item[])[] {
  const byName = Map.groupBy(items, nameOf);
  return [...byName.entries()].toSorted(([left], [right]) => compareCodeUnits(left, right)).map(([, group]) => group);
}
