// The last changes of resources that this process has published, in memory.
import type { Part } from "@weir/common/lifecycle/lifecycle";
import { sortedDifferences } from "@weir/common/order/sorted-differences";

import type { Publisher } from "../snapshot/publisher.ts";
import { areSameFleets, PUBLISHED_ORDER, type PublishedRevision } from "../snapshot/snapshot.ts";

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

export interface ChangeLogDeps {
  readonly publisher: Pick<Publisher, "state" | "onPublished">;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

/** Records changes from start to stop; what is published first is no change. */
export class ChangeLog implements Part {
  readonly name = "change log";
  readonly #deps: ChangeLogDeps;
  #published: readonly PublishedRevision[] | undefined;
  #changes: readonly ResourceChange[] = [];
  #sinceMs = 0;
  #unsubscribe: () => void = () => undefined;

  constructor(deps: ChangeLogDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#unsubscribe = this.#deps.publisher.onPublished(() => this.#compare());
    this.#compare();
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

  #compare(): void {
    const { admission, publication } = this.#deps.publisher.state();
    // While an empty set is held back, its resources are still served.
    if (admission === undefined || publication.values().some(({ hold }) => hold !== undefined)) return;
    const [before, after] = [this.#published, [...admission.admitted.values()]];
    this.#published = after;
    const atMs = this.#deps.clock();
    if (before === undefined) this.#sinceMs = atMs;
    else this.#changes = [...changesBetween(before, after, atMs), ...this.#changes].slice(0, CHANGES_MAX);
  }
}

function* changesBetween(
  before: readonly PublishedRevision[],
  after: readonly PublishedRevision[],
  atMs: number,
): Generator<ResourceChange> {
  for (const { name: resource, before: was, after: is } of sortedDifferences(before, after, PUBLISHED_ORDER)) {
    const kind = is === undefined ? "removed" : was === undefined ? "added" : "edited";
    const digest = is?.revision.digest;
    // Content may be written anew.
    if (kind === "edited" && was?.revision.digest === digest && areSameFleets(was?.fleets, is?.fleets)) continue;
    yield { atMs, resource, kind, fleets: (is ?? was)?.fleets ?? [], digest };
  }
}
