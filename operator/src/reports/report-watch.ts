// Watches the rollout reports of all control plane replicas: finds these through their Service, follows
// each, and notices which of them are silent.
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";
import { RateLimitedLog } from "@weir/common/log/rate-limited-log";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import type { Rollout } from "@weir/proto/generated/weir/rollout/v1/rollout_pb";

import { changedKeys } from "./changed-keys.ts";
import { type ComparableReports, mergeReports, type ReplicaReport } from "./merge-reports.ts";
import type { MergedReports, ReadyPods } from "./merged-reports.ts";
import { type EndpointOptions, type ReplicaEndpoint, replicaEndpoints } from "./replica-endpoints.ts";
import { followReplica, type ReplicaAccess } from "./replica-stream.ts";

/** How long a replica whose endpoint is ready may not answer until it is silent, in milliseconds. */
const SILENT_MS = 10_000;

/** How often silence is looked for, in milliseconds. */
const CHECK_MS = 500;

/** When this process has done nothing for so long that it was paused itself, in milliseconds. */
const PAUSED_MS = 3000;

/** How long reports are collected before they are merged, in milliseconds. */
const COLLECT_MS = 50;

/** Shortest time between two log lines about one replica, in milliseconds. */
const LOG_INTERVAL_MS = 60_000;

/**
 * Called with `<namespace>/<name>` of the resources of which something else is reported; with undefined
 * when that may be any, also one that no replica knows.
 */
export type ReportListener = (keys: ReadonlySet<string> | undefined) => void;

export interface ReportWatchDeps {
  readonly log: Log;
  /** Milliseconds by a clock that only goes forward. */
  readonly monotonicMs: () => number;
  readonly random: () => number;
  /** The EndpointSlices of the control plane's namespace. */
  readonly slices: {
    list(namespace: string): readonly KubernetesObject[];
    /** Calls `listener` after each change from now on. */
    onChange(listener: () => void): void;
  };
  /** The ready pods of the fleets of which they are known. */
  readonly readyPods: {
    byFleet(): ReadonlyMap<string, ReadyPods>;
    /** Calls `listener` after each change from now on. */
    onChange(listener: () => void): void;
  };
}

/** Which replicas are watched, and how they are reached. */
export interface ReportWatchOptions extends EndpointOptions, ReplicaAccess {
  readonly namespace: string;
}

interface FollowedReplica {
  endpoint: ReplicaEndpoint;
  /** When it last answered, or became one that should. */
  answeredMs: number;
  rollout: Rollout | undefined;
  readonly end: AbortController;
  readonly done: Promise<void>;
}

/** The watch. */
export class ReportWatch implements Part {
  readonly name = "report watch";
  readonly #deps: ReportWatchDeps;
  readonly #options: ReportWatchOptions;
  readonly #log: RateLimitedLog;
  /** By id of the endpoint. */
  readonly #replicas = new Map<string, FollowedReplica>();
  readonly #listeners: ReportListener[] = [];
  #merged: ComparableReports = mergeReports([]);
  #checkTimer: NodeJS.Timeout | undefined;
  #collectTimer: NodeJS.Timeout | undefined;
  /** When it last looked at the clock. */
  #lookedMs = 0;
  /** The states of the replicas at the last merge. */
  #states = "";
  #isRunning = false;

  constructor(deps: ReportWatchDeps, options: ReportWatchOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#log = new RateLimitedLog(deps.log, { intervalMs: LOG_INTERVAL_MS, monotonicMs: deps.monotonicMs });
    deps.slices.onChange(() => {
      if (this.#isRunning) this.#find();
    });
    deps.readyPods.onChange(() => this.#changed());
  }

  start(): void {
    this.#isRunning = true;
    this.#lookedMs = this.#deps.monotonicMs();
    this.#checkTimer = setInterval(() => this.#check(), CHECK_MS);
    this.#find();
    this.#merge();
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    clearInterval(this.#checkTimer);
    clearTimeout(this.#collectTimer);
    const replicas = [...this.#replicas.values()];
    this.#replicas.clear();
    for (const { end } of replicas) end.abort();
    // Their reports say nothing from now on.
    this.#merged = mergeReports([]);
    await Promise.all(replicas.map(({ done }) => done));
  }

  /** Returns the present reports of the replicas, merged. */
  reports(): MergedReports {
    return this.#merged;
  }

  /** Calls `listener` after each change from now on. */
  onChange(listener: ReportListener): void {
    this.#listeners.push(listener);
  }

  #find(): void {
    const nowMs = this.#now();
    const endpoints = replicaEndpoints(this.#deps.slices.list(this.#options.namespace), this.#options);
    for (const [id, replica] of [...this.#replicas]) {
      const endpoint = endpoints.get(id);
      if (endpoint?.address !== replica.endpoint.address) {
        replica.end.abort();
        this.#replicas.delete(id);
        continue;
      }
      if (endpoint.isReady && !replica.endpoint.isReady) replica.answeredMs = Math.max(replica.answeredMs, nowMs);
      replica.endpoint = endpoint;
    }
    for (const endpoint of endpoints.values()) if (!this.#replicas.has(endpoint.id)) this.#follow(endpoint, nowMs);
    this.#changed();
  }

  #follow(endpoint: ReplicaEndpoint, nowMs: number): void {
    const end = new AbortController();
    const { random } = this.#deps;
    const { address, name } = endpoint;
    const listener = {
      answered: (rollout: Rollout | undefined): void => {
        if (end.signal.aborted) return;
        const nowMs = this.#now();
        const wasSilent = this.#stateOf(replica, nowMs) !== "answers";
        replica.answeredMs = nowMs;
        if (rollout !== undefined) replica.rollout = rollout;
        if (rollout !== undefined || wasSilent) this.#changed();
      },
      lost: (reason: string): void => {
        if (end.signal.aborted) return;
        this.#log.warn("Lost the report of a control plane replica", { replica: name, address, reason }, address);
      },
    };
    const replica: FollowedReplica = {
      endpoint,
      answeredMs: nowMs,
      rollout: undefined,
      end,
      done: Promise.resolve().then(() =>
        followReplica(address, this.#options, listener, { signal: end.signal, random }),
      ),
    };
    this.#replicas.set(endpoint.id, replica);
  }

  /** undefined: it does not count. */
  #stateOf({ endpoint, answeredMs, rollout }: FollowedReplica, nowMs: number): ReplicaReport["state"] | undefined {
    const isSilent = nowMs - answeredMs >= SILENT_MS;
    if (!endpoint.isReady) return rollout === undefined || isSilent ? undefined : "answers";
    if (isSilent) return "silent";
    return rollout === undefined ? "awaited" : "answers";
  }

  /** The time. After a pause of this process, what the replicas sent meanwhile is still to be read. */
  #now(): number {
    const nowMs = this.#deps.monotonicMs();
    const pausedMs = nowMs - this.#lookedMs;
    this.#lookedMs = nowMs;
    if (pausedMs > PAUSED_MS) for (const replica of this.#replicas.values()) replica.answeredMs += pausedMs;
    return nowMs;
  }

  #check(): void {
    const nowMs = this.#now();
    const states = [...this.#replicas.values()].map((replica) => this.#stateOf(replica, nowMs)).join();
    if (states !== this.#states) this.#changed();
  }

  #changed(): void {
    if (this.#isRunning) this.#collectTimer ??= setTimeout(() => this.#merge(), COLLECT_MS);
  }

  #merge(): void {
    this.#collectTimer = undefined;
    const nowMs = this.#now();
    const replicas = [...this.#replicas.values()].map((replica) => ({ replica, state: this.#stateOf(replica, nowMs) }));
    this.#states = replicas.map(({ state }) => state).join();
    const before = this.#merged;
    this.#merged = mergeReports(
      replicas.flatMap(({ replica: { endpoint, rollout }, state }) => {
        if (state === undefined) return [];
        const name = rollout === undefined || rollout.replica === "" ? endpoint.name : rollout.replica;
        return { name, state, rollout };
      }),
      this.#deps.readyPods.byFleet(),
    );
    const keys = changedKeys(before, this.#merged);
    if (keys?.size !== 0) for (const listener of this.#listeners) listener(keys);
  }
}
