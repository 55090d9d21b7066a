// The counts that a client of the console knows: those of each replica, and of all together.
import type { FleetKeys, WatchCountsResponse } from "../generated/weir/console/v1/console_pb.ts";
import { CountSeries } from "./count-series.ts";
import { mergeKeys } from "./merge-keys.ts";

/** The counts of one replica, added up from its responses. */
export class ReplicaCounts {
  readonly #fleets = new Map<string, { readonly series: CountSeries; pods: number; observedPods: number }>();
  #keys = new Map<string, readonly FleetKeys[]>();
  #nowSeconds = 0;
  /** Name of the replica. */
  replica = "";
  /** Identifies its process. */
  instance = "";
  /** Number of responses. */
  responses = 0;

  /** Takes the next response. */
  add({ replica, instance, observedAt, replaces, fleets }: WatchCountsResponse): void {
    [this.replica, this.instance] = [replica, instance];
    this.responses += 1;
    this.#nowSeconds = Number(observedAt?.seconds ?? 0n);
    if (replaces) this.#fleets.clear();
    this.#keys = new Map(fleets.map(({ fleet, keys }) => [fleet, keys]));
    for (const { fleet, pods, observedPods, counts, endSeconds } of fleets) {
      const known = this.#fleets.getOrInsertComputed(fleet, () => ({ series: new CountSeries(), pods, observedPods }));
      Object.assign(known, { pods, observedPods });
      if (counts !== undefined) known.series.add(counts, this.#nowSeconds);
      known.series.advance(Number(endSeconds));
    }
    for (const fleet of this.#fleets.keys()) if (!this.#keys.has(fleet)) this.#fleets.delete(fleet);
  }

  /** The fleets with what is known of them. */
  fleets(): readonly FleetPart[] {
    return Array.from(this.#fleets, ([name, fleet]) => ({
      name,
      ...fleet,
      nowSeconds: this.#nowSeconds,
      keys: this.#keys.get(name) ?? [],
    }));
  }
}

/** A fleet on one replica. */
interface FleetPart {
  readonly name: string;
  readonly series: CountSeries;
  readonly pods: number;
  readonly observedPods: number;
  readonly nowSeconds: number;
  readonly keys: readonly FleetKeys[];
}

/** A fleet on all replicas. */
export type MergedFleetCounts = Omit<FleetPart, "nowSeconds">;

/** Adds up the replicas, each process once; sorted by name of the fleet. */
export function mergeCounts(replicas: readonly ReplicaCounts[]): readonly MergedFleetCounts[] {
  const distinct = new Map(replicas.map((replica) => [replica.instance, replica]));
  const parts = [...distinct.values()].flatMap((replica) => replica.fleets());
  const fleets = Array.from(
    Map.groupBy(parts, ({ name }) => name),
    ([name, group]) => {
      const series = new CountSeries();
      for (const part of group) {
        const counts = part.series.observation();
        if (counts !== undefined) series.add(counts, part.nowSeconds);
        series.advance(part.series.endSeconds);
      }
      const sum = (of: (part: FleetPart) => number): number => group.reduce((total, part) => total + of(part), 0);
      return {
        name,
        series,
        pods: sum(({ pods }) => pods),
        observedPods: sum(({ observedPods }) => observedPods),
        keys: mergeKeys(group.flatMap(({ keys }) => keys)),
      };
    },
  );
  return fleets.toSorted((one, other) => (one.name < other.name ? -1 : 1));
}
