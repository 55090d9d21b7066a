// Objects whose reconcile lacks a right: of those that lack the same one, one asks for it often, and all
// others are tried when it has it. Otherwise thousands of objects would ask as often. Pure.
import type { ObjectKey } from "./reconciler.ts";

/** The objects of one controller. */
export class MissingRights {
  /** By the right, the objects that lack it, by key; the first one asks. */
  readonly #lacking = new Map<string, Map<string, ObjectKey>>();

  /**
   * Notes that the reconcile of an object lacked the right; undefined: it lacked none. Returns whether the object is
   * the one that asks, and the others that are to be tried now, because it is not in the way any more.
   */
  note(
    key: ObjectKey,
    right: string | undefined,
  ): { readonly isAsking: boolean; readonly released: readonly ObjectKey[] } {
    const text = `${key.namespace}/${key.name}`;
    const released: ObjectKey[] = [];
    for (const [each, objects] of this.#lacking) {
      if (each === right || !objects.delete(text)) continue;
      this.#lacking.delete(each);
      released.push(...objects.values());
    }
    if (right === undefined) return { isAsking: false, released };
    const objects = this.#lacking.getOrInsertComputed(right, () => new Map<string, ObjectKey>());
    objects.set(text, key);
    const [asking] = objects.keys();
    return { isAsking: asking === text, released };
  }

  /** Forgets all objects. */
  clear(): void {
    this.#lacking.clear();
  }
}
