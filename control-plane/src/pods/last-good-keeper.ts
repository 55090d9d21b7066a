// Hands the last good forms of resources to a source that keeps them: those that pods have loaded and
// none has NACKed. Before any pod has loaded one, it is what is published.
import type { Part } from "@weir/common/lifecycle/lifecycle";

import type { Form } from "../snapshot/form.ts";
import type { Publisher } from "../snapshot/publisher.ts";
import { resourceKey, type Source, type SourceResource } from "../source/source.ts";
import type { PodRegistry } from "./pod-registry.ts";

/** How long changes are collected, in milliseconds. */
const DELAY_MS = 1000;

/** What the keeper works with. */
export interface LastGoodKeeperDeps {
  readonly publisher: Pick<Publisher, "state" | "onPublished">;
  readonly pods: Pick<PodRegistry, "list" | "loadedForms" | "onChanged">;
  /** Keeps nothing when it lacks the method. */
  readonly source: Pick<Source, "keepLastGood">;
}

/** Keeps last good forms from start to stop. */
export class LastGoodKeeper implements Part {
  readonly name = "last good keeper";
  readonly #deps: LastGoodKeeperDeps;
  readonly #good = new Map<string, GoodForm>();
  readonly #unsubscribe: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;
  #keeping: Promise<void> = Promise.resolve();

  constructor(deps: LastGoodKeeperDeps) {
    this.#deps = deps;
  }

  start(): void {
    if (this.#deps.source.keepLastGood === undefined) return;
    const changed = (): void => {
      this.#timer ??= setTimeout(() => this.#keep(), DELAY_MS);
    };
    const { publisher, pods } = this.#deps;
    this.#unsubscribe.push(
      publisher.onPublished(changed),
      pods.onChanged(({ kind }) => {
        if (kind === "accepted") changed();
      }),
    );
    changed();
  }

  async stop(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    clearTimeout(this.#timer);
    this.#keep();
    await this.#keeping;
  }

  #keep(): void {
    this.#timer = undefined;
    const { publisher, pods, source } = this.#deps;
    const state = publisher.state();
    const { read, admission, publication } = state;
    // While an empty set is held back, its resources may come back.
    if (read === undefined || publication.values().some(({ hold }) => hold !== undefined)) return;
    const isLoaded = pods.loadedForms();
    const connected = pods.list();
    const isNacked = ({ name, digest }: Form): boolean =>
      connected.some(({ nacks }) => nacks.get(name)?.digests.has(digest));
    const present = new Set(read.resources.map(resourceKey));
    for (const key of this.#good.keys()) if (!present.has(key)) this.#good.delete(key);
    for (const resource of read.resources) {
      const key = resourceKey(resource);
      const form = admission?.placed.get(key)?.form;
      const isPublished = form !== undefined && form === state.presentForm(key) && !resource.isLastGood;
      const known = this.#good.get(key) ?? lastGoodOf(resource);
      if (isPublished && isLoaded(form) && !isNacked(form)) this.#good.set(key, { resource, wasLoaded: true });
      else if (isPublished && known?.wasLoaded !== true) this.#good.set(key, { resource, wasLoaded: false });
      else if (known !== undefined) this.#good.set(key, known);
    }
    const good = [...this.#good.values()].map(({ resource }) => resource);
    this.#keeping = this.#keeping.then(() => source.keepLastGood?.(good));
  }
}

/** A form, and whether pods have loaded it. */
interface GoodForm {
  readonly resource: SourceResource;
  readonly wasLoaded: boolean;
}

/** The form that was good before this process started, or that the source serves as the last good one. */
function lastGoodOf(resource: SourceResource): GoodForm | undefined {
  if (resource.isLastGood) return { resource, wasLoaded: true };
  const { lastGood } = resource;
  return lastGood === undefined ? undefined : { resource: { ...resource, resource: lastGood }, wasLoaded: true };
}
