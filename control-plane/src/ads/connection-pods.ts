// The pods of one connection: those with a discovery stream, and their streams of observations.
import type { StreamingCall, StreamingReceiver } from "@weir/http2/grpc/method";
import { GrpcStatus } from "@weir/http2/grpc/status";

import { ObserveCall, type ObserveCallDeps } from "../observe/observe-call.ts";
import type { PodState } from "../pods/pod-registry.ts";
import type { PodCall } from "./pod-call.ts";

/** Most streams of observations of one connection. A pod needs one, and another while the last one closes. */
const OBSERVATIONS_MAX = 2;

export type ConnectionPodsDeps = Pick<ObserveCallDeps, "hub" | "clock" | "firstMessageMaxMs" | "warnings">;

/** The streams of one connection that belong together. */
export class ConnectionPods {
  readonly #calls = new Set<PodCall>();
  readonly #observations = new Set<ObserveCall>();

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
    });
    this.#observations.add(observation);
    return observation;
  }

  #find(nodeId: string): (() => PodState) | undefined {
    const call = this.#calls.values().find(({ stream }) => stream.pod()?.nodeId === nodeId);
    const state = call?.stream.pod();
    return state === undefined ? undefined : () => call?.stream.pod() ?? state;
  }
}
