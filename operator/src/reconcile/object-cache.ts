// The objects of one kind as a reflector last saw them, and the listeners that are notified of changes.
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import type { ListedPage } from "@weir/kubernetes/reflector/reflector";
import type { ObjectSink } from "@weir/kubernetes/reflector/reflector-run";
import type { ObjectKey } from "./reconciler.ts";

/**
 * Called after an object has appeared, changed or gone, with what it was before (undefined: it is new)
 * and what it is now (undefined: it is gone).
 */
export type ObjectListener = (before: KubernetesObject | undefined, after: KubernetesObject | undefined) => void;

/** The part of a cache that those read who do not fill it. */
export type ObjectLookup = Pick<ObjectCache, "get" | "list" | "onChange" | "isListed">;

/** Objects by namespace and name. */
export class ObjectCache implements ObjectSink {
  readonly #listeners: ObjectListener[] = [];
  readonly #objects = new Map<string, KubernetesObject>();
  /** The objects that the pages of a list have brought so far. */
  #listing = new Map<string, KubernetesObject>();
  readonly #isWithoutManagers: boolean;
  #isListed = false;

  /** Drops `metadata.managedFields` of every object if `isWithoutManagers`. */
  constructor({ isWithoutManagers = false }: { readonly isWithoutManagers?: boolean } = {}) {
    this.#isWithoutManagers = isWithoutManagers;
  }

  /** The object; undefined when there is none. */
  get(key: ObjectKey): KubernetesObject | undefined {
    return this.#objects.get(textOf(key));
  }

  /** All objects, or those of a namespace; in no order. */
  list(namespace?: string): readonly KubernetesObject[] {
    const all = [...this.#objects.values()];
    return namespace === undefined ? all : all.filter((object) => object.namespace === namespace);
  }

  /** Returns true if the objects were listed, and the cluster has not lost their kind since. */
  isListed(): boolean {
    return this.#isListed;
  }

  /** The cluster does not know the kind any more: there are no objects. */
  kindIsMissing(): void {
    this.#isListed = false;
    this.#listing = new Map();
    this.#replace();
  }

  /** Calls `listener` after each change from now on. */
  onChange(listener: ObjectListener): void {
    this.#listeners.push(listener);
  }

  take({ objects, isFirst, isLast }: ListedPage): boolean {
    if (isFirst) this.#listing = new Map();
    for (const object of objects) this.#listing.set(textOf(object), this.#kept(object));
    this.#isListed ||= isLast;
    return isLast && this.#replace();
  }

  put(object: KubernetesObject): boolean {
    const key = textOf(object);
    const before = this.#objects.get(key);
    if (before?.uid === object.uid && before.resourceVersion === object.resourceVersion) return false;
    const kept = this.#kept(object);
    this.#objects.set(key, kept);
    this.#tell(before, kept);
    return true;
  }

  delete(object: KubernetesObject): boolean {
    const key = textOf(object);
    const before = this.#objects.get(key);
    if (before === undefined) return false;
    this.#objects.delete(key);
    this.#tell(before, undefined);
    return true;
  }

  needsList(): boolean {
    return false;
  }

  #replace(): boolean {
    const listed = this.#listing;
    this.#listing = new Map();
    const gone = [...this.#objects].filter(([key]) => !listed.has(key)).map(([, object]) => object);
    const changes = [
      ...gone.map((object) => this.delete(object)),
      ...[...listed.values()].map((each) => this.put(each)),
    ];
    return changes.includes(true);
  }

  #kept(object: KubernetesObject): KubernetesObject {
    return this.#isWithoutManagers ? withoutManagers(object) : object;
  }

  #tell(before: KubernetesObject | undefined, after: KubernetesObject | undefined): void {
    for (const listener of this.#listeners) listener(before, after);
  }
}

/** The object without `metadata.managedFields`; itself when it has none. */
export function withoutManagers(object: KubernetesObject): KubernetesObject {
  const metadata = object.content["metadata"] as Readonly<Record<string, unknown>> | undefined;
  if (metadata?.["managedFields"] === undefined) return object;
  const { managedFields: _managedFields, ...rest } = metadata;
  return { ...object, content: { ...object.content, metadata: rest } };
}

function textOf({ namespace, name }: ObjectKey): string {
  return `${namespace}/${name}`;
}
