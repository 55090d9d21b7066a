// Stores the RateLimitConfigs that one reflector follows. Of each namespace the oldest ones are stored;
// of those that are too many only the names are known.
import { compareCodeUnits } from "@weir/common/order/code-unit-order";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import type { ListedPage } from "@weir/kubernetes/reflector/reflector";
import type { ObjectSink } from "@weir/kubernetes/reflector/reflector-run";

import { resourceKey, type SourceRefusal } from "../source.ts";
import { NamespaceObjects } from "./namespace-objects.ts";
import type { StoredObject } from "./stored-object.ts";

/** Receives what changes in a store. */
export interface ObjectListener {
  /** Objects are there, for the first time or in another shape. */
  appeared(objects: readonly StoredObject[]): void;
  /** Objects are no longer there. */
  removed(objects: readonly StoredObject[]): void;
  /** The last page of a list was stored. */
  listed(): void;
}

/** The objects that one reflector follows. */
export class ObjectStore implements ObjectSink {
  readonly #namespaceMax: number;
  readonly #listener: ObjectListener;
  #namespaces = new Map<string, NamespaceObjects>();
  /** The objects that the pages of a list have brought so far. */
  #listing = new Map<string, NamespaceObjects>();

  /** Stores at most `namespaceMax` objects of each namespace. */
  constructor(namespaceMax: number, listener: ObjectListener) {
    this.#namespaceMax = namespaceMax;
    this.#listener = listener;
  }

  take({ objects, isFirst, isLast }: ListedPage): boolean {
    if (isFirst) this.#listing = new Map();
    for (const object of objects) {
      const before = this.#namespaces.get(object.namespace)?.get(resourceKey(object));
      this.#namespaceOf(this.#listing, object).list(object, before);
    }
    return isLast && this.#replace();
  }

  put(object: KubernetesObject): boolean {
    const namespace = this.#namespaceOf(this.#namespaces, object);
    const isKnown = namespace.has(resourceKey(object));
    const after = namespace.put(object);
    if (after !== undefined) this.#listener.appeared([after]);
    // A new object that is too many changes the refusals.
    return after !== undefined || !isKnown;
  }

  delete(object: KubernetesObject): boolean {
    const namespace = this.#namespaces.get(object.namespace);
    const before = namespace?.get(resourceKey(object));
    const isChanged = namespace?.delete(resourceKey(object)) === true;
    if (before !== undefined) this.#listener.removed([before]);
    return isChanged;
  }

  needsList(): boolean {
    return [...this.#namespaces.values()].some((namespace) => namespace.needsList());
  }

  /** All stored objects, ordered by namespace and name. */
  list(): readonly StoredObject[] {
    const objects = [...this.#namespaces.values()].flatMap((namespace) => namespace.stored());
    return objects.toSorted((left, right) => compareCodeUnits(left.key, right.key));
  }

  /** The objects of some namespaces that are too many, as far as their names are known. */
  refusals(isRead: (namespace: string) => boolean = () => true): readonly SourceRefusal[] {
    return [...this.#namespaces].flatMap(([name, namespace]) => (isRead(name) ? namespace.refusals() : []));
  }

  /** Replaces all objects by those that were listed; returns true if that changed any. */
  #replace(): boolean {
    const before = new Map(this.list().map((object) => [object.key, object]));
    const refusedBefore = this.refusals().map(({ resource }) => resource);
    this.#namespaces = this.#listing;
    this.#listing = new Map();
    for (const namespace of this.#namespaces.values()) namespace.trim();
    const appeared = this.list().filter((object) => before.get(object.key) !== object);
    const removed = [...before.values()].filter(({ key, namespace }) => !this.#namespaces.get(namespace)?.has(key));
    // In this order: what is there may replace what was removed.
    if (removed.length > 0) this.#listener.removed(removed);
    if (appeared.length > 0) this.#listener.appeared(appeared);
    this.#listener.listed();
    const refused = this.refusals().map(({ resource }) => resource);
    return appeared.length > 0 || removed.length > 0 || refused.join() !== refusedBefore.join();
  }

  #namespaceOf(namespaces: Map<string, NamespaceObjects>, { namespace }: KubernetesObject): NamespaceObjects {
    const known = namespaces.get(namespace) ?? new NamespaceObjects(this.#namespaceMax);
    namespaces.set(namespace, known);
    return known;
  }
}
