// The process of all simulated pods, so that they cost the control plane only a share of the machine.
// It gets its orders over its parent's channel and ends with its parent.
import type { DevelopmentCertificates } from "@weir/dev/setup/certificates";
import { tlsOf } from "@weir/harness/ads/scripted-pod";

import { type Arrival, BenchmarkDeltaPod, BenchmarkPod } from "./pod.ts";
import { fleetName } from "./sets.ts";

/** Connections that are being opened at a time: below what a listener queues. */
const OPENING_MAX = 64;

/** A message of the parent. */
export type PodsOrder =
  | {
      readonly kind: "open";
      readonly pods: number;
      readonly ports: readonly number[];
      /** Undefined: plaintext. */
      readonly certificates?: DevelopmentCertificates;
      readonly backoffMs: readonly [number, number];
      readonly windowBytes: number;
      readonly isIncremental?: boolean;
      /** Pods belong to so many fleets in turn; undefined: all to one. */
      readonly fleets?: number;
      /** So many of the pods NACK so many resources each, all different ones, before they ACK. */
      readonly nacks?: { readonly pods: number; readonly resources: number };
    }
  /** Asks for each pod's response of this number, counted from 1, once all pods have it. */
  | { readonly kind: "await"; readonly response: number }
  /** Asks for each pod's last response now. */
  | { readonly kind: "look" };

/** The answer to "await" and "look". */
export interface PodsAnswer {
  /** By pod; a pod without a response is left out. */
  readonly arrivals: readonly Arrival[];
  /** Responses so far, by pod. */
  readonly counts: readonly number[];
}

const pods: (BenchmarkPod | BenchmarkDeltaPod)[] = [];
/** The response that is awaited; undefined: none. */
let awaited: number | undefined;
let wanted = 0;

process.on("message", (order: PodsOrder) => {
  switch (order.kind) {
    case "open":
      openAll(order);
      break;
    case "await":
      awaited = order.response;
      answerAwaited();
      break;
    case "look":
      answer(pods.flatMap(({ arrivals }) => arrivals.at(-1) ?? []));
      break;
  }
});
process.once("disconnect", () => process.exit(0));

function openAll(order: Extract<PodsOrder, { kind: "open" }>): void {
  const { ports, certificates, backoffMs, windowBytes, nacks = { pods: 0, resources: 0 } } = order;
  const options = { backoffMs, windowBytes, ...(certificates && { tls: tlsOf(certificates) }) };
  wanted = order.pods;
  let opened = 0;
  const openNext = (): void => {
    if (opened === wanted) return;
    const number = opened++;
    let isNew = true;
    const count = number < nacks.pods ? nacks.resources : 0;
    const rejects = Array.from({ length: count }, (_, index) => `default/limits-${number * count + index}`);
    const onArrival = (): void => {
      if (isNew) openNext();
      isNew = false;
      answerAwaited();
    };
    const Pod = order.isIncremental === true ? BenchmarkDeltaPod : BenchmarkPod;
    const fleet = order.fleets === undefined ? {} : { fleet: fleetName(number, order.fleets) };
    pods.push(new Pod(number, ports, { ...options, ...fleet, rejects, onArrival }));
  };
  for (let index = 0; index < OPENING_MAX; index++) openNext();
}

function answerAwaited(): void {
  const response = awaited;
  if (response === undefined || pods.length < wanted) return;
  // The last pod to get it is found by looking at all of them; stops at the first that lacks it.
  if (!pods.every(({ arrivals }) => arrivals.length >= response)) return;
  awaited = undefined;
  answer(pods.map(({ arrivals }) => arrivals[response - 1]!));
}

function answer(arrivals: readonly Arrival[]): void {
  process.send!({ arrivals, counts: pods.map((pod) => pod.arrivals.length) } satisfies PodsAnswer);
}
