// The RateLimitConfigs of one namespace, with a bound: of more objects the oldest are stored, of the
// others only the names.
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import { type Age, compareAge } from "@weir/limits/ownership/ownership";

import { EXCESS_MAX, tooMany } from "../bound-namespaces.ts";
import { resourceKey, type SourceRefusal } from "../source.ts";
import { createdMsOf, placeOf, type StoredObject, storedObject } from "./stored-object.ts";

/** The objects of one namespace. */
export class NamespaceObjects {
  readonly #max: number;
  #stored = new Map<string, StoredObject>();
  /** The objects that are too many, by key. */
  #excess = new Map<string, Age>();
  /** True if there are more of those than names are kept. */
  #hasUnknown = false;
  /** The youngest object that is stored, while there are as many as may be; undefined: not known. */
  #youngest: Age | undefined;

  /** Stores at most `max` objects. */
  constructor(max: number) {
    this.#max = max;
  }

  get(key: string): StoredObject | undefined {
    return this.#stored.get(key);
  }

  /** True if the object is stored, or is one of those that are too many. */
  has(key: string): boolean {
    return this.#stored.has(key) || this.#excess.has(key);
  }

  /** The stored objects, in no particular order. */
  stored(): readonly StoredObject[] {
    return [...this.#stored.values()];
  }

  /** Adds an object of a list, whose earlier revision is `before`; `trim` follows the last one. */
  list(object: KubernetesObject, before: StoredObject | undefined): void {
    if (this.#isExcluded(object)) return;
    this.#stored.set(resourceKey(object), storedObject(object, before));
    // Not after each object: sorting would take most of the time.
    if (this.#stored.size >= 2 * this.#max) this.trim();
  }

  /** Adds an object or its next revision, and returns that; undefined if it is not stored or not changed. */
  put(object: KubernetesObject): StoredObject | undefined {
    const key = resourceKey(object);
    if (this.#excess.has(key) && this.#stored.size >= this.#max) return undefined;
    const before = this.#stored.get(key);
    // Before it is checked: a namespace with too many objects must not slow down the updates of others.
    if (before === undefined && this.#isExcluded(object)) return undefined;
    const after = storedObject(object, before);
    if (after === before) return undefined;
    if (before?.uid !== after.uid) this.delete(key);
    this.#stored.set(key, after);
    this.trim();
    return this.#stored.get(key);
  }

  /** Removes an object; returns true if it was known. */
  delete(key: string): boolean {
    if (!this.#stored.delete(key)) return this.#excess.delete(key);
    this.#youngest = undefined;
    return true;
  }

  /** True if an object that is too many belongs to the oldest by now. */
  needsList(): boolean {
    return this.#stored.size < this.#max && (this.#excess.size > 0 || this.#hasUnknown);
  }

  /** Leaves the youngest objects out if there are too many. */
  trim(): void {
    if (this.#stored.size <= this.#max) return;
    const byAge = [...this.#stored.values()].toSorted(compareAge);
    this.#stored = new Map(byAge.slice(0, this.#max).map((object) => [object.key, object]));
    this.#youngest = byAge[this.#max - 1];
    this.#exclude(
      byAge.slice(this.#max).map(({ key, namespace, name, createdMs }) => [key, { namespace, name, createdMs }]),
    );
  }

  /** The objects that are too many, from the oldest to the youngest. */
  refusals(): readonly SourceRefusal[] {
    return [...this.#excess.values()].toSorted(compareAge).map((age) => tooMany(age, placeOf(age), this.#max));
  }

  /** Leaves an object out that is younger than all stored ones if those are as many as may be. */
  #isExcluded(object: KubernetesObject): boolean {
    const { namespace, name } = object;
    const age = { namespace, name, createdMs: createdMsOf(object) };
    if (this.#youngest === undefined || compareAge(age, this.#youngest) <= 0) return false;
    this.#exclude([[resourceKey(object), age]]);
    return true;
  }

  #exclude(objects: readonly (readonly [key: string, age: Age])[]): void {
    for (const [key, age] of objects) this.#excess.set(key, age);
    if (this.#excess.size <= EXCESS_MAX) return;
    const byAge = [...this.#excess].toSorted(([, left], [, right]) => compareAge(left, right));
    this.#excess = new Map(byAge.slice(0, EXCESS_MAX));
    this.#hasUnknown = true;
  }
}
