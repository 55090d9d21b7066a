// What to send next in the incremental variant: the difference between what a pod holds and what it should
// have, cut into responses each of which leaves it with a set that is valid. Pure.
import { compareCodeUnits } from "@weir/common/order/code-unit-order";
import { sortedDifferences } from "@weir/common/order/sorted-differences";

import type { SentRevisions } from "../../pods/pod-revisions.ts";
import { encodeDeltaResource, encodeHead, encodeRemoved } from "../../snapshot/response-bytes.ts";
import { isForeign, type Revision } from "../../snapshot/revision.ts";
import { Snapshot } from "../../snapshot/snapshot.ts";

/** What a resource costs in a response besides its bytes: name, digest and tags, at most as a rule, in bytes. */
const RESOURCE_BYTES = 128;

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
  readonly snapshotMaxBytes: number;
  /** One resource per response, but for those that must be in one. */
  readonly isSingle: boolean;
}

/** One response. */
export interface Step {
  readonly changed: readonly Revision[];
  readonly removed: readonly string[];
  /** What the pod holds after it. */
  readonly result: SentRevisions;
  /** Whether that is what it should have. */
  readonly isLast: boolean;
  /** Must not be changed. */
  pieces(): readonly Buffer[];
}

/** What a pod holds before its first response, unless it says otherwise. */
export const NOTHING: SentRevisions = { snapshot: new Snapshot([]), names: undefined };

/** Steps between two snapshots, which pods share; by what is held, what is wanted, and the size. */
const shared = new WeakMap<Snapshot, WeakMap<Snapshot, Map<number, Step>>>();

/** The next response for a pod that holds `held` and should have `target`. */
export function nextStep(held: SentRevisions, target: Snapshot, options: StepOptions): Step {
  const { names, owed, responseMaxBytes, isSingle } = options;
  if (held.names !== undefined || names !== undefined || owed.size > 0 || isSingle)
    return computeStep(held, target, options);
  const byTarget = shared.getOrInsertComputed(held.snapshot, () => new WeakMap<Snapshot, Map<number, Step>>());
  const bySize = byTarget.getOrInsertComputed(target, () => new Map<number, Step>());
  return bySize.getOrInsertComputed(responseMaxBytes, () => computeStep(held, target, options));
}

function computeStep(held: SentRevisions, target: Snapshot, options: StepOptions): Step {
  const { names, owed } = options;
  const { replaced, gone } = differences(held, target, options);
  const allChanged = replaced.map(([revision]) => revision);
  const linked = linkedByDomain(replaced, gone);
  const others = allChanged.filter((revision) => !linked.has(revision));
  const allRemoved = [...new Set([...gone.map(({ name }) => name), ...owed])].filter(
    (name) => target.get(name) === undefined,
  );
  // One by one, what can be sent alone comes first: the pod may NACK the rest again.
  const isAlone = options.isSingle && others.length > 0;
  const removed = isAlone ? [] : allRemoved;
  const changed = isAlone ? others.slice(0, 1) : cut(linked, others, options);
  const isLast = changed.length === allChanged.length && removed.length === allRemoved.length;
  // The snapshot itself: pods that have it share it.
  const result = isLast ? { snapshot: target, names } : { snapshot: patch(held, changed, removed), names: undefined };
  return new SharedStep(target.version, { changed, removed, result, isLast });
}

/** What a pod lacks, with what it holds of the same resources, and what it holds of resources that are gone. */
interface Differences {
  readonly replaced: readonly (readonly [revision: Revision, before: Revision | undefined])[];
  readonly gone: readonly Revision[];
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
  const found = new Set(replaced.map(([{ name }]) => name));
  for (const name of owed.difference(found)) {
    const revision = target.get(name);
    if (revision !== undefined && wants(name)) replaced.push([revision, revision]);
  }
  return { replaced, gone };
}

function nameOf({ name }: Revision): string {
  return name;
}

/** The first part of what changed: as much as a response may hold. */
function cut(
  linked: Iterable<Revision>,
  others: Iterable<Revision>,
  { responseMaxBytes, snapshotMaxBytes }: StepOptions,
): readonly Revision[] {
  const taken: Revision[] = [];
  let bytes = 0;
  const take = (revisions: Iterable<Revision>, maxBytes: number): void => {
    for (const revision of revisions) {
      bytes += revision.bytes.length + RESOURCE_BYTES;
      if (bytes > maxBytes && taken.length > 0) return;
      taken.push(revision);
    }
  };
  take(linked, snapshotMaxBytes);
  take(others, responseMaxBytes);
  return taken;
}

/**
 * The resources that change their domain, or take over one that is given up: in one response with what is removed,
 * so that no domain has two owners or none in between.
 */
function linkedByDomain(replaced: Differences["replaced"], gone: Differences["gone"]): ReadonlySet<Revision> {
  const moved = replaced.filter(([revision, before]) => before !== undefined && before.domain !== revision.domain);
  const freed = [...gone, ...moved.flatMap(([, before]) => before ?? [])];
  if (freed.length === 0) return new Set();
  // The domain of a revision that this replica does not know may be that of any other resource.
  const isAnyFreed = freed.some(isForeign);
  const domains = new Set(freed.map(({ domain }) => domain));
  const takers = replaced.filter(([{ domain }, before]) => before === undefined && (isAnyFreed || domains.has(domain)));
  return new Set([...moved, ...takers].map(([revision]) => revision));
}

function heldRevisions({ snapshot, names }: SentRevisions): readonly Revision[] {
  return names === undefined ? snapshot.revisions : snapshot.revisions.filter(({ name }) => names.has(name));
}

function patch(held: SentRevisions, changed: readonly Revision[], removed: readonly string[]): Snapshot {
  const byName = new Map(heldRevisions(held).map((revision) => [revision.name, revision]));
  for (const name of removed) byName.delete(name);
  for (const revision of changed) byName.set(revision.name, revision);
  return new Snapshot([...byName.values()].toSorted((left, right) => compareCodeUnits(left.name, right.name)));
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
