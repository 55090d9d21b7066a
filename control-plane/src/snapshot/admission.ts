// Decides which revisions fit into the snapshots: what was served stays, and what would grow a snapshot
// beyond its bounds waits, oldest first. Pure, and without a memory of its own: replicas are equal.
import { compareAge } from "@weir/limits/ownership/ownership";

import type { AcceptedResource } from "../translate/desired-configuration.ts";
import type { Revision } from "./revision.ts";
import { OTHER_FLEETS } from "./publication.ts";
import { areSameFleets, type PublishedRevision, Snapshot } from "./snapshot.ts";

/** Bounds of each fleet's snapshot, in bytes. */
export interface AdmissionBounds {
  readonly snapshotMaxBytes: number;
  /** For the resources of one namespace; undefined: no bound. */
  readonly namespaceMaxBytes: number | undefined;
}

/** A resource with its current revision. */
export interface Applicant {
  readonly resource: AcceptedResource;
  readonly revision: Revision;
  /** The revision that is served as far as is known, with its fleets; undefined: none is. */
  readonly served: PublishedRevision | undefined;
}

/** A resource whose current revision does not fit. */
export interface WaitingResource {
  readonly resource: AcceptedResource;
  /** The bound and what would exceed it, for people. */
  readonly message: string;
  /** True if an earlier revision is published. */
  readonly keepsEarlier: boolean;
}

/** The published revisions by name, and what waits. */
export interface Admission {
  readonly admitted: ReadonlyMap<string, PublishedRevision>;
  readonly waiting: readonly WaitingResource[];
}

/** Size of a snapshot without resources. */
const EMPTY_BYTES = new Snapshot([]).sizeBytes;

/**
 * Admits what is served, the oldest that fits, and then the current revisions: a resource keeps the revision
 * that is served, in those of its present fleets where that is, until its present one fits into all of
 * its fleets.
 */
export function admit(applicants: readonly Applicant[], fleets: readonly string[], bounds: AdmissionBounds): Admission {
  if (fitsAll(applicants, bounds)) {
    const admitted = new Map<string, PublishedRevision>();
    for (const { resource, revision } of applicants) admitted.set(revision.name, { revision, fleets: resource.fleets });
    return { admitted, waiting: [] };
  }
  const room = new Room(fleets);
  const byAge = applicants.toSorted((left, right) => compareAge(left.resource, right.resource));
  for (const applicant of byAge) {
    const served = servedNow(applicant);
    if (served === undefined) continue;
    room.admit(served);
    if (room.excess(served.revision, undefined, bounds) !== undefined) room.remove(served.revision.name);
  }
  const changed = byAge.filter((applicant) => !isAdmitted(applicant, room.get(applicant.revision.name)));
  // Resources that shrink make room for those that grow, whatever their age.
  const order = [...changed.filter((each) => !grows(each, room)), ...changed.filter((each) => grows(each, room))];
  const waiting = [...tryAll(order, room, bounds)].map(([{ resource, revision }, message]) => ({
    resource,
    message,
    keepsEarlier: room.get(revision.name) !== undefined,
  }));
  return { admitted: room.admitted(applicants), waiting };
}

/**
 * Returns true if all revisions, served and current, would fit into one snapshot, as they do as a rule: then none
 * waits, in whatever order they are admitted.
 */
function fitsAll(
  applicants: readonly Applicant[],
  { snapshotMaxBytes, namespaceMaxBytes = Infinity }: AdmissionBounds,
): boolean {
  const used: Used = { total: EMPTY_BYTES, byNamespace: new Map() };
  for (const { revision, served } of applicants) {
    const bytes = Math.max(revision.bytes.length, served?.revision.bytes.length ?? 0);
    use(used, revision.namespace, bytes);
    if (used.total > snapshotMaxBytes || bytesOf(used, revision.namespace) > namespaceMaxBytes) return false;
  }
  return true;
}

/** Admits the revisions that fit; returns the others with the reason. Bytes that one gives up may let another fit. */
function tryAll(applicants: readonly Applicant[], room: Room, bounds: AdmissionBounds): Map<Applicant, string> {
  const refused = tryOnce(applicants, room, bounds);
  for (let tried = applicants.length; refused.size > 0 && refused.size < tried;) {
    tried = refused.size;
    const again = tryOnce([...refused.keys()], room, bounds);
    for (const applicant of refused.keys()) if (!again.has(applicant)) refused.delete(applicant);
  }
  return refused;
}

function tryOnce(applicants: readonly Applicant[], room: Room, bounds: AdmissionBounds): Map<Applicant, string> {
  const refused = new Map<Applicant, string>();
  for (const applicant of applicants) {
    const { revision, resource } = applicant;
    const earlier = room.get(revision.name);
    room.admit({ revision, fleets: resource.fleets });
    const excess = room.excess(revision, earlier, bounds);
    if (excess === undefined) continue;
    refused.set(applicant, excess);
    if (earlier === undefined) room.remove(revision.name);
    else room.admit(earlier);
  }
  return refused;
}

/** The served revision in those of the present fleets where it is; the current revision if nothing differs. */
function servedNow({ resource, revision, served }: Applicant): PublishedRevision | undefined {
  const fleets = served && commonFleets(served.fleets, resource.fleets);
  if (served === undefined || fleets?.length === 0) return undefined;
  const isSame = served.revision.digest === revision.digest && areSameFleets(fleets, resource.fleets);
  return { revision: isSame ? revision : served.revision, fleets };
}

function commonFleets(
  left: readonly string[] | undefined,
  right: readonly string[] | undefined,
): readonly string[] | undefined {
  if (left === undefined || right === undefined) return left ?? right;
  if (areSameFleets(left, right)) return right;
  const known = new Set(left);
  return right.filter((fleet) => known.has(fleet));
}

function isAdmitted({ revision, resource: { fleets } }: Applicant, admitted: PublishedRevision | undefined): boolean {
  return admitted?.revision === revision && areSameFleets(admitted.fleets, fleets);
}

/** Returns true if the current revision needs more bytes in some fleet than the admitted one. */
function grows({ revision, resource: { fleets } }: Applicant, room: Room): boolean {
  const admitted = room.get(revision.name);
  if (admitted === undefined || revision.bytes.length > admitted.revision.bytes.length) return true;
  return admitted.fleets !== undefined && (fleets ?? [OTHER_FLEETS]).some((fleet) => !admitted.fleets?.includes(fleet));
}

/** Bytes in one snapshot. */
interface Used {
  total: number;
  readonly byNamespace: Map<string, number>;
}

/** The bytes that admitted revisions need in the snapshot of each fleet. */
class Room {
  readonly #admitted = new Map<string, PublishedRevision>();
  /** Of revisions for every fleet. */
  readonly #shared: Used = { total: EMPTY_BYTES, byNamespace: new Map() };
  /** Of revisions for named fleets, by fleet. */
  readonly #own: ReadonlyMap<string, Used>;
  /** Of all revisions, as if one fleet had them: no fleet needs more. */
  readonly #all: Used = { total: EMPTY_BYTES, byNamespace: new Map() };

  constructor(fleets: readonly string[]) {
    this.#own = new Map(fleets.map((fleet) => [fleet, { total: 0, byNamespace: new Map() }]));
  }

  get(name: string): PublishedRevision | undefined {
    return this.#admitted.get(name);
  }

  /** The admitted revisions, in the order of the applicants. */
  admitted(applicants: readonly Applicant[]): ReadonlyMap<string, PublishedRevision> {
    const entries = applicants.map(({ revision: { name } }) => [name, this.#admitted.get(name)] as const);
    return new Map(entries.filter((entry): entry is [string, PublishedRevision] => entry[1] !== undefined));
  }

  /** Admits a revision instead of an earlier one of the resource. */
  admit(admitted: PublishedRevision): void {
    this.remove(admitted.revision.name);
    this.#admitted.set(admitted.revision.name, admitted);
    this.#add(admitted, 1);
  }

  remove(name: string): void {
    const admitted = this.#admitted.get(name);
    if (admitted === undefined) return;
    this.#admitted.delete(name);
    this.#add(admitted, -1);
  }

  /** The first bound that a admitted revision exceeds in a fleet where it needs more than the earlier one. */
  excess(
    { name, namespace, bytes }: Revision,
    earlier: PublishedRevision | undefined,
    { snapshotMaxBytes, namespaceMaxBytes = Infinity }: AdmissionBounds,
  ): string | undefined {
    // As a rule: to look at each fleet for each revision takes long.
    if (this.#all.total <= snapshotMaxBytes && bytesOf(this.#all, namespace) <= namespaceMaxBytes) return undefined;
    const admitted = this.#admitted.get(name);
    const own = admitted?.fleets ?? [OTHER_FLEETS, ...this.#own.keys()];
    for (const fleet of own) {
      const wasIn = earlier !== undefined && (earlier.fleets === undefined || earlier.fleets.includes(fleet));
      if (wasIn && earlier.revision.bytes.length >= bytes.length) continue;
      const used = this.#own.get(fleet);
      const total = this.#shared.total + (used?.total ?? 0);
      const where = `fleet ${fleet}`;
      if (total > snapshotMaxBytes)
        return `with it the configuration of ${where} has ${total} bytes, more than SNAPSHOT_MAX_BYTES, which is ${snapshotMaxBytes}`;
      const ofNamespace = bytesOf(this.#shared, namespace) + (used === undefined ? 0 : bytesOf(used, namespace));
      if (ofNamespace > namespaceMaxBytes)
        return `with it the resources of namespace ${namespace} have ${ofNamespace} bytes in ${where}, more than SNAPSHOT_NAMESPACE_MAX_BYTES, which is ${namespaceMaxBytes}`;
    }
    return undefined;
  }

  #add({ revision: { namespace, bytes }, fleets }: PublishedRevision, sign: 1 | -1): void {
    const counts = fleets === undefined ? [this.#shared] : fleets.flatMap((fleet) => this.#own.get(fleet) ?? []);
    for (const used of [...counts, this.#all]) use(used, namespace, sign * bytes.length);
  }
}

function use(used: Used, namespace: string, bytes: number): void {
  used.total += bytes;
  used.byNamespace.set(namespace, bytesOf(used, namespace) + bytes);
}

function bytesOf({ byNamespace }: Used, namespace: string): number {
  return byNamespace.get(namespace) ?? 0;
}
