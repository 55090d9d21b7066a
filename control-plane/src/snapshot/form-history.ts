// Keeps earlier forms of each resource, for pods that NACK the published one.
import type { Form } from "./form.ts";

/** Most forms that are kept of a resource because pods had loaded them. */
const LOADED_MAX = 4;

/** The forms of one resource. */
interface KeptForms {
  readonly published: Form;
  /** The one that was published before. */
  readonly previous: Form | undefined;
  /** Whether connected pods had loaded that when the published one came. */
  readonly isPreviousLoaded: boolean;
  /** Further ones that pods had loaded while they were published or after; the newest first. */
  readonly loaded: readonly Form[];
  /** The last good ones that the source handed over, the newest first. */
  readonly handedOver: readonly Form[];
}

/** Returns whether a connected pod has loaded a form. */
export type IsLoaded = (form: Form) => boolean;

/** The forms that this replica keeps, of published resources only. */
export class FormHistory {
  #kept: ReadonlyMap<string, KeptForms> = new Map();

  /**
   * Takes the published forms, and those that the source handed over, by name. `held`: of resources
   * that may come back; what is kept of them stays.
   */
  update(
    published: Iterable<Form>,
    handedOver: ReadonlyMap<string, readonly Form[]>,
    isLoaded: IsLoaded,
    held: Iterable<Form> = [],
  ): void {
    const kept = new Map<string, KeptForms>();
    for (const form of published) kept.set(form.name, this.#keep(form, handedOver.get(form.name) ?? [], isLoaded));
    for (const { name } of held) {
      const before = this.#kept.get(name);
      if (before !== undefined) kept.getOrInsert(name, before);
    }
    this.#kept = kept;
  }

  /** The forms of a published resource: that one first, then the newest. */
  formsOf(name: string): readonly Form[] {
    const kept = this.#kept.get(name);
    if (kept === undefined) return [];
    const { published, previous, loaded, handedOver } = kept;
    const earlier = [previous, ...loaded].flatMap((form) => form ?? []).toSorted(newestFirst);
    return [published, ...earlier, ...handedOver];
  }

  #keep(published: Form, handedOver: readonly Form[], isLoaded: IsLoaded): KeptForms {
    const before = this.#kept.get(published.name);
    if (before?.published.identity !== published.identity)
      return { published, previous: undefined, isPreviousLoaded: false, loaded: [], handedOver };
    if (before.published.digest === published.digest) return { ...before, published, handedOver };
    const { previous, isPreviousLoaded } = before;
    const further = previous !== undefined && (isPreviousLoaded || isLoaded(previous)) ? [previous] : [];
    const loaded = [...further, ...before.loaded].filter(({ digest }) => digest !== published.digest);
    return {
      published,
      previous: before.published,
      isPreviousLoaded: isLoaded(before.published),
      loaded: loaded.toSorted(newestFirst).slice(0, LOADED_MAX),
      handedOver,
    };
  }
}

function newestFirst(left: Form, right: Form): number {
  return right.sequence - left.sequence;
}
