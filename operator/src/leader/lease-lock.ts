// One attempt to take or renew a Lease, and its release, with requests to the API server.
import { ApiFailure } from "@weir/kubernetes/client/api-failure";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import type { ObjectClient } from "@weir/kubernetes/client/object-client";

import { decide, type Observation, observe } from "./election.ts";
import { leaseObject, LEASES, type LeaseSettings, readLease } from "./lease.ts";

/** How long others must wait after a release, in milliseconds: as client-go writes it. */
const RELEASED_DURATION_MS = 1000;

/** Attempts to write over the newest version: the second one when the Lease has changed or is gone. */
const ROUNDS = 2;

export interface LeaseLockDeps {
  readonly objects: Pick<ObjectClient, "get" | "create" | "update">;
  /** Milliseconds since the epoch; written into the Lease for people. */
  readonly clock: () => number;
  /** Milliseconds by a clock that only goes forward. */
  readonly monotonicMs: () => number;
}

/** Which Lease, and for whom. */
export interface LeaseLockOptions extends Pick<LeaseSettings, "name" | "durationMs"> {
  readonly namespace: string;
  /** Different for each process. */
  readonly identity: string;
}

/** The Lease as one process sees it. */
export class LeaseLock {
  readonly #deps: LeaseLockDeps;
  readonly #options: LeaseLockOptions;
  #observed: Observation | undefined;

  constructor(deps: LeaseLockDeps, options: LeaseLockOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** Identity of the holder, as far as is known; empty: the Lease is free. */
  get holder(): string {
    return this.#observed === undefined ? "" : readLease(this.#observed.object).holder;
  }

  /**
   * Takes or renews the Lease if it may, and resolves with whether it has. Fails with ApiFailure when
   * that is unknown.
   */
  async acquire(signal: AbortSignal): Promise<boolean> {
    const { identity, durationMs } = this.#options;
    // A leader knows the version that it wrote last; a replica that waits must look.
    let current = this.holder === identity ? this.#observed?.object : await this.#read(signal);
    for (let round = 0; round < ROUNDS; round++) {
      const nowMs = this.#deps.monotonicMs();
      if (decide(this.#observed, { identity, durationMs, nowMs }) === "wait") return false;
      const result = await this.#write(current, { holder: identity, durationMs }, signal);
      if (result === "written") return true;
      // A Lease that has changed is read again; one that is gone is made again, with no time lost.
      current = result === "absent" ? undefined : await this.#read(signal);
    }
    return false;
  }

  /** Lets others take the Lease immediately, if this process is the holder. Fails with ApiFailure. */
  async release(signal: AbortSignal): Promise<void> {
    for (let round = 0; round < ROUNDS; round++) {
      const current = await this.#read(signal);
      if (current === undefined || this.holder !== this.#options.identity) return;
      const released = await this.#write(current, { holder: "", durationMs: RELEASED_DURATION_MS }, signal);
      if (released !== "conflict") return;
    }
  }

  async #read(signal: AbortSignal): Promise<KubernetesObject | undefined> {
    const object = await this.#deps.objects.get(LEASES, this.#options, signal);
    this.#observed = observe(this.#observed, object, this.#deps.monotonicMs());
    return object;
  }

  /** Replaces exactly `current`, or makes the Lease; says why not when it is not like that any more. */
  async #write(
    current: KubernetesObject | undefined,
    next: { readonly holder: string; readonly durationMs: number },
    signal: AbortSignal,
  ): Promise<"written" | "conflict" | "absent"> {
    const { objects, clock, monotonicMs } = this.#deps;
    const object = leaseObject(this.#options, current, { ...next, nowMs: clock() });
    try {
      const written =
        current === undefined
          ? await objects.create(LEASES, object, {}, signal)
          : await objects.update(LEASES, object, {}, signal);
      if (written === undefined) return "conflict";
      this.#observed = observe(this.#observed, written, monotonicMs());
      return "written";
    } catch (error) {
      if (error instanceof ApiFailure && (error.kind === "conflict" || error.kind === "absent")) return error.kind;
      throw error;
    }
  }
}
