// Hands the revisions that this replica keeps of each resource to a source that can keep them beyond the
// process.
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";

import type { Publisher } from "../snapshot/publisher.ts";
import { type LastGoodRevisions, resourceKey, type Source } from "../source/source.ts";

/** How long changes are collected, in milliseconds. */
const DELAY_MS = 1000;

export interface LastGoodKeeperDeps {
  readonly log: Log;
  readonly publisher: Pick<Publisher, "state" | "revisionsOf" | "onPublished">;
  /** Keeps nothing when it lacks the method. */
  readonly source: Pick<Source, "keepLastGood">;
}

/** Keeps last good revisions from start to stop. */
export class LastGoodKeeper implements Part {
  readonly name = "last good keeper";
  readonly #deps: LastGoodKeeperDeps;
  #unsubscribe: () => void = () => undefined;
  #timer: NodeJS.Timeout | undefined;
  #keeping: Promise<void> = Promise.resolve();

  constructor(deps: LastGoodKeeperDeps) {
    this.#deps = deps;
  }

  start(): void {
    const changed = (): void => {
      this.#timer ??= setTimeout(() => this.#keep(), DELAY_MS);
    };
    this.#unsubscribe = this.#deps.publisher.onPublished(changed);
    changed();
  }

  async stop(): Promise<void> {
    this.#unsubscribe();
    clearTimeout(this.#timer);
    this.#keep();
    await this.#keeping;
  }

  #keep(): void {
    this.#timer = undefined;
    const { log, publisher, source } = this.#deps;
    if (source.keepLastGood === undefined) return;
    const { read, publication } = publisher.state();
    // While an empty set is held back, its resources may come back.
    if (read === undefined || publication.values().some(({ hold }) => hold !== undefined)) return;
    const kept = read.resources.flatMap((resource): readonly LastGoodRevisions[] => {
      const { namespace, name, place } = resource;
      const revisions = publisher.revisionsOf(resourceKey(resource)).map(({ manifest }) => manifest);
      return revisions.length === 0 ? [] : [{ namespace, name, file: place.file, revisions }];
    });
    this.#keeping = this.#keeping
      .then(() => source.keepLastGood?.(kept))
      .catch((error: unknown) => log.error("Cannot keep last good revisions", { error }));
  }
}
