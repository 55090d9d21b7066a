// The immutable configuration of a pod: sorted revisions, and a hash of their digests as the version.
// Equal content has the same version on every replica and after a restart.
import { setVersion } from "@weir/proto/grpc/set-version";

import type { Revision } from "./revision.ts";
import { encodeHead } from "./response-bytes.ts";

/** What pods are sent of resources instead of the published revisions; undefined: nothing. */
export type EarlierRevisions = ReadonlyMap<string, Revision | undefined>;

const NONE_EARLIER: EarlierRevisions = new Map();

/** The configuration for the pods of a fleet, or for pods that NACKed a part of it. */
export class Snapshot {
  readonly version: string;
  /** Sorted by name. */
  readonly revisions: readonly Revision[];
  /** Version, type and revisions, serialised. */
  readonly sizeBytes: number;
  /** What is sent instead of the revisions of the fleet's snapshot, by name; empty for that itself. */
  readonly earlierRevisions: EarlierRevisions;
  readonly #head: Buffer;
  /** The fleet's snapshot, whose bytes are sent where the revisions are equal. */
  readonly #base: Snapshot | undefined;
  #byName: ReadonlyMap<string, Revision> | undefined;
  #body: WeakRef<Buffer> | undefined;

  /** `revisions` must be sorted by name. */
  constructor(
    revisions: readonly Revision[],
    derivedFrom?: { readonly base: Snapshot; readonly earlierRevisions: EarlierRevisions },
    /** The bytes of the revisions, if they are known. */
    revisionBytes = revisions.reduce((sum, { bytes }) => sum + bytes.length, 0),
  ) {
    this.revisions = revisions;
    this.earlierRevisions = derivedFrom?.earlierRevisions ?? NONE_EARLIER;
    this.#base = derivedFrom?.base;
    // A hash of digests, which exist per revision: hashing megabytes per fleet would take seconds.
    this.version = setVersion(revisions.map(({ digest }) => digest));
    this.#head = encodeHead(this.version);
    this.sizeBytes = this.#head.length + revisionBytes;
  }

  /** The snapshot with these revisions, which is this one if nothing differs; few do as a rule. */
  replacedBy(revisions: readonly Revision[]): Snapshot {
    if (revisions.length !== this.revisions.length) return new Snapshot(revisions);
    let revisionBytes = this.sizeBytes - this.#head.length;
    let isSame = true;
    for (const [index, revision] of revisions.entries()) {
      const before = this.revisions[index];
      if (before === revision) continue;
      isSame = false;
      revisionBytes += revision.bytes.length - (before?.bytes.length ?? 0);
    }
    return isSame ? this : new Snapshot(revisions, undefined, revisionBytes);
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
    if (this.#base !== undefined)
      return this.earlierRevisions.has(name) ? this.earlierRevisions.get(name) : this.#base.get(name);
    // Made when first needed: there may be hundreds of fleets.
    this.#byName ??= new Map(this.revisions.map((revision) => [revision.name, revision]));
    return this.#byName.get(name);
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

/** One snapshot for each fleet that a resource names, and one for all others. */
export interface SnapshotSet {
  readonly byFleet: ReadonlyMap<string, Snapshot>;
  readonly others: Snapshot;
}

/** A revision, and the fleets whose pods are sent it; undefined: every fleet. */
export interface PublishedRevision {
  readonly revision: Revision;
  readonly fleets: readonly string[] | undefined;
}

/**
 * Builds the snapshots of these revisions, which are sorted by name, in short steps: hundreds of fleets
 * with thousands of resources each take a while. A fleet without a change keeps its snapshot.
 */
export function* snapshotSteps(
  admitted: Iterable<PublishedRevision>,
  fleets: readonly string[],
  before?: SnapshotSet,
): Generator<undefined, SnapshotSet> {
  const forAll: Revision[] = [];
  const lists = new Map<string, Revision[]>(fleets.map((fleet) => [fleet, []]));
  for (const { revision, fleets: own } of admitted) {
    if (own === undefined) forAll.push(revision);
    for (const list of own === undefined ? lists.values() : own.flatMap((fleet) => [lists.get(fleet) ?? []]))
      list.push(revision);
  }
  yield;
  const build = (known: Snapshot | undefined, list: readonly Revision[]): Snapshot =>
    known?.replacedBy(list) ?? new Snapshot(list);
  const byFleet = new Map<string, Snapshot>();
  for (const [fleet, list] of lists) {
    byFleet.set(fleet, build(before?.byFleet.get(fleet), list));
    yield;
  }
  return { byFleet, others: build(before?.others, forAll) };
}
