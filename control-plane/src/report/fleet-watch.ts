// Logs fleet names that are typing errors, as a rule: fleets that resources name and that have no
// pod, and pods that get no resource because of their fleet.
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";
import { RateLimitedLog } from "@weir/common/log/rate-limited-log";
import { timerDelayMs } from "@weir/common/timers/timer-delay";

import { podName } from "../ads/stream/node-identity.ts";
import type { PodRegistry, PodState } from "../pods/pod-registry.ts";
import { podFleetsOf, servedFleets } from "./rollout/fleet-warnings.ts";

/** How long a fleet may have no pod after a resource first names it, in milliseconds. */
const GRACE_MS = 60_000;

/** Shortest time between two lines about pods, in milliseconds: clients cause them. */
const POD_LINE_INTERVAL_MS = 1000;

/** Most names in a line. */
const NAMES_MAX = 20;

/** A resource that is served. */
export interface NamedResource {
  /** `<namespace>/<name>`. */
  readonly key: string;
  /** undefined: every fleet. */
  readonly fleets: readonly string[] | undefined;
}

export interface FleetWatchDeps {
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** The resources that are served, another array after each change; undefined: not read yet. */
  readonly resources: () => readonly NamedResource[] | undefined;
  /** Calls the listener when they may have changed; returns the function that ends this. */
  readonly onChanged: (listener: () => void) => () => void;
  readonly pods: Pick<PodRegistry, "list" | "onChanged">;
}

/** Watches fleets from start on. A fleet that had a pod once is no typing error. */
export class FleetWatch implements Part {
  readonly name = "fleet watch";
  readonly #deps: FleetWatchDeps;
  readonly #podLines: RateLimitedLog;
  /** When the grace of a fleet ends that resources name and that has had no pod. */
  readonly #expected = new Map<string, number>();
  /** The other fleets that resources name: had a pod, or were logged. */
  readonly #settled = new Map<string, "had-pod" | "logged">();
  readonly #unsubscribe: (() => void)[] = [];
  #resources: readonly NamedResource[] | undefined;
  #served: ReadonlySet<string> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: FleetWatchDeps) {
    this.#deps = deps;
    this.#podLines = new RateLimitedLog(deps.log, { intervalMs: POD_LINE_INTERVAL_MS });
  }

  start(): void {
    const { onChanged, pods } = this.#deps;
    this.#unsubscribe.push(
      onChanged(() => this.#read()),
      pods.onChanged(({ kind, pod }) => {
        if (kind === "connected") this.#connected(pod);
      }),
    );
    this.#read();
  }

  stop(): void {
    for (const unsubscribe of this.#unsubscribe.splice(0)) unsubscribe();
    clearTimeout(this.#timer);
  }

  #read(): void {
    const resources = this.#deps.resources();
    if (resources === this.#resources || resources === undefined) return;
    this.#resources = resources;
    const pods = new Map(this.#deps.pods.list().map((pod) => [pod.fleet, pod]));
    const before = this.#served;
    this.#served = servedFleets(resources);
    for (const pod of pods.values()) if (before?.has(pod.fleet) !== false) this.#warnUnserved(pod);
    const named = new Set(resources.flatMap(({ fleets }) => fleets ?? []));
    for (const known of [this.#expected, this.#settled])
      for (const fleet of [...known.keys()]) if (!named.has(fleet)) known.delete(fleet);
    for (const fleet of named) {
      if (this.#settled.has(fleet) || this.#expected.has(fleet)) continue;
      if (pods.has(fleet)) this.#settled.set(fleet, "had-pod");
      else this.#expected.set(fleet, this.#deps.clock() + GRACE_MS);
    }
    this.#schedule();
  }

  #connected(pod: PodState): void {
    const { fleet } = pod;
    if (this.#settled.get(fleet) === "logged") this.#deps.log.warn("A pod of the fleet is connected", { fleet });
    if (this.#expected.delete(fleet) || this.#settled.has(fleet)) this.#settled.set(fleet, "had-pod");
    this.#warnUnserved(pod);
  }

  #warnUnserved(pod: PodState): void {
    const { fleet } = pod;
    const served = this.#served;
    if (served === undefined || served.has(fleet)) return;
    this.#podLines.warn("A pod gets no resource, no valid resource names its fleet", {
      pod: podName(pod, pod.peer),
      fleet,
      fleets: firstOf([...served]),
    });
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    if (this.#expected.size === 0) return;
    const dueMs = Math.min(...this.#expected.values());
    this.#timer = setTimeout(() => this.#check(), timerDelayMs(dueMs, this.#deps.clock())).unref();
  }

  #check(): void {
    const nowMs = this.#deps.clock();
    const podFleets = podFleetsOf(this.#deps.pods.list());
    const late = [...this.#expected].filter(([, dueMs]) => dueMs <= nowMs).map(([fleet]) => fleet);
    for (const fleet of late) {
      // Without any pod there is nothing to compare with, and the report says so.
      if (podFleets.size === 0) this.#expected.set(fleet, nowMs + GRACE_MS);
      else if (this.#expected.delete(fleet)) this.#settled.set(fleet, "logged");
    }
    if (podFleets.size > 0 && late.length > 0) {
      const names = new Set(late);
      const resources = (this.#resources ?? []).filter(({ fleets }) => fleets?.some((fleet) => names.has(fleet)));
      this.#deps.log.warn("Resources name fleets of which no pod is connected to this replica", {
        fleets: firstOf(late),
        resources: firstOf(resources.map(({ key }) => key)),
        fleetsWithPods: firstOf([...podFleets]),
      });
    }
    this.#schedule();
  }
}

function firstOf(names: readonly string[]): readonly string[] {
  return names.toSorted().slice(0, NAMES_MAX);
}
