// The last changes of resources that this process has published, in memory.
import type { Part } from "@weir/common/lifecycle/lifecycle";

import type { Publisher } from "../snapshot/publisher.ts";

/** Most changes that are kept. */
const CHANGES_MAX = 100;

/** A change of a resource. */
export interface ResourceChange {
  /** Milliseconds since the epoch. */
  readonly atMs: number;
  /** `<namespace>/<name>`. */
  readonly resource: string;
  readonly kind: "added" | "edited" | "removed";
  /** Empty: every fleet. */
  readonly fleets: readonly string[];
  /** Hash of its content; undefined when it was removed. */
  readonly digest: string | undefined;
}

type Served = Pick<ResourceChange, "fleets" | "digest">;

export interface ChangeLogDeps {
  readonly publisher: Pick<Publisher, "state" | "onPublished">;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

/** Records changes from start to stop; what is published first is no change. */
export class ChangeLog implements Part {
  readonly name = "change log";
  readonly #deps: ChangeLogDeps;
  #served: ReadonlyMap<string, Served> | undefined;
  #changes: readonly ResourceChange[] = [];
  #sinceMs = 0;
  #unsubscribe: () => void = () => undefined;

  constructor(deps: ChangeLogDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#unsubscribe = this.#deps.publisher.onPublished(() => this.#published());
    this.#published();
  }

  stop(): void {
    this.#unsubscribe();
  }

  /** The changes, the newest first. */
  get changes(): readonly ResourceChange[] {
    return this.#changes;
  }

  /** When it began, in milliseconds since the epoch; 0: nothing was published yet. */
  get sinceMs(): number {
    return this.#sinceMs;
  }

  #published(): void {
    const state = this.#deps.publisher.state();
    const { desired, publication } = state;
    // While an empty set is held back, its resources are still served.
    if (desired === undefined || publication.values().some(({ hold }) => hold !== undefined)) return;
    const served = new Map<string, Served>();
    for (const { key, fleets = [] } of desired.accepted) {
      const revision = state.currentRevision(key);
      if (revision !== undefined) served.set(key, { fleets, digest: revision.digest });
    }
    const before = this.#served;
    this.#served = served;
    const atMs = this.#deps.clock();
    if (before === undefined) this.#sinceMs = atMs;
    else this.#changes = [...changesBetween(before, served, atMs), ...this.#changes].slice(0, CHANGES_MAX);
  }
}

function changesBetween(
  before: ReadonlyMap<string, Served>,
  after: ReadonlyMap<string, Served>,
  atMs: number,
): readonly ResourceChange[] {
  const changes: ResourceChange[] = [];
  for (const [resource, now] of after) {
    const earlier = before.get(resource);
    if (earlier === undefined) changes.push({ atMs, resource, kind: "added", ...now });
    else if (earlier.digest !== now.digest || earlier.fleets.join() !== now.fleets.join())
      changes.push({ atMs, resource, kind: "edited", ...now });
  }
  for (const [resource, { fleets }] of before)
    if (!after.has(resource)) changes.push({ atMs, resource, kind: "removed", fleets, digest: undefined });
  return changes;
}
