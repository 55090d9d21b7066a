// Merges the rollout reports of several replicas into one: each replica knows all resources and
// only its own pods. Pure.
import {
  type Fleet,
  Hold,
  type Pod,
  type PodCounts,
  type Resource,
  ResourceState,
} from "../generated/weir/rollout/v1/rollout_pb.ts";
import { mergeFleetWarnings } from "./absent-fleets.ts";
import type {
  Counts,
  MergedFleet,
  MergedResource,
  MergedRollout,
  ReplicaAnswer,
  WantedResource,
} from "./merged-rollout.ts";
import { rolloutProblems } from "./rollout-problems.ts";

/** How far a resource is from being served; the worst answer is shown. */
const SEVERITY: Readonly<Record<ResourceState, number>> = {
  [ResourceState.UNSPECIFIED]: 3,
  [ResourceState.SERVED]: 0,
  [ResourceState.REFUSED]: 5,
  [ResourceState.QUARANTINED]: 4,
};

/** Merges answers; two addresses of one replica count once. */
export function mergeRollouts(
  answers: readonly ReplicaAnswer[],
  wanted: WantedResource = { namespace: "", name: "", generation: 0 },
): MergedRollout {
  const replicas = withoutDuplicates(answers);
  const rollouts = replicas.flatMap(({ rollout }) => rollout ?? []);
  const fleets = rollouts.flatMap((rollout) => rollout.fleets);
  const pods = rollouts.flatMap((rollout) => rollout.pods.map((pod) => ({ pod, replica: rollout.replica })));
  const podFleets = new Set(pods.map(({ pod }) => pod.fleet));
  const resources = rollouts.flatMap((rollout) => rollout.resources);
  const unreadable = rollouts.flatMap((rollout) => rollout.unreadable);
  const merged = {
    replicas,
    fleets: grouped(fleets, ({ name }) => name).map(mergeFleet),
    pods: pods.toSorted(
      (left, right) => compare(left.pod.fleet, right.pod.fleet) || compare(podName(left.pod), podName(right.pod)),
    ),
    resources: grouped(resources, resourceName).map((group) =>
      mergeResource(group, (worst) => mergeFleetWarnings(worst, group, { podFleets, filter: wanted.fleet ?? "" })),
    ),
    unreadable: grouped(unreadable, ({ location, message }) => `${location}\n${message}`).flatMap(
      ([first]) => first ?? [],
    ),
  };
  return { ...merged, problems: rolloutProblems(merged, wanted) };
}

/** The name of a pod. */
export function podName(pod: Pod): string {
  if (pod.pod === "") return pod.nodeId === "" ? pod.peer : pod.nodeId;
  return pod.namespace === "" ? pod.pod : `${pod.namespace}/${pod.pod}`;
}

/** The name of a resource: `<namespace>/<name>`. */
export function resourceName(resource: Resource): string {
  return `${resource.namespace}/${resource.name}`;
}

function withoutDuplicates(answers: readonly ReplicaAnswer[]): readonly ReplicaAnswer[] {
  const seen = new Set<string>();
  return answers.filter(({ rollout }) => {
    if (rollout === undefined) return true;
    // Older servers send no instance; their name identifies them.
    const process = rollout.instance === "" ? rollout.replica : `instance ${rollout.instance}`;
    if (process === "") return true;
    const isDuplicate = seen.has(process);
    seen.add(process);
    return !isDuplicate;
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

function mergeResource(resources: readonly Resource[], warningsOf: (resource: Resource) => string[]): MergedResource {
  const [worst] = resources.toSorted(
    (left, right) =>
      severityOf(right) - severityOf(left) ||
      Number(left.generation - right.generation) ||
      compare(left.reason, right.reason),
  );
  if (worst === undefined) throw new Error("A group of resources is empty");
  return { resource: { ...worst, warnings: warningsOf(worst) }, pods: sum(resources.map(({ pods }) => pods)) };
}

function severityOf({ state, reason, servesLastGood }: Resource): number {
  if (state === ResourceState.SERVED) return servesLastGood ? 2 : reason === "" ? 0 : 1;
  return SEVERITY[state] ?? 3;
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

/** Items of one name together, sorted by name. */
function grouped<Item>(items: readonly Item[], nameOf: (item: Item) => string): readonly (readonly Item[])[] {
  return [...Map.groupBy(items, nameOf)].toSorted(([left], [right]) => compare(left, right)).map(([, group]) => group);
}

/** By code units: the same order on every machine. */
function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
