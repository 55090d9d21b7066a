// Chooses what the pod of one stream is sent: of each resource the newest revision that it has not NACKed
// on this stream. The memory of NACKs ends with the stream: the next one may be another process.
import { compareAge } from "@weir/limits/ownership/ownership";
import { contentHash } from "@weir/proto/grpc/set-version";

import { isForeign, type Revision } from "../snapshot/revision.ts";
import type { Snapshot, EarlierRevisions } from "../snapshot/snapshot.ts";

/** NACKs in one namespace without an ACK in between, after which its revisions are tried one by one. */
const NAMESPACE_NACKS_MAX = 8;

/** Least time between two responses with a revision that is tried, in milliseconds. */
const TRIAL_INTERVAL_MS = 1000;

/** A response that a pod answers. */
export interface SentRevisions {
  readonly snapshot: Snapshot;
  /** The names that it was sent of it; undefined for all. */
  readonly names: ReadonlySet<string> | undefined;
}

/** The revision of a resource in a response. */
export function revisionIn(sent: SentRevisions | undefined, name: string): Revision | undefined {
  return sent?.names?.has(name) === false ? undefined : sent?.snapshot.get(name);
}

/** The NACKs of a resource on one stream. */
export interface ResourceNack {
  /** Digests of the revisions that the pod NACKed. */
  readonly digests: ReadonlySet<string>;
  /** When the first NACK came, milliseconds since the epoch. */
  readonly sinceMs: number;
  /** The text of the last one. */
  readonly message: string;
}

/** The dependencies of the choice. `clock` gives milliseconds since the epoch. */
export interface PodRevisionsDeps {
  /** The kept revisions of a published resource, that one first, then the newest. */
  readonly revisionsOf: (name: string) => readonly Revision[];
  readonly snapshotMaxBytes: number;
  readonly clock: () => number;
  /** True if a response can leave out what the pod has, as in the incremental variant. */
  readonly isIncremental?: boolean;
}

/** The revisions of one stream. */
export class PodRevisions {
  readonly #deps: PodRevisionsDeps;
  readonly #nacks = new Map<string, ResourceNack>();
  /** NACKs by namespace since the last ACK. */
  readonly #nackCounts = new Map<string, number>();
  /** Namespaces of which only ACKed revisions are sent, and one more that is tried: the next to try first. */
  readonly #restricted = new Set<string>();
  #trial: Revision | undefined;
  #nextTrialMs = -Infinity;

  constructor(deps: PodRevisionsDeps) {
    this.#deps = deps;
  }

  /** The NACKs by name of the resource, of revisions that are kept. */
  get nacks(): ReadonlyMap<string, ResourceNack> {
    return this.#nacks;
  }

  /** When a further revision may be tried, milliseconds since the epoch; undefined: none waits for that. */
  get nextTrialMs(): number | undefined {
    return this.#restricted.size > 0 && this.#trial === undefined ? this.#nextTrialMs : undefined;
  }

  /** Takes an ACK. */
  ack(): void {
    this.#nackCounts.clear();
    this.#trial = undefined;
  }

  /**
   * Takes a NACK. It counts for the sent resource with whose name the text begins, else for the only one of an
   * incremental response, else for none.
   */
  nack(sent: SentRevisions, message: string): void {
    const named = message.split(":", 1)[0] ?? "";
    const [only = "", ...others] = this.#deps.isIncremental === true ? (sent.names ?? []) : [];
    const name = revisionIn(sent, named) === undefined && others.length === 0 ? only : named;
    const revision = revisionIn(sent, name);
    if (revision === undefined) return;
    const nowMs = this.#deps.clock();
    const known = this.#nacks.get(name);
    const digests = new Set(known?.digests).add(revision.digest);
    this.#nacks.set(name, { digests, sinceMs: known?.sinceMs ?? nowMs, message });
    if (this.#trial?.name === name) this.#trial = undefined;
    const count = (this.#nackCounts.get(revision.namespace) ?? 0) + 1;
    this.#nackCounts.set(revision.namespace, count);
    if (count < NAMESPACE_NACKS_MAX || this.#restricted.has(revision.namespace)) return;
    this.#restricted.add(revision.namespace);
    this.#nextTrialMs = nowMs + TRIAL_INTERVAL_MS;
  }

  /**
   * The snapshot to send while `published` is active for the pod's fleet; `acked` is what it ACKed last, and
   * `names` the resources that it subscribes to, undefined for all.
   */
  choose(published: Snapshot, acked: SentRevisions | undefined, names?: ReadonlySet<string>): Snapshot {
    if (this.#nacks.size === 0 && this.#restricted.size === 0) return published;
    this.#forgetNacks(published, acked);
    const earlierRevisions = new Map<string, Revision | undefined>();
    for (const name of this.#nacks.keys()) {
      const revision = published.get(name);
      const best = revision === undefined ? undefined : this.#newest(revision, acked);
      if (best !== revision) earlierRevisions.set(name, best);
    }
    if (this.#restricted.size > 0) this.#restrict(published, { acked, names }, earlierRevisions);
    fit(published, earlierRevisions, this.#deps.snapshotMaxBytes);
    return derive(published, earlierRevisions);
  }

  /**
   * Forgets the NACKs of revisions that are no longer kept, and of all other revisions when the pod has the
   * published one: its report lacks nothing then, and what it NACKed before needs another answer.
   */
  #forgetNacks(published: Snapshot, acked: SentRevisions | undefined): void {
    for (const [name, nack] of this.#nacks) {
      const [revision, loaded] = [published.get(name), revisionIn(acked, name)];
      const isLoaded = revision !== undefined && revision.digest === loaded?.digest;
      const revisions = isLoaded ? [revision] : [revision, loaded, ...this.#deps.revisionsOf(name)];
      const digests = nack.digests.intersection(new Set(revisions.map((revision) => revision?.digest)));
      if (digests.size === 0) this.#nacks.delete(name);
      else this.#nacks.set(name, { ...nack, digests });
    }
  }

  /** The newest revision of a resource that the pod has not NACKed; incremental: what it has, if it has any. */
  #newest(published: Revision, acked: SentRevisions | undefined): Revision | undefined {
    const { name } = published;
    const loaded = revisionIn(acked, name);
    if (this.#deps.isIncremental === true && mayReplace(loaded, published))
      return this.#isNacked(published) ? loaded : published;
    const newestFirst = [loaded, ...this.#deps.revisionsOf(name)]
      .filter((revision) => mayReplace(revision, published))
      .toSorted((left, right) => right.sequence - left.sequence);
    return [published, ...newestFirst].find((revision) => !this.#isNacked(revision));
  }

  #isNacked({ name, digest }: Revision): boolean {
    return this.#nacks.get(name)?.digests.has(digest) === true;
  }

  /** Holds back what the pod has not ACKed of restricted namespaces, but for one revision that is tried. */
  #restrict(
    published: Snapshot,
    { acked, names }: { readonly acked: SentRevisions | undefined; readonly names: ReadonlySet<string> | undefined },
    earlierRevisions: Map<string, Revision | undefined>,
  ): void {
    const untried: Revision[] = [];
    for (const revision of published.revisions) {
      if (!this.#restricted.has(revision.namespace) || names?.has(revision.name) === false) continue;
      const wanted = earlierRevisions.has(revision.name) ? earlierRevisions.get(revision.name) : revision;
      if (wanted !== undefined && wanted.digest !== revisionIn(acked, revision.name)?.digest) untried.push(wanted);
    }
    const nowMs = this.#deps.clock();
    if (this.#trial !== undefined && !untried.includes(this.#trial)) this.#trial = undefined;
    // A clock that is set back must not delay the trial by as much.
    this.#nextTrialMs = Math.min(this.#nextTrialMs, nowMs + TRIAL_INTERVAL_MS);
    if (this.#trial === undefined && nowMs >= this.#nextTrialMs) {
      this.#trial = this.#nextOf(untried);
      this.#nextTrialMs = nowMs + TRIAL_INTERVAL_MS;
    }
    for (const wanted of untried.filter((revision) => revision !== this.#trial)) {
      const loaded = revisionIn(acked, wanted.name);
      const isUsable = mayReplace(loaded, wanted) && !this.#isNacked(loaded);
      earlierRevisions.set(wanted.name, isUsable ? loaded : undefined);
    }
    const open = new Set(untried.map(({ namespace }) => namespace));
    for (const namespace of this.#restricted) if (!open.has(namespace)) this.#restricted.delete(namespace);
  }

  /** The revision to try next. Namespaces take turns: edits in one hold back none of another. */
  #nextOf(untried: readonly Revision[]): Revision | undefined {
    for (const namespace of this.#restricted) {
      const revision = untried.find((each) => each.namespace === namespace);
      if (revision === undefined) continue;
      this.#restricted.delete(namespace);
      this.#restricted.add(namespace);
      return revision;
    }
    return undefined;
  }
}

/** Returns true for an earlier revision of the same resource that does not enforce what is in shadow mode now. */
function mayReplace(earlier: Revision | undefined, { identity, manifest }: Revision): earlier is Revision {
  if (earlier === undefined || (earlier.identity !== identity && !isForeign(earlier))) return false;
  return manifest.spec.shadowMode !== true || earlier.manifest.spec.shadowMode === true;
}

/** Leaves out earlier revisions, of the youngest resource first, while the snapshot would be too large. */
function fit(published: Snapshot, earlierRevisions: Map<string, Revision | undefined>, maxBytes: number): void {
  let sizeBytes = published.sizeBytes;
  for (const [name, revision] of earlierRevisions)
    sizeBytes += (revision?.bytes.length ?? 0) - (published.get(name)?.bytes.length ?? 0);
  const youngestFirst = [...earlierRevisions.values()]
    .flatMap((revision) => revision ?? [])
    .toSorted((left, right) => compareAge(right, left));
  for (const { name, bytes } of youngestFirst) {
    if (sizeBytes <= maxBytes) return;
    earlierRevisions.set(name, undefined);
    sizeBytes -= bytes.length;
  }
}

type KnownSnapshots = Map<string, WeakRef<Snapshot>>;

/** Snapshots with earlier revisions, by fleet's snapshot and earlier revisions: pods with one choice share it. */
const derived = new WeakMap<Snapshot, KnownSnapshots>();

/** Removes the entries of snapshots that are in use no more: pods can cause any number of them. */
const unused = new FinalizationRegistry<readonly [known: KnownSnapshots, key: string]>(([known, key]) => {
  if (known.get(key)?.deref() === undefined) known.delete(key);
});

function derive(published: Snapshot, earlierRevisions: EarlierRevisions): Snapshot {
  if (earlierRevisions.size === 0) return published;
  // A hash: a pod that NACKs thousands of revisions gets thousands of choices of thousands of earlier revisions.
  const key = contentHash(
    Array.from(earlierRevisions, ([name, revision]) => `${name} ${revision?.digest}`)
      .toSorted()
      .join("\n"),
  );
  const known = derived.getOrInsertComputed(published, () => new Map());
  const present = known.get(key)?.deref();
  if (present !== undefined) return present;
  const snapshot = published.withEarlier(earlierRevisions);
  known.set(key, new WeakRef(snapshot));
  unused.register(snapshot, [known, key]);
  return snapshot;
}
