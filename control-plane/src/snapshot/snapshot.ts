// The immutable configuration of a pod: sorted revisions, and a hash of their digests as the version.
// Equal content has the same version on every replica and after a restart.
import { type ElementOrder, lowerBound, sortedDifferences } from "@weir/common/order/sorted-differences";
import { contentHash, versionsText } from "@weir/proto/grpc/set-version";

import type { Revision } from "./revision.ts";
import { encodeHead } from "./response-bytes.ts";

/** The revisions that pods are sent instead of the published ones, by name of the resource; undefined: nothing. */
export type EarlierRevisions = ReadonlyMap<string, Revision | undefined>;

const NONE_EARLIER: EarlierRevisions = new Map();

/** Bytes from one digest to the next in the text of digests: each is a {@link contentHash}, with a line break in between. */
const DIGEST_STRIDE = contentHash("").length + 1;

/** A difference from one snapshot to the next: the revision of a resource; undefined: it has none any more. */
export interface SnapshotEdit {
  readonly name: string;
  readonly revision: Revision | undefined;
}

/** The values that a snapshot takes over from the one that it is made from, to save time. */
interface Derivation {
  readonly base?: Snapshot;
  readonly earlierRevisions?: EarlierRevisions;
  /** The bytes of the revisions. */
  readonly revisionBytes?: number;
  /** The text of the digests in UTF-8. */
  readonly digests?: Buffer | undefined;
}

/** The configuration for the pods of a fleet, or for pods that NACKed a part of it. */
export class Snapshot {
  readonly version: string;
  /** Sorted by name. */
  readonly revisions: readonly Revision[];
  /** Version, type and revisions, serialised. */
  readonly sizeBytes: number;
  /** The revisions that are sent instead of those of the fleet's snapshot, by name; empty for that itself. */
  readonly earlierRevisions: EarlierRevisions;
  readonly #head: Buffer;
  /** The fleet's snapshot, whose bytes are sent where the revisions are equal. */
  readonly #base: Snapshot | undefined;
  #body: WeakRef<Buffer> | undefined;
  /** The text of the digests in UTF-8, which the snapshot after an edit takes over; undefined until then. */
  #digests: Buffer | undefined;

  /** `revisions` must be sorted by name. */
  constructor(revisions: readonly Revision[], derivation: Derivation = {}) {
    const { base, earlierRevisions = NONE_EARLIER, digests } = derivation;
    const { revisionBytes = revisions.reduce((sum, { bytes }) => sum + bytes.length, 0) } = derivation;
    this.revisions = revisions;
    this.earlierRevisions = earlierRevisions;
    this.#base = base;
    this.#digests = digests;
    // A hash of digests, which exist per revision: hashing megabytes per fleet would take seconds.
    this.version = contentHash(digests ?? digestsOf(revisions));
    this.#head = encodeHead(this.version);
    this.sizeBytes = this.#head.length + revisionBytes;
  }

  /**
   * The snapshot after these edits, which are sorted by name; it is this one if nothing differs. With `keepsDigests`, for
   * snapshots that are edited again and again, the next edit takes less time, and this one more memory.
   */
  edited(edits: readonly SnapshotEdit[], { keepsDigests = false } = {}): Snapshot {
    const places = edits.map(({ name, revision }): EditPlace => {
      const place = lowerBound(this.revisions, name, nameOf);
      const found = this.revisions[place];
      return { place, before: found?.name === name ? found : undefined, after: revision };
    });
    if (places.every(({ before, after }) => before === after)) return this;
    const bytesOf = (revision: Revision | undefined): number => revision?.bytes.length ?? 0;
    const addedBytes = places.reduce((sum, { before, after }) => sum + bytesOf(after) - bytesOf(before), 0);
    const revisionBytes = this.sizeBytes - this.#head.length + addedBytes;
    const isReplacing = places.every(({ before, after }) => before !== undefined && after !== undefined);
    if (!isReplacing) return new Snapshot(merged(this.revisions, places), { revisionBytes });
    const digests = keepsDigests ? this.#patchDigests(places) : undefined;
    return new Snapshot(replaced(this.revisions, places), { revisionBytes, digests });
  }

  /** The snapshot with earlier revisions of the same resources. */
  withEarlier(earlierRevisions: EarlierRevisions): Snapshot {
    const revisions = this.revisions.flatMap((revision) =>
      earlierRevisions.has(revision.name) ? (earlierRevisions.get(revision.name) ?? []) : revision,
    );
    return new Snapshot(revisions, { base: this, earlierRevisions });
  }

  /** The revision of a resource; undefined: the snapshot lacks it. */
  get(name: string): Revision | undefined {
    const revision = this.revisions[lowerBound(this.revisions, name, nameOf)];
    return revision?.name === name ? revision : undefined;
  }

  /**
   * The response without the fields of one stream, in pieces that streams share; with `names` only
   * these resources. Must not be changed.
   */
  pieces(names?: ReadonlySet<string>): readonly Buffer[] {
    if (names !== undefined)
      return [this.#head, ...this.revisions.filter(({ name }) => names.has(name)).map(({ bytes }) => bytes)];
    return [this.#head, ...(this.#base === undefined ? [this.#joined()] : this.#piecesOf(this.#base))];
  }

  /**
   * All revisions in one buffer: thousands of small writes per stream would cost more than a copy for all
   * of them. Memory that no write needs may be freed.
   */
  #joined(): Buffer {
    const known = this.#body?.deref();
    if (known !== undefined) return known;
    const body = Buffer.concat(this.revisions.map(({ bytes }) => bytes));
    this.#body = new WeakRef(body);
    return body;
  }

  /**
   * The text of the digests with others at some places, which are written into the bytes that this snapshot has: to join
   * thousands of digests takes longer than the rest of an edit, and hardly any snapshot is edited twice.
   */
  #patchDigests(places: readonly EditPlace[]): Buffer {
    const digests = this.#digests ?? Buffer.from(digestsOf(this.revisions));
    this.#digests = undefined;
    for (const { place, after } of places) digests.write(after?.digest ?? "", place * DIGEST_STRIDE);
    return digests;
  }

  /** The runs of the base's buffer between earlier revisions. */
  #piecesOf(base: Snapshot): readonly Buffer[] {
    const body = base.#joined();
    const pieces: Buffer[] = [];
    let [start, end] = [0, 0];
    for (const { name, bytes } of base.revisions) {
      end += bytes.length;
      if (!this.earlierRevisions.has(name)) continue;
      pieces.push(body.subarray(start, end - bytes.length), this.earlierRevisions.get(name)?.bytes ?? Buffer.alloc(0));
      start = end;
    }
    return [...pieces, body.subarray(start, end)].filter(({ length }) => length > 0);
  }
}

/** The place of an edit in a list of revisions: that of the same name, or the first one after it. */
interface EditPlace {
  readonly place: number;
  readonly before: Revision | undefined;
  readonly after: Revision | undefined;
}

/** As a rule: a copy, without the garbage of a list that grows. */
function replaced(revisions: readonly Revision[], places: readonly EditPlace[]): readonly Revision[] {
  const copy = [...revisions];
  for (const { place, after } of places) if (after !== undefined) copy[place] = after;
  return copy;
}

function merged(revisions: readonly Revision[], places: readonly EditPlace[]): readonly Revision[] {
  const list: Revision[] = [];
  let next = 0;
  const keepUntil = (end: number): void => {
    for (const revision of revisions.slice(next, end)) list.push(revision);
  };
  for (const { place, before, after } of places) {
    keepUntil(place);
    next = before === undefined ? place : place + 1;
    if (after !== undefined) list.push(after);
  }
  keepUntil(revisions.length);
  return list;
}

function digestsOf(revisions: readonly Revision[]): string {
  return versionsText(revisions.map(({ digest }) => digest));
}

function nameOf({ name }: Revision): string {
  return name;
}

/** One snapshot for each fleet that a resource names, and one for all others. */
export interface SnapshotSet {
  /** The revisions that they were built of, sorted by name. */
  readonly published: readonly PublishedRevision[];
  readonly byFleet: ReadonlyMap<string, Snapshot>;
  readonly others: Snapshot;
}

/** A revision, and the fleets whose pods are sent it; undefined: every fleet. */
export interface PublishedRevision {
  readonly revision: Revision;
  readonly fleets: readonly string[] | undefined;
}

const KEPT = { keepsDigests: true };

const NO_SNAPSHOTS: SnapshotSet = { published: [], byFleet: new Map(), others: new Snapshot([]) };

/**
 * Builds the snapshots of these revisions, which are sorted by name, from those before, in short steps: hundreds of
 * fleets with thousands of resources each take a while. A fleet without a change keeps its snapshot.
 */
export function* snapshotSteps(
  published: readonly PublishedRevision[],
  fleets: readonly string[],
  before = NO_SNAPSHOTS,
): Generator<undefined, SnapshotSet> {
  // By fleet; undefined: every fleet that no resource names.
  const edits = new Map<string | undefined, SnapshotEdit[]>([undefined, ...fleets].map((fleet) => [fleet, []]));
  const all = [...edits.keys()];
  const placesOf = (each: PublishedRevision | undefined) => (each === undefined ? [] : (each.fleets ?? all));
  for (const { name, before: was, after: is } of sortedDifferences(before.published, published, PUBLISHED_ORDER)) {
    const places = new Set<string | undefined>(placesOf(is));
    for (const fleet of places) edits.get(fleet)?.push({ name, revision: is?.revision });
    for (const fleet of placesOf(was)) if (!places.has(fleet)) edits.get(fleet)?.push({ name, revision: undefined });
  }
  yield;
  const byFleet = new Map<string, Snapshot>();
  for (const fleet of fleets) {
    byFleet.set(fleet, (before.byFleet.get(fleet) ?? before.others).edited(edits.get(fleet) ?? [], KEPT));
    yield;
  }
  return { published, byFleet, others: before.others.edited(edits.get(undefined) ?? [], KEPT) };
}

/** How lists of published revisions are compared. */
export const PUBLISHED_ORDER: ElementOrder<PublishedRevision> = {
  nameOf: ({ revision }) => revision.name,
  isSame: isSamePublished,
};

/** Returns true if the same revision is published for the same fleets; undefined: nothing is. */
export function isSamePublished(left: PublishedRevision | undefined, right: PublishedRevision | undefined): boolean {
  return left?.revision === right?.revision && areSameFleets(left?.fleets, right?.fleets);
}

/** Returns true if two sorted lists of fleets are equal; undefined is every fleet. */
export function areSameFleets(left: readonly string[] | undefined, right: readonly string[] | undefined): boolean {
  if (left === right) return true; // As a rule: comparing the names of thousands of resources takes long.
  return left?.length === right?.length && left?.every((fleet, index) => fleet === right?.[index]) === true;
}
