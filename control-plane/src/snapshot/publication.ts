// Which snapshots are in force: the wanted ones, unless one is too large or suspiciously empty;
// then the fleet keeps what it has. Pure: time comes in.
import type { Restoration, Snapshot, SnapshotSet } from "./snapshot.ts";

/**
 * Stands for every fleet without a snapshot of its own; no fleet has this name, because names are
 * not empty.
 */
export const OTHER_FLEETS = "";

/** Why a fleet is not sent what is wanted for it. */
export type Hold =
  /**
   * Nothing is left of the resources: it may be an accident, and is sent when it has stayed so
   * until then.
   */
  | { readonly kind: "empty"; readonly sinceMs: number; readonly untilMs: number }
  /** The snapshot is larger than pods can receive; `resources` are those that made it so. */
  | { readonly kind: "too-large"; readonly sizeBytes: number; readonly resources: readonly string[] }
  /**
   * Pods rejected that version without naming a resource that could be left out; what they accepted
   * last is in force until something else is wanted.
   */
  | ({ readonly kind: "rejected" } & Restoration);

/** What one fleet is sent. */
export interface FleetPublication {
  /** undefined: nothing yet. */
  readonly snapshot: Snapshot | undefined;
  readonly hold: Hold | undefined;
}

/** What is in force, by fleet; fleets that are not listed have what {@link OTHER_FLEETS} has. */
export type Publication = ReadonlyMap<string, FleetPublication>;

/** Bounds of what is published. */
export interface PublicationOptions {
  readonly snapshotMaxBytes: number;
  /**
   * How long a set must stay empty before it is published, in milliseconds; 0 publishes it at once.
   */
  readonly allowEmptyAfterMs: number;
}

/** Nothing is published. */
export const UNPUBLISHED: Publication = new Map();

/** What is in force for a fleet. */
export function publicationFor(publication: Publication, fleet: string): FleetPublication | undefined {
  return publication.get(fleet) ?? publication.get(OTHER_FLEETS);
}

/** What comes into force when these snapshots are wanted. */
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
    // A fleet that no resource names any more joins the others as soon as it is sent what they are
    // sent.
    if (wanted.byFleet.has(fleet) || decided.snapshot?.version !== others.snapshot?.version) next.set(fleet, decided);
  }
  return next;
}

/** When the next empty set may be published, in milliseconds; undefined when none waits. */
export function nextReleaseMs(publication: Publication): number | undefined {
  const times = [...publication.values()].flatMap(({ hold }) => (hold?.kind === "empty" ? [hold.untilMs] : []));
  return times.length === 0 ? undefined : Math.min(...times);
}

/** What may be published for one fleet. */
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
  // It was in force once: what it must not be was looked at then.
  if (restored !== undefined) {
    return { snapshot: before?.version === wanted.version ? before : wanted, hold: { kind: "rejected", ...restored } };
  }
  // Same content: the same object stays, so that "nothing changed" is one comparison everywhere.
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
