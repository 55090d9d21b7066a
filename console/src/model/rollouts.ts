// Resources and pods as the views show them. Pure.
import { type Pod, PodState, type Resource, ResourceState } from "@weir/proto/generated/weir/rollout/v1/rollout_pb";
import { podName, resourceName } from "@weir/proto/rollout/merge-rollouts";
import type { MergedResource, MergedRollout, ReplicaPod } from "@weir/proto/rollout/merged-rollout";

/** How well something is: by colour and by order. */
export type Tone = "good" | "warning" | "bad";

/** A pod that has NACKed a resource, or has not answered. */
export interface TroubledPod {
  readonly name: string;
  readonly isRejecting: boolean;
  /** The words of its NACK. */
  readonly message: string;
}

/** A resource in one fleet. */
export interface FleetState {
  readonly fleet: string;
  readonly accepted: number;
  readonly troubled: readonly TroubledPod[];
}

const ORDER: Readonly<Record<Tone, number>> = { bad: 0, warning: 1, good: 2 };

/** The state of a resource in a word or two, and how well that is. */
export function resourceState({ state, reason, servesLastGood }: Resource): readonly [text: string, tone: Tone] {
  if (state === ResourceState.REFUSED) return [servesLastGood ? "last good revision" : "not served", "bad"];
  if (state === ResourceState.QUARANTINED) return [servesLastGood ? "NACKed, earlier revision" : "NACKed", "bad"];
  if (state !== ResourceState.SERVED) return ["unknown", "warning"];
  if (servesLastGood) return ["last good revision", "bad"];
  return reason === "" ? ["served", "good"] : ["served, contested", "warning"];
}

/** The state of a pod in a word, and how well that is. */
export function podState({ state }: Pod): readonly [text: string, tone: Tone] {
  if (state === PodState.ACCEPTED) return ["accepted", "good"];
  return state === PodState.REJECTED ? ["rejected", "bad"] : ["waiting", "warning"];
}

/** Resources that are not served as they are written. */
export function troubledResources(resources: readonly MergedResource[]): readonly MergedResource[] {
  return resources.filter(({ resource }) => resourceState(resource)[1] !== "good");
}

/** Those in trouble first. */
export function byUrgency<Item>(items: readonly Item[], toneOf: (item: Item) => Tone): readonly Item[] {
  return items.toSorted((one, other) => ORDER[toneOf(one)] - ORDER[toneOf(other)]);
}

/** Returns true if name, domain or fleets of a resource have the text; an empty text is in all. */
export function matches({ resource }: MergedResource, filter: string): boolean {
  const { domain, fleets } = resource;
  return [resourceName(resource), domain, ...fleets].some((text) => text.includes(filter));
}

/** Returns true if name, fleet or replica of a pod have the text. */
export function podMatches({ pod, replica }: ReplicaPod, filter: string): boolean {
  return [podName(pod), pod.fleet, replica].some((text) => text.includes(filter));
}

/** A resource in each fleet that receives it, of the pods of all replicas; sorted by name of the fleet. */
export function fleetStates(name: string, { replicas }: MergedRollout): readonly FleetState[] {
  const states = replicas.flatMap(({ rollout }) => {
    const resource = rollout?.resources.find((each) => resourceName(each) === name);
    return (resource?.fleetStates ?? []).map(({ name: fleet, acceptedGroups, pendingGroups, rejections }) => {
      const podsOf = (groups: readonly number[]): readonly Pod[] =>
        (rollout?.pods ?? []).filter(({ group }) => groups.includes(group));
      return {
        fleet,
        accepted: podsOf(acceptedGroups).length,
        troubled: [
          ...rejections.flatMap(({ group, message }) =>
            podsOf([group]).map((pod) => ({ name: podName(pod), isRejecting: true, message })),
          ),
          ...podsOf(pendingGroups).map((pod) => ({ name: podName(pod), isRejecting: false, message: "" })),
        ],
      };
    });
  });
  return Array.from(
    Map.groupBy(states, ({ fleet }) => fleet),
    ([fleet, group]) => ({
      fleet,
      accepted: group.reduce((sum, { accepted }) => sum + accepted, 0),
      troubled: group.flatMap(({ troubled }) => troubled),
    }),
  ).toSorted((one, other) => (one.fleet < other.fleet ? -1 : 1));
}
