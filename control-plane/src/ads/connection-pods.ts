// The pods of one connection: those with a discovery stream, and their streams of observations.
import type { StreamingCall, StreamingReceiver } from "@weir/http2/grpc/method";
import { GrpcStatus } from "@weir/http2/grpc/status";

import { ObserveCall, type ObserveCallDeps } from "../observe/observe-call.ts";
import type { PodState } from "../pods/pod-registry.ts";
import type { PodCall } from "./pod-call.ts";

/** Most streams of observations of one connection. A pod needs one, and another while the last one closes. */
const OBSERVATIONS_MAX = 2;

/**
 * Bytes of observations that a connection may send in ten seconds: several times the past and what a pod counts of
 * 500 rules and the keys of 32, about 1 MiB each. A message costs at least so much of it, in bytes.
 */
const BUDGET_BYTES = 32 * 1024 * 1024;
const BUDGET_SECONDS = 10;
const MESSAGE_MIN_COST_BYTES = 64 * 1024;

export interface ConnectionPodsDeps extends Pick<ObserveCallDeps, "hub" | "firstMessageMaxMs" | "warnings"> {
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

/** The streams of one connection that belong together. */
export class ConnectionPods {
  readonly #calls = new Set<PodCall>();
  readonly #observations = new Set<ObserveCall>();
  /** The present ten seconds, and what is spent of their budget. */
  #period = 0;
  #spentBytes = 0;

  add(call: PodCall): void {
    this.#calls.add(call);
  }

  /** A discovery stream is closed. With the last one observations end: the fleet is that of the discovery stream. */
  remove(call: PodCall): void {
    this.#calls.delete(call);
    if (this.#calls.size > 0) return;
    for (const each of this.#observations) each.end(GrpcStatus.UNAVAILABLE, "the discovery stream has ended");
  }

  /** Takes a stream of observations. */
  observe(call: StreamingCall, deps: ConnectionPodsDeps): StreamingReceiver | undefined {
    if (this.#observations.size >= OBSERVATIONS_MAX) return undefined;
    const observation = new ObserveCall(call, {
      ...deps,
      findPod: (nodeId) => this.#find(nodeId),
      closed: (closed) => this.#observations.delete(closed),
      spend: (bytes) => this.#spend(bytes, deps.clock()),
    });
    this.#observations.add(observation);
    return observation;
  }

  #spend(bytes: number, nowMs: number): string | undefined {
    const period = Math.floor(nowMs / 1000 / BUDGET_SECONDS);
    if (period !== this.#period) this.#spentBytes = 0;
    this.#period = period;
    this.#spentBytes += Math.max(bytes, MESSAGE_MIN_COST_BYTES);
    return this.#spentBytes > BUDGET_BYTES
      ? `more than ${BUDGET_BYTES} bytes have come in ${BUDGET_SECONDS} s`
      : undefined;
  }

  #find(nodeId: string): (() => PodState) | undefined {
    const call = this.#calls.values().find(({ stream }) => stream.pod()?.nodeId === nodeId);
    const state = call?.stream.pod();
    return state === undefined ? undefined : () => call?.stream.pod() ?? state;
  }
}
