// Writes as the leader only: looks at the remaining time of the Lease right before each write, so that
// no write of this replica ends after another one may have begun to write.
import type { ObjectWriter } from "@weir/kubernetes/client/object-client";

import { LeaseLost } from "./lease-lost.ts";

/** The part of an election that the writer asks. */
export interface Leadership {
  /**
   * How long no other replica can take the Lease, in milliseconds; 0 or less when this one is not the
   * leader.
   */
  remainingMs(): number;
}

/**
 * The writes of an ObjectWriter, each of which throws LeaseLost instead when the Lease may end before
 * it does. A write is given up after `writeMaxMs`.
 */
export class LeaderWriter implements ObjectWriter {
  readonly #objects: ObjectWriter;
  readonly #leadership: Leadership;
  readonly #writeMaxMs: number;

  constructor(
    { objects, leadership }: { readonly objects: ObjectWriter; readonly leadership: Leadership },
    { writeMaxMs }: { readonly writeMaxMs: number },
  ) {
    this.#objects = objects;
    this.#leadership = leadership;
    this.#writeMaxMs = writeMaxMs;
  }

  async apply(...[kind, object, options, signal]: Parameters<ObjectWriter["apply"]>) {
    return await this.#objects.apply(kind, object, options, this.#limit(signal));
  }

  async create(...[kind, object, options, signal]: Parameters<ObjectWriter["create"]>) {
    return await this.#objects.create(kind, object, options, this.#limit(signal));
  }

  async update(...[kind, object, options, signal]: Parameters<ObjectWriter["update"]>) {
    return await this.#objects.update(kind, object, options, this.#limit(signal));
  }

  async delete(...[kind, name, options, signal]: Parameters<ObjectWriter["delete"]>) {
    return await this.#objects.delete(kind, name, options, this.#limit(signal));
  }

  /** The signal of a write that begins now; throws LeaseLost when it must not. */
  #limit(signal: AbortSignal): AbortSignal {
    const remainingMs = this.#leadership.remainingMs();
    if (remainingMs <= this.#writeMaxMs) throw new LeaseLost(remainingMs);
    return AbortSignal.any([signal, AbortSignal.timeout(this.#writeMaxMs)]);
  }
}
