// Keeps the last revisions of RateLimitConfigs that vanish together with their CustomResourceDefinition:
// deleting it deletes them all, which is not meant as a deletion of limits.
import type { Log } from "@weir/common/log/log";

import type { StoredObject } from "./stored-object.ts";

/**
 * Removals that so long before the definition is known to vanish, in milliseconds, belong to that: the
 * events of both come on connections of their own.
 */
const HISTORY_MS = 2000;

/** Longest time between two looks at whether the source can be read, in milliseconds. */
const CHECK_MS = 1000;

export interface VanishedObjectsDeps {
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** Returns true if the source can be read: while it cannot, what vanished cannot be seen to come back. */
  readonly isReadable: () => boolean;
  /** Called when kept objects are no longer served. */
  readonly changed: () => void;
}

/** Remembers what was removed, and keeps what vanished. */
export class VanishedObjects {
  readonly #deps: VanishedObjectsDeps;
  readonly #keepMs: number;
  #isDefined = true;
  /** The objects that were removed in the last seconds. */
  #history: { readonly object: StoredObject; readonly removedMs: number }[] = [];
  readonly #kept = new Map<string, StoredObject>();
  #timer: NodeJS.Timeout | undefined;

  /** Keeps objects for `keepMs` without a change after their definition is back and can be read. */
  constructor(deps: VanishedObjectsDeps, keepMs: number) {
    this.#deps = deps;
    this.#keepMs = keepMs;
  }

  /** The vanished objects that are still served. */
  list(): readonly StoredObject[] {
    return [...this.#kept.values()];
  }

  /** Objects are there, for the first time or in another shape: they replace kept ones. */
  appeared(objects: readonly StoredObject[]): void {
    this.#prune();
    if (this.#kept.size === 0 && this.#history.length === 0) return;
    const claims = new Claims(objects);
    for (const [key, object] of this.#kept) if (claims.replace(object)) this.#kept.delete(key);
    this.#history = this.#history.filter(({ object }) => !claims.replace(object));
    this.#startTimer();
  }

  /** Objects are no longer there. */
  removed(objects: readonly StoredObject[]): void {
    const removedMs = this.#deps.clock();
    this.#prune();
    for (const object of objects) {
      if (this.#isDefined) this.#history.push({ object, removedMs });
      else this.#kept.set(object.key, object);
    }
    this.#startTimer();
  }

  /** The definition is there, or is gone or being deleted. Returns true if that brought objects back. */
  define(isDefined: boolean): boolean {
    if (isDefined === this.#isDefined) return false;
    this.#isDefined = isDefined;
    if (isDefined) {
      this.#startTimer();
      return false;
    }
    clearTimeout(this.#timer);
    return this.#bringBack();
  }

  /** Ends the wait. */
  stop(): void {
    clearTimeout(this.#timer);
  }

  /** Keeps what was removed in the last seconds; returns true if there is any. */
  #bringBack(): boolean {
    this.#prune();
    const vanished = this.#history.splice(0);
    for (const { object } of vanished) this.#kept.set(object.key, object);
    return vanished.length > 0;
  }

  /** Forgets older removals. */
  #prune(): void {
    const sinceMs = this.#deps.clock() - HISTORY_MS;
    const first = this.#history.findIndex(({ removedMs }) => removedMs >= sinceMs);
    this.#history.splice(0, first === -1 ? this.#history.length : first);
  }

  /** Waits, from the last change on, until the kept objects are no longer served. */
  #startTimer(): void {
    clearTimeout(this.#timer);
    if (this.#isDefined && this.#kept.size > 0) this.#wait(this.#keepMs);
  }

  /** Time in which the source cannot be read does not count. */
  #wait(leftMs: number): void {
    const waitMs = Math.min(leftMs, CHECK_MS);
    this.#timer = setTimeout(() => {
      const isReadable = this.#deps.isReadable();
      if (isReadable && waitMs === leftMs) this.#end();
      else this.#wait(isReadable ? leftMs - waitMs : leftMs);
    }, waitMs);
  }

  #end(): void {
    const fields = { resources: this.#kept.size };
    this.#deps.log.warn("Resources that vanished with their CustomResourceDefinition are not served any more", fields);
    this.#kept.clear();
    this.#deps.changed();
  }
}

/** The names and domains of objects. */
class Claims {
  readonly #keys = new Set<string>();
  /** By domain, the fleets of each object that claims it; undefined means every fleet. */
  readonly #fleets = new Map<string, (readonly string[] | undefined)[]>();

  constructor(objects: readonly StoredObject[]) {
    for (const { key, resource } of objects) {
      this.#keys.add(key);
      if (resource === undefined) continue;
      const { domain, fleets } = resource.resource.spec;
      this.#fleets.set(domain, [...(this.#fleets.get(domain) ?? []), fleets]);
    }
  }

  /** True if one of the objects has this one's name, or its domain in a fleet of both. */
  replace({ key, resource }: StoredObject): boolean {
    if (this.#keys.has(key)) return true;
    if (resource === undefined) return false;
    const { domain, fleets } = resource.resource.spec;
    return this.#fleets.get(domain)?.some((claimed) => hasCommonFleet(claimed, fleets)) === true;
  }
}

function hasCommonFleet(left: readonly string[] | undefined, right: readonly string[] | undefined): boolean {
  return left === undefined || right === undefined || left.some((fleet) => right.includes(fleet));
}
