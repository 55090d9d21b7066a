// A store of one Lease as an API server has it, for tests: versions, conflicts, and answers that are late
// or lost.
import { ApiFailure } from "@weir/kubernetes/client/api-failure";
import { resourceOf } from "@weir/kubernetes/client/api-resource";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import type { ObjectClient, WrittenObject } from "@weir/kubernetes/client/object-client";

import { LEASES } from "./lease.ts";

/** How requests of a client go, each number in milliseconds. */
export interface Network {
  /** True while requests and answers are lost. */
  isCut: boolean;
  /** Until the server has the request, and until the client has the answer. */
  requestMs: number;
  answerMs: number;
}

/** The server. */
export class FakeLeaseServer {
  #lease: KubernetesObject | undefined;
  #version = 0;
  #uid = 0;

  /** The spec of the Lease; undefined when there is none. */
  get spec(): Readonly<Record<string, unknown>> | undefined {
    return this.#lease?.content["spec"] as Readonly<Record<string, unknown>> | undefined;
  }

  /** Deletes the Lease. */
  delete(): void {
    this.#lease = undefined;
  }

  /** Stores a Lease as another program would. */
  put(spec: Readonly<Record<string, unknown>>): void {
    this.#store({ metadata: {}, spec });
  }

  client(network: Network): Pick<ObjectClient, "get" | "create" | "update"> {
    const exchange = async <T>(signal: AbortSignal, act: () => T): Promise<T> => {
      try {
        await wait(network.requestMs, signal);
        if (network.isCut) await wait(Infinity, signal);
        const answer = act();
        await wait(network.answerMs, signal);
        if (network.isCut) await wait(Infinity, signal);
        return answer;
      } catch (error) {
        throw error instanceof ApiFailure ? error : failureOf("unreachable");
      }
    };
    return {
      get: async (_kind, _name, signal) => await exchange(signal, () => this.#lease),
      create: async (_kind, object, _options, signal) =>
        await exchange(signal, () => (this.#lease === undefined ? this.#store(object) : undefined)),
      update: async (_kind, object, _options, signal) => await exchange(signal, () => this.#update(object)),
    };
  }

  #update(object: WrittenObject): KubernetesObject {
    const before = this.#lease;
    if (before === undefined) throw failureOf("absent");
    if (object.metadata.resourceVersion !== before.resourceVersion) throw failureOf("conflict");
    return this.#store(object);
  }

  #store(object: Readonly<Record<string, unknown>>): KubernetesObject {
    if (this.#lease === undefined) this.#uid += 1;
    const resourceVersion = String(++this.#version);
    const metadata = { name: "lease", namespace: "system", uid: String(this.#uid), resourceVersion };
    const content = { ...object, metadata };
    this.#lease = { ...metadata, generation: undefined, content };
    return this.#lease;
  }
}

function failureOf(kind: "unreachable" | "absent" | "conflict"): ApiFailure {
  return new ApiFailure(kind, { verb: "update", resource: resourceOf(LEASES, "system") }, "as the test wants it");
}

/** Waits, with timers that tests replace; rejects when the signal is aborted before. */
async function wait(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = ms < Infinity ? setTimeout(resolve, ms) : undefined;
  const abort = (): void => reject(new Error("aborted"));
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
  }
}
