// Keeps earlier revisions of each resource, for pods that NACK the published one.
import type { Revision } from "./revision.ts";

/** Most revisions that are kept of a resource because pods had loaded them. */
const LOADED_MAX = 4;

/** The revisions of one resource. */
interface KeptRevisions {
  readonly published: Revision;
  /** The one that was published before. */
  readonly previous: Revision | undefined;
  /** True if connected pods had loaded that when the published one came. */
  readonly isPreviousLoaded: boolean;
  /** Further ones that pods had loaded while they were published or after; the newest first. */
  readonly loaded: readonly Revision[];
  /** The last good ones that the source handed over, the newest first. */
  readonly lastGood: readonly Revision[];
}

/** Returns whether a connected pod has loaded a revision. */
export type IsLoaded = (revision: Revision) => boolean;

/** Facts about revisions that are known elsewhere. */
export interface RevisionFacts {
  /** Those of a resource that the source handed over, the newest first; the same list while they are the same. */
  readonly lastGoodOf: (name: string) => readonly Revision[];
  readonly isLoaded: IsLoaded;
}

/** The revisions that this replica keeps, of published resources only. */
export class RevisionHistory {
  readonly #kept = new Map<string, KeptRevisions>();

  /** Takes the published revisions. `held`: of resources that may come back; what is kept of them stays. */
  update(published: readonly Revision[], facts: RevisionFacts, held: Iterable<Revision> = []): void {
    for (const revision of published) {
      const before = this.#kept.get(revision.name);
      const now = keep(before, revision, facts);
      // As a rule nothing differs.
      if (now !== before) this.#kept.set(revision.name, now);
    }
    if (this.#kept.size === published.length) return;
    const names = new Set([...published, ...held].map(({ name }) => name));
    for (const name of this.#kept.keys()) if (!names.has(name)) this.#kept.delete(name);
  }

  /** The revisions of a published resource: that one first, then the newest. */
  revisionsOf(name: string): readonly Revision[] {
    const kept = this.#kept.get(name);
    if (kept === undefined) return [];
    const { published, previous, loaded, lastGood } = kept;
    // As a rule: pods that come back ask for thousands.
    if (previous === undefined && lastGood.length === 0) return [published];
    const earlier = [previous, ...loaded].flatMap((revision) => revision ?? []).toSorted(newestFirst);
    return [published, ...earlier, ...lastGood];
  }
}

function keep(
  before: KeptRevisions | undefined,
  published: Revision,
  { lastGoodOf, isLoaded }: RevisionFacts,
): KeptRevisions {
  const lastGood = lastGoodOf(published.name);
  if (before?.published.identity !== published.identity)
    return { published, previous: undefined, isPreviousLoaded: false, loaded: [], lastGood };
  if (before.published === published && before.lastGood === lastGood) return before;
  if (before.published.digest === published.digest) return { ...before, published, lastGood };
  const { previous, isPreviousLoaded } = before;
  const further = previous !== undefined && (isPreviousLoaded || isLoaded(previous)) ? [previous] : [];
  const loaded = [...further, ...before.loaded].filter(({ digest }) => digest !== published.digest);
  return {
    published,
    previous: before.published,
    isPreviousLoaded: isLoaded(before.published),
    loaded: loaded.toSorted(newestFirst).slice(0, LOADED_MAX),
    lastGood,
  };
}

function newestFirst(left: Revision, right: Revision): number {
  return right.sequence - left.sequence;
}
