// Decides what to send next in the incremental variant: the difference between what a pod holds and what it
// should have, cut into responses each of which leaves it with a set that is valid. Pure.
import { compareCodeUnits } from "@weir/common/order/code-unit-order";
import { sortedDifferences } from "@weir/common/order/sorted-differences";

import type { SentRevisions } from "../../pods/pod-revisions.ts";
import { encodeDeltaResource, encodeHead, encodeRemoved } from "../../snapshot/response-bytes.ts";
import { isForeign, type Revision } from "../../snapshot/revision.ts";
import { Snapshot, type SnapshotEdit } from "../../snapshot/snapshot.ts";

/** Bytes of a removed name in a response besides the name, at most. */
const REMOVED_BYTES = 4;

/** More resources than that are copied into one buffer, which streams share. */
const PIECES_MAX = 16;

/** How a difference is cut. */
export interface StepOptions {
  /** The resources that the pod wants; undefined: all. */
  readonly names: ReadonlySet<string> | undefined;
  /** Resources to send even if the pod holds them, or to report as removed if they do not exist. */
  readonly owed: ReadonlySet<string>;
  /** Bytes of a response, unless what must be in one is larger. */
  readonly responseMaxBytes: number;
  /** Bytes of a response whatever must be in one, unless a single resource is larger; its head comes on top. */
  readonly snapshotMaxBytes: number;
  /** The resources of NACKed responses: they follow all others, one per response but for those that must be in one. */
  readonly singles: ReadonlySet<string>;
}

/** One response. */
export interface Step {
  readonly changed: readonly Revision[];
  readonly removed: readonly string[];
  /** The revisions that the pod holds after it. */
  readonly result: SentRevisions;
  /** True if those are what it should have. */
  readonly isLast: boolean;
  /** Must not be changed. */
  pieces(): readonly Buffer[];
}

/** The revisions that a pod holds before its first response, unless it says otherwise. */
export const NOTHING: SentRevisions = { snapshot: new Snapshot([]), names: undefined };

/** Steps between two snapshots, which pods share; by what is held, what is wanted, and the size. */
const shared = new WeakMap<Snapshot, WeakMap<Snapshot, Map<number, Step>>>();

/** The next response for a pod that holds `held` and should have `target`. */
export function nextStep(held: SentRevisions, target: Snapshot, options: StepOptions): Step {
  const { names, owed, responseMaxBytes, singles } = options;
  if (held.names !== undefined || names !== undefined || owed.size > 0 || singles.size > 0)
    return computeStep(held, target, options);
  const byTarget = shared.getOrInsertComputed(held.snapshot, () => new WeakMap<Snapshot, Map<number, Step>>());
  const bySize = byTarget.getOrInsertComputed(target, () => new Map<number, Step>());
  return bySize.getOrInsertComputed(responseMaxBytes, () => computeStep(held, target, options));
}

function computeStep(held: SentRevisions, target: Snapshot, options: StepOptions): Step {
  const { names, singles } = options;
  const lacking = differences(held, target, options);
  const isRepeated = ({ changed, removed }: Unit): boolean =>
    changed.some(({ name }) => singles.has(name)) || removed.some((name) => singles.has(name));
  const { fresh = [], repeated = [] } = Object.groupBy(unitsOf(lacking), (unit) =>
    isRepeated(unit) ? "repeated" : "fresh",
  );
  // A change that can be sent alone comes first: the pod may NACK the rest again.
  const next = repeated.find(({ changed, removed }) => changed.length + removed.length === 1) ?? repeated[0];
  const taken = cut(fresh.length > 0 || next === undefined ? fresh : [next], options);
  const changed = taken.flatMap((unit) => unit.changed);
  const removed = taken.flatMap((unit) => unit.removed);
  const { replaced, gone, absent } = lacking;
  const isLast = changed.length === replaced.length && removed.length === gone.length + absent.length;
  // The snapshot itself: pods that have it share it.
  const result = isLast ? { snapshot: target, names } : { snapshot: patch(held, changed, removed), names: undefined };
  return new SharedStep(target.version, { changed, removed, result, isLast });
}

/** How what a pod holds differs from what it should have. */
interface Differences {
  /** The revisions that it lacks, with those that it holds of the same resources. */
  readonly replaced: readonly (readonly [revision: Revision, before: Revision | undefined])[];
  /** The revisions that it holds of resources that are gone. */
  readonly gone: readonly Revision[];
  /** Resources that are owed and do not exist, and that it does not hold. */
  readonly absent: readonly string[];
}

function differences(held: SentRevisions, target: Snapshot, { names, owed }: StepOptions): Differences {
  const wants = (name: string): boolean => names === undefined || names.has(name);
  const replaced: [Revision, Revision | undefined][] = [];
  const gone: Revision[] = [];
  for (const { name, before, after } of sortedDifferences(heldRevisions(held), target.revisions, { nameOf })) {
    if (!wants(name) || before?.digest === after?.digest) continue;
    if (after !== undefined) replaced.push([after, before]);
    else if (before !== undefined) gone.push(before);
  }
  const absent: string[] = [];
  for (const name of owed.difference(new Set([...replaced.map(([{ name }]) => name), ...gone.map(nameOf)]))) {
    const revision = target.get(name);
    if (revision === undefined) absent.push(name);
    else if (wants(name) && !isForeign(revision)) replaced.push([revision, revision]);
  }
  return { replaced, gone, absent };
}

function nameOf({ name }: Revision): string {
  return name;
}

/** Changes that must be in one response. */
interface Unit {
  readonly changed: Revision[];
  readonly removed: string[];
  /** Those of the changed resources that give up a domain. */
  readonly moved: string[];
}

/**
 * The differences, in units. Resources that give up a domain and those that take it over are in one, so that no domain
 * has two owners or none in between; such units come first.
 */
function unitsOf({ replaced, gone, absent }: Differences): readonly Unit[] {
  const moved = replaced.flatMap(([revision, before]) =>
    before === undefined || before.domain === revision.domain ? [] : { from: before, to: revision },
  );
  const freed = [...gone, ...moved.map(({ from }) => from)];
  // The domain of a revision that this replica does not know may be that of any other resource.
  const isAnyFreed = freed.some(isForeign);
  const domains = new Set(freed.map(({ domain }) => domain));
  const joined = new Map<string, string>();
  const rootOf = (domain: string): string => {
    let root = domain;
    for (let next = joined.get(root); next !== undefined; next = joined.get(root)) {
      const further = joined.get(next) ?? next;
      joined.set(root, further); // Halves the path, so that a chain of thousands takes no quadratic time.
      root = further;
    }
    return root;
  };
  for (const { from, to } of moved) {
    const [left, right] = [rootOf(from.domain), rootOf(to.domain)];
    if (left !== right) joined.set(left, right);
  }
  const linked = new Map<string, Unit>();
  const unitOf = ({ domain }: Revision): Unit =>
    linked.getOrInsertComputed(isAnyFreed ? "" : rootOf(domain), () => newUnit());
  for (const revision of gone) unitOf(revision).removed.push(revision.name);
  const others: Unit[] = absent.map((name) => newUnit({ removed: [name] }));
  for (const [revision, before] of replaced) {
    const isTaker = before === undefined && (isAnyFreed || domains.has(revision.domain));
    const isMoved = before !== undefined && before.domain !== revision.domain;
    if (isTaker || isMoved) unitOf(revision).changed.push(revision);
    else others.push(newUnit({ changed: [revision] }));
    if (isMoved) unitOf(revision).moved.push(revision.name);
  }
  return [...linked.values(), ...others];
}

/** The first units, as many as a response may hold; of one that no response may hold a part. */
function cut(units: readonly Unit[], { responseMaxBytes, snapshotMaxBytes }: StepOptions): readonly Unit[] {
  const taken: Unit[] = [];
  let bytes = 0;
  for (const unit of units) {
    bytes += sum(unit.changed, bytesOf) + sum(unit.removed, removedBytesOf);
    if (bytes > responseMaxBytes && taken.length > 0) break;
    taken.push(bytes > snapshotMaxBytes ? partOf(unit, snapshotMaxBytes) : unit);
  }
  return taken;
}

/**
 * Returns the part of a unit that fits into a response: removals of the resources that give up a domain, then as many
 * of the changed resources as fit. A domain may be without an owner until a later response, but never has two.
 */
function partOf({ changed, removed, moved }: Unit, maxBytes: number): Unit {
  let bytes = 0;
  const fits = (more: number): boolean => {
    const isFirst = bytes === 0;
    bytes += more;
    return isFirst || bytes <= maxBytes;
  };
  const given = [...removed, ...moved].filter((name) => fits(removedBytesOf(name)));
  const taken = changed.filter((revision) => fits(bytesOf(revision)));
  const names = new Set(taken.map(nameOf));
  return newUnit({ changed: taken, removed: given.filter((name) => !names.has(name)) });
}

function newUnit(unit: Partial<Unit> = {}): Unit {
  return { changed: [], removed: [], moved: [], ...unit };
}

function bytesOf(revision: Revision): number {
  return sum(encodeDeltaResource(revision), ({ length }) => length);
}

function removedBytesOf(name: string): number {
  return Buffer.byteLength(name) + REMOVED_BYTES;
}

function sum<Element>(elements: readonly Element[], sizeOf: (element: Element) => number): number {
  return elements.reduce((total, element) => total + sizeOf(element), 0);
}

function heldRevisions({ snapshot, names }: SentRevisions): readonly Revision[] {
  return names === undefined ? snapshot.revisions : snapshot.revisions.filter(({ name }) => names.has(name));
}

function patch(held: SentRevisions, changed: readonly Revision[], removed: readonly string[]): Snapshot {
  const base = held.names === undefined ? held.snapshot : new Snapshot(heldRevisions(held));
  const edits: readonly SnapshotEdit[] = [
    ...removed.map((name) => ({ name, revision: undefined })),
    ...changed.map((revision) => ({ name: revision.name, revision })),
  ];
  return base.edited(edits.toSorted((left, right) => compareCodeUnits(left.name, right.name)));
}

class SharedStep implements Step {
  readonly changed: readonly Revision[];
  readonly removed: readonly string[];
  readonly result: SentRevisions;
  readonly isLast: boolean;
  /** In front of the resources. */
  readonly #head: Buffer;
  #body: WeakRef<Buffer> | undefined;

  /** `targetVersion` is in every response: a pod that has it has everything. */
  constructor(targetVersion: string, { changed, removed, result, isLast }: Omit<Step, "pieces">) {
    this.#head = Buffer.concat([encodeHead(targetVersion), encodeRemoved(removed)]);
    this.changed = changed;
    this.removed = removed;
    this.result = result;
    this.isLast = isLast;
  }

  pieces(): readonly Buffer[] {
    return [this.#head, ...this.#resources()];
  }

  #resources(): readonly Buffer[] {
    if (this.changed.length <= PIECES_MAX) return this.changed.flatMap((revision) => encodeDeltaResource(revision));
    const known = this.#body?.deref();
    if (known !== undefined) return [known];
    const body = Buffer.concat(this.changed.flatMap((revision) => encodeDeltaResource(revision)));
    this.#body = new WeakRef(body);
    return [body];
  }
}
