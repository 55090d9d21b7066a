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

  async apply(
    ...[kind, object, options, signal]: Parameters<ObjectWriter["apply"]>
  ): ReturnType<ObjectWriter["apply"]> {
    return await this.#limit(signal, (limited) => this.#objects.apply(kind, object, options, limited));
  }

  async create(
    ...[kind, object, options, signal]: Parameters<ObjectWriter["create"]>
  ): ReturnType<ObjectWriter["create"]> {
    return await this.#limit(signal, (limited) => this.#objects.create(kind, object, options, limited));
  }

  async update(
    ...[kind, object, options, signal]: Parameters<ObjectWriter["update"]>
  ): ReturnType<ObjectWriter["update"]> {
    return await this.#limit(signal, (limited) => this.#objects.update(kind, object, options, limited));
  }

  async delete(
    ...[kind, name, options, signal]: Parameters<ObjectWriter["delete"]>
  ): ReturnType<ObjectWriter["delete"]> {
    return await this.#limit(signal, (limited) => this.#objects.delete(kind, name, options, limited));
  }

  /** Begins a write now, and gives it up when it takes too long; throws LeaseLost when it must not begin. */
  async #limit<T>(signal: AbortSignal, write: (limited: AbortSignal) => Promise<T>): Promise<T> {
    const remainingMs = this.#leadership.remainingMs();
    if (remainingMs <= this.#writeMaxMs) throw new LeaseLost(remainingMs);
    // Not AbortSignal.timeout: its timer and its error would outlive each of thousands of writes.
    const late = new AbortController();
    const timer = setTimeout(
      () => late.abort(new DOMException("The write took too long", "TimeoutError")),
      this.#writeMaxMs,
    );
    try {
      return await write(AbortSignal.any([signal, late.signal]));
    } finally {
      clearTimeout(timer);
    }
  }
}
