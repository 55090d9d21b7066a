// Decides which snapshots are active: the wanted ones, unless one is too large or suddenly empty;
// then the fleet keeps its snapshot. Pure: time comes in.
import type { Restoration, Snapshot, SnapshotSet } from "./snapshot.ts";

/** Every fleet without a snapshot of its own. No fleet has this name: names are not empty. */
export const OTHER_FLEETS = "";

/** Why a fleet is not sent the wanted snapshot. */
export type Hold =
  /** No resource is left, which may be an accident: published if it is still so at `untilMs`. */
  | { readonly kind: "empty"; readonly sinceMs: number; readonly untilMs: number }
  /** The snapshot is larger than pods can receive; `resources` are those that made it so. */
  | { readonly kind: "too-large"; readonly sizeBytes: number; readonly resources: readonly string[] }
  /**
   * Pods NACKed that version without naming a resource that could be left out; the last ACKed one
   * is active until something else is wanted.
   */
  | ({ readonly kind: "rejected" } & Restoration);

/** The snapshot of one fleet. */
export interface FleetPublication {
  /** undefined: nothing yet. */
  readonly snapshot: Snapshot | undefined;
  readonly hold: Hold | undefined;
}

/** The active snapshots by fleet; unlisted fleets have that of {@link OTHER_FLEETS}. */
export type Publication = ReadonlyMap<string, FleetPublication>;

/** Bounds of a publication. */
export interface PublicationOptions {
  readonly snapshotMaxBytes: number;
  /** How long a set must stay empty until it is published, in milliseconds; 0: no wait. */
  readonly allowEmptyAfterMs: number;
}

/** Nothing is published. */
export const UNPUBLISHED: Publication = new Map();

/** The active snapshot of a fleet. */
export function publicationFor(publication: Publication, fleet: string): FleetPublication | undefined {
  return publication.get(fleet) ?? publication.get(OTHER_FLEETS);
}

/** The publication after `current` when these snapshots are wanted. */
export function publish(
  current: Publication,
  wanted: SnapshotSet,
  nowMs: number,
  options: PublicationOptions,
): Publication {
  const othersRestored = wanted.restored?.get(OTHER_FLEETS);
  const others = decide(
    current.get(OTHER_FLEETS),
    { snapshot: wanted.others, restored: othersRestored },
    nowMs,
    options,
  );
  const next = new Map([[OTHER_FLEETS, others]]);
  for (const fleet of new Set([...current.keys(), ...wanted.byFleet.keys()])) {
    if (fleet === OTHER_FLEETS) continue;
    const own = wanted.byFleet.get(fleet);
    const offered =
      own === undefined
        ? { snapshot: wanted.others, restored: othersRestored }
        : { snapshot: own, restored: wanted.restored?.get(fleet) };
    const decided = decide(publicationFor(current, fleet), offered, nowMs, options);
    // A fleet that no resource names any more joins the others as soon as it has their snapshot.
    if (wanted.byFleet.has(fleet) || decided.snapshot?.version !== others.snapshot?.version) next.set(fleet, decided);
  }
  return next;
}

/** When the next empty set may be published, in milliseconds; undefined when none waits. */
export function nextReleaseMs(publication: Publication): number | undefined {
  const times = [...publication.values()].flatMap(({ hold }) => (hold?.kind === "empty" ? [hold.untilMs] : []));
  return times.length === 0 ? undefined : Math.min(...times);
}

/** The same publication with waits of empty sets that end so many milliseconds later. */
export function prolongWaits(publication: Publication, ms: number): Publication {
  return new Map(
    [...publication].map(([fleet, current]) => {
      const { hold } = current;
      if (hold?.kind !== "empty") return [fleet, current];
      return [fleet, { ...current, hold: { ...hold, sinceMs: hold.sinceMs + ms, untilMs: hold.untilMs + ms } }];
    }),
  );
}

/** The wanted snapshot of one fleet. */
interface Offered {
  readonly snapshot: Snapshot;
  readonly restored: Restoration | undefined;
}

function decide(
  current: FleetPublication | undefined,
  { snapshot: wanted, restored }: Offered,
  nowMs: number,
  options: PublicationOptions,
): FleetPublication {
  const before = current?.snapshot;
  // It was active before, so its bounds were checked then.
  if (restored !== undefined) {
    return { snapshot: before?.version === wanted.version ? before : wanted, hold: { kind: "rejected", ...restored } };
  }
  // The same object stays for the same content: one comparison shows that nothing changed.
  if (before?.version === wanted.version) return { snapshot: before, hold: undefined };
  if (wanted.sizeBytes > options.snapshotMaxBytes) {
    return {
      snapshot: before,
      hold: { kind: "too-large", sizeBytes: wanted.sizeBytes, resources: grownSince(before, wanted) },
    };
  }
  if (wanted.resources.length > 0) return { snapshot: wanted, hold: undefined };
  const sinceMs = current?.hold?.kind === "empty" ? current.hold.sinceMs : nowMs;
  const untilMs = sinceMs + options.allowEmptyAfterMs;
  return nowMs >= untilMs
    ? { snapshot: wanted, hold: undefined }
    : { snapshot: before, hold: { kind: "empty", sinceMs, untilMs } };
}

/** The resources that are new or larger than before; without any of those, the largest one. */
function grownSince(before: Snapshot | undefined, wanted: Snapshot): readonly string[] {
  const sizes = new Map(before?.resources.map(({ name, bytes }) => [name, bytes.length]));
  const grown =
    before === undefined ? [] : wanted.resources.filter(({ name, bytes }) => bytes.length > (sizes.get(name) ?? 0));
  if (grown.length > 0) return grown.map(({ name }) => name);
  const [largest] = wanted.resources.toSorted((left, right) => right.bytes.length - left.bytes.length);
  return largest === undefined ? [] : [largest.name];
}
