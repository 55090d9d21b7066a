// Decides which snapshots are active: the wanted ones, unless one is suddenly empty; then the fleet
// keeps its snapshot for a while. Pure: time comes in.
import type { Snapshot, SnapshotSet } from "./snapshot.ts";

/** Every fleet without a snapshot of its own, as logs and reports name it. No resource can name such a fleet. */
export const OTHER_FLEETS = "*";

/** Why a fleet is not sent the empty snapshot: it may be an accident. Published at `untilMs`. */
export interface EmptyHold {
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** The snapshot of one fleet. */
export interface FleetPublication {
  /** undefined: nothing yet. */
  readonly snapshot: Snapshot | undefined;
  readonly hold: EmptyHold | undefined;
}

/** The active snapshots by fleet; unlisted fleets have that of {@link OTHER_FLEETS}. */
export type Publication = ReadonlyMap<string, FleetPublication>;

/** Nothing is published. */
export const UNPUBLISHED: Publication = new Map();

/** The entry of a pod's fleet: its own, or that of all others. */
export function entryFor(publication: Publication, fleet: string): string {
  return publication.has(fleet) ? fleet : OTHER_FLEETS;
}

/** The active snapshot of a fleet. */
export function publicationFor(publication: Publication, fleet: string): FleetPublication | undefined {
  return publication.get(entryFor(publication, fleet));
}

/**
 * The publication after `current` when these snapshots are wanted. A set must stay empty for
 * `allowEmptyAfterMs` until it is published; 0: no wait.
 */
export function publish(
  current: Publication,
  wanted: SnapshotSet,
  nowMs: number,
  allowEmptyAfterMs: number,
): Publication {
  const decideFor = (before: FleetPublication | undefined, snapshot: Snapshot): FleetPublication =>
    decide(before, snapshot, nowMs, allowEmptyAfterMs);
  const others = decideFor(current.get(OTHER_FLEETS), wanted.others);
  const next = new Map([[OTHER_FLEETS, others]]);
  for (const fleet of new Set([...current.keys(), ...wanted.byFleet.keys()])) {
    if (fleet === OTHER_FLEETS) continue;
    const decided = decideFor(publicationFor(current, fleet), wanted.byFleet.get(fleet) ?? wanted.others);
    // A fleet that no resource names any more joins the others as soon as it has their snapshot.
    if (wanted.byFleet.has(fleet) || decided.snapshot?.version !== others.snapshot?.version) next.set(fleet, decided);
  }
  return next;
}

/** When the next empty set may be published, in milliseconds; undefined when none waits. */
export function nextReleaseMs(publication: Publication): number | undefined {
  const times = [...publication.values()].flatMap(({ hold }) => hold?.untilMs ?? []);
  return times.length === 0 ? undefined : Math.min(...times);
}

/** The same publication with waits of empty sets that end so many milliseconds later. */
export function prolongWaits(publication: Publication, ms: number): Publication {
  return new Map(
    [...publication].map(([fleet, current]) => {
      const { hold } = current;
      if (hold === undefined) return [fleet, current];
      return [fleet, { ...current, hold: { sinceMs: hold.sinceMs + ms, untilMs: hold.untilMs + ms } }];
    }),
  );
}

function decide(
  current: FleetPublication | undefined,
  wanted: Snapshot,
  nowMs: number,
  allowEmptyAfterMs: number,
): FleetPublication {
  const before = current?.snapshot;
  // The same object stays for the same content: one comparison shows that nothing changed.
  if (before?.version === wanted.version) return { snapshot: before, hold: undefined };
  if (wanted.revisions.length > 0) return { snapshot: wanted, hold: undefined };
  const sinceMs = current?.hold?.sinceMs ?? nowMs;
  const untilMs = sinceMs + allowEmptyAfterMs;
  return nowMs >= untilMs ? { snapshot: wanted, hold: undefined } : { snapshot: before, hold: { sinceMs, untilMs } };
}
