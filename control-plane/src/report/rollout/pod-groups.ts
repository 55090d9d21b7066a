// Groups pods that have answered alike for every resource: to count thousands of pods one by one for
// each of thousands of resources takes too long. Pure.
import type { PodState } from "../../pods/pod-registry.ts";
import type { PublisherState } from "../../snapshot/publisher.ts";
import { publicationFor } from "../../snapshot/publication.ts";
import type { Snapshot } from "../../snapshot/snapshot.ts";

/** The pods of one fleet, as in a publication. */
export interface FleetMembers {
  readonly fleet: string;
  readonly pods: readonly PodState[];
}

/** Pods that are alike in every resource, with the same texts of NACKs. */
export interface PodGroup {
  /** Counts from 1, over all fleets of a report. */
  readonly id: number;
  /** Any of them. */
  readonly pod: PodState;
  readonly size: number;
}

export interface GroupedFleet {
  readonly fleet: string;
  /** undefined: nothing is active yet. */
  readonly snapshot: Snapshot | undefined;
  readonly groups: readonly PodGroup[];
}

/** The groups of every fleet, and the number of each pod's group. */
export interface PodGroups {
  readonly fleets: readonly GroupedFleet[];
  readonly groupOf: ReadonlyMap<PodState, number>;
}

/** Groups the pods of each fleet. */
export function groupPods(fleets: readonly FleetMembers[], { publication }: PublisherState): PodGroups {
  const ids = new Map<unknown, number>();
  const idOf = (object: unknown): number => ids.getOrInsertComputed(object, () => ids.size);
  const groupOf = new Map<PodState, number>();
  let lastId = 0;
  const grouped = fleets.map(({ fleet, pods }) => {
    const byAnswers = Map.groupBy(pods, (pod) => answersOf(pod, idOf));
    const groups = [...byAnswers.values()].flatMap((alike) => {
      const [pod] = alike;
      if (pod === undefined) return [];
      lastId += 1;
      for (const each of alike) groupOf.set(each, lastId);
      return { id: lastId, pod, size: alike.length };
    });
    return { fleet, snapshot: publicationFor(publication, fleet)?.snapshot, groups };
  });
  return { fleets: grouped, groupOf };
}

/** A text that two pods have in common when they are alike. */
function answersOf(
  { acked, choice, lastAnswer, rejected, nacks }: PodState,
  idOf: (object: unknown) => number,
): string {
  const states = [idOf(acked?.names === undefined ? acked?.snapshot : acked), idOf(choice), lastAnswer];
  if (rejected === undefined) return states.join();
  return JSON.stringify([...states, rejected.message, ...Array.from(nacks, ([name, { message }]) => [name, message])]);
}
