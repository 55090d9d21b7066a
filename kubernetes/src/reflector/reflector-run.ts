// Runs one reflector: carries out the actions of reflector.ts with requests and timers, passes the
// objects to a sink and reports its condition.
import { Backoff } from "@weir/common/backoff/backoff";
import type { Log } from "@weir/common/log/log";

import type { ApiClient } from "../client/api-client.ts";
import { ApiFailure, type FailureKind, FORBIDDEN_WAIT_MAX_MS } from "../client/api-failure.ts";
import { type ApiResource, describeResource } from "../client/api-resource.ts";
import type { KubernetesObject } from "../client/kubernetes-object.ts";
import type { ProblemLog } from "./problem-log.ts";
import {
  NEW_REFLECTOR,
  isVersionOlder,
  type ListedPage,
  type ReflectorAction,
  type ReflectorEvent,
  type ReflectorState,
  type ReflectorWait,
  SHORT_WATCH_MS,
  stepReflector,
} from "./reflector.ts";

/**
 * How long the server should let a watch last, in seconds: from this to twice this, so that the
 * watches of many replicas do not end together.
 */
const WATCH_SECONDS = 300;

/**
 * How much earlier than requested a watch may end as planned, in milliseconds: clocks of servers run
 * at slightly different speeds.
 */
const CLOCK_DRIFT_MS = 1000;

/** Stores the objects. Each change returns true if it changed more than versions. */
export interface ObjectSink {
  /** Takes a page of a list. The last one replaces all objects by those of the list. */
  take(page: ListedPage): boolean;
  /** Adds an object or its next version. */
  put(object: KubernetesObject): boolean;
  /** Removes an object. */
  delete(object: KubernetesObject): boolean;
  /** True if it has space for an object that it has left out, which only a list brings. */
  needsList(): boolean;
}

/** How well a reflector follows the server. */
export interface ReflectorCondition {
  /**
   * When the objects were last known to be those of the server, milliseconds since the epoch;
   * undefined before the first full list.
   */
  readonly syncedMs: number | undefined;
  /** Why it cannot follow the server; undefined while it can. */
  readonly problem: string | undefined;
}

/** How long to wait after failures, in milliseconds. */
export interface ReflectorPace {
  readonly backoffInitialMs: number;
  readonly backoffMaxMs: number;
  /**
   * The longest wait while attempts can only succeed after a person has changed something, such as installed the kind.
   * For a right the wait is not longer than `FORBIDDEN_WAIT_MAX_MS`.
   */
  readonly slowMs: number;
}

export interface ReflectorDeps {
  readonly client: Pick<ApiClient, "list" | "watch">;
  readonly sink: ObjectSink;
  /** Called after the sink has changed. */
  readonly changed: () => void;
  readonly log: Log;
  /** May be shared by reflectors. */
  readonly problems: Pick<ProblemLog, "failed" | "following">;
  /** May be shared by reflectors, which add to them. */
  readonly counts: ReflectorCounts;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** From 0 up to but not including 1. */
  readonly random: () => number;
  /** Called after each failure, also those that are not logged. */
  readonly failed?: (failure: ApiFailure) => void;
}

/** Requests that reflectors have sent. */
export interface ReflectorCounts {
  lists: number;
  watches: number;
  /** Requests that failed, by kind. */
  readonly failures: Record<FailureKind, number>;
}

/** The failures of reflectors that have sent nothing yet. */
export const NO_FAILURES: ReflectorCounts["failures"] = {
  unreachable: 0,
  unavailable: 0,
  expired: 0,
  conflict: 0,
  absent: 0,
  forbidden: 0,
  refused: 0,
  unauthorized: 0,
  broken: 0,
  "too-large": 0,
};

/** One reflector, which follows its resource from its construction until it is stopped. */
export class ReflectorRun {
  /** Resolves after the first full list, or when the reflector is stopped before. */
  readonly synced: Promise<void>;
  readonly #deps: ReflectorDeps;
  readonly #resource: ApiResource;
  readonly #backoffs: Readonly<Record<ReflectorWait, Backoff>>;
  readonly #stop = new AbortController();
  readonly #resolveSynced: () => void;
  #state: ReflectorState = NEW_REFLECTOR;
  #syncedMs: number | undefined;
  #problem: string | undefined;
  /** How the last attempt failed; undefined since all was well. */
  #failedBefore: FailureKind | undefined;
  #timer: NodeJS.Timeout | undefined;
  #recoveryTimer: NodeJS.Timeout | undefined;
  #openedMs: number | undefined;

  constructor(deps: ReflectorDeps, resource: ApiResource, pace: ReflectorPace) {
    this.#deps = deps;
    this.#resource = resource;
    const shape = { initialMs: pace.backoffInitialMs, factor: 1, jitter: true, random: deps.random };
    // All begin with short waits: an API server that has just started refuses for a moment what it
    // allows.
    this.#backoffs = {
      "back-off": new Backoff({ ...shape, maxMs: pace.backoffMaxMs }),
      forbidden: new Backoff({ ...shape, maxMs: Math.min(pace.slowMs, FORBIDDEN_WAIT_MAX_MS) }),
      slow: new Backoff({ ...shape, maxMs: pace.slowMs }),
    };
    const { promise, resolve } = Promise.withResolvers<void>();
    this.synced = promise;
    this.#resolveSynced = resolve;
    this.#happened({ kind: "start" });
  }

  /** Ends all requests and waits. */
  stop(): void {
    this.#stop.abort();
    clearTimeout(this.#timer);
    clearTimeout(this.#recoveryTimer);
    this.#resolveSynced();
  }

  /** How well it follows the server at this moment. */
  condition(): ReflectorCondition {
    return { syncedMs: this.#syncedMs, problem: this.#problem };
  }

  #happened(event: ReflectorEvent): void {
    if (this.#stop.signal.aborted) return;
    const { state, actions } = stepReflector(this.#state, event);
    this.#state = state;
    for (const action of actions) this.#carryOut(action);
  }

  #carryOut(action: ReflectorAction): void {
    const { sink } = this.#deps;
    switch (action.kind) {
      case "list":
        void this.#list(action.limit, action.continueToken);
        return;
      case "watch":
        void this.#watch(action.resourceVersion);
        return;
      case "wait":
        this.#wait(action);
        return;
      case "recovered":
        this.#recovered();
        return;
      case "take":
        if (sink.take(action)) this.#deps.changed();
        if (action.isLast) this.#resolveSynced();
        return;
      case "put":
      case "delete":
        if (sink[action.kind](action.object)) this.#deps.changed();
        return;
    }
  }

  /** Rejects only with a programming error. */
  async #list(limit: number, continueToken: string): Promise<void> {
    if (continueToken === "") this.#deps.counts.lists += 1;
    try {
      const page = await this.#deps.client.list(
        { verb: "list", resource: this.#resource },
        { limit, continueToken },
        this.#stop.signal,
      );
      if (page.continueToken === "") this.#syncedMs = this.#deps.clock();
      this.#happened({ kind: "page", page });
    } catch (error) {
      this.#failed(error);
    }
  }

  /** Rejects only with a programming error. */
  async #watch(resourceVersion: string): Promise<void> {
    this.#deps.counts.watches += 1;
    this.#openedMs = undefined;
    const requestedMs = performance.now();
    const timeoutSeconds = Math.round(WATCH_SECONDS * (1 + this.#deps.random()));
    const listener = {
      opened: () => {
        this.#openedMs = performance.now();
        this.#syncedMs = this.#deps.clock();
        this.#problem = undefined;
        this.#recoveryTimer = setTimeout(() => this.#recovered(), SHORT_WATCH_MS);
      },
      event: (event: ReflectorEvent & { readonly kind: "put" | "delete" | "bookmark" }) => {
        this.#checkVersion(event.kind === "bookmark" ? event.resourceVersion : event.object.resourceVersion);
        this.#syncedMs = this.#deps.clock();
        this.#happened(event);
        if (this.#deps.sink.needsList()) throw this.#expired("there is space for an object that was left out");
      },
    };
    try {
      const request = { verb: "watch", resource: this.#resource } as const;
      const end = await this.#deps.client.watch(
        request,
        { resourceVersion, timeoutSeconds },
        listener,
        this.#stop.signal,
      );
      clearTimeout(this.#recoveryTimer);
      if (end === "ended") this.#syncedMs = this.#deps.clock();
      const isDue = end === "ended" && performance.now() - requestedMs >= timeoutSeconds * 1000 - CLOCK_DRIFT_MS;
      this.#happened({ kind: "closed", isDue, livedMs: this.#livedMs() });
    } catch (error) {
      this.#failed(error);
    }
  }

  /**
   * All is well. A successful list or a watch that was just opened is not enough: lists between
   * watches that fail, and watches that are cut immediately, would log a recovery each time.
   */
  #recovered(): void {
    for (const backoff of Object.values(this.#backoffs)) backoff.reset();
    this.#failedBefore = undefined;
    this.#deps.problems.following(describeResource(this.#resource));
  }

  #livedMs(): number {
    return this.#openedMs === undefined ? 0 : performance.now() - this.#openedMs;
  }

  /** Ends a watch whose server went back to an older state. */
  #checkVersion(version: string): void {
    if (this.#state.phase !== "watching" || !isVersionOlder(version, this.#state.resourceVersion)) return;
    throw this.#expired(`the server sent resource version ${version} after ${this.#state.resourceVersion}`);
  }

  #expired(reason: string): ApiFailure {
    return new ApiFailure("expired", { verb: "watch", resource: this.#resource }, reason);
  }

  #failed(error: unknown): void {
    if (this.#stop.signal.aborted) return;
    // Anything else is a programming error, which continuing with half a state would hide.
    if (!(error instanceof ApiFailure)) throw error;
    clearTimeout(this.#recoveryTimer);
    this.#deps.counts.failures[error.kind] += 1;
    this.#happened({ kind: "failed", failure: error.kind, retryAfterMs: error.retryAfterMs, livedMs: this.#livedMs() });
    this.#noteFailure(error);
    this.#deps.failed?.(error);
  }

  #wait({ pace, atLeastMs }: { readonly pace: ReflectorWait; readonly atLeastMs: number }): void {
    const waitMs = this.#backoffs[pace].nextMs();
    this.#deps.log.debug("Waiting for the next attempt", {
      resource: describeResource(this.#resource),
      pace,
      waitMs: Math.round(waitMs),
    });
    this.#timer = setTimeout(() => this.#happened({ kind: "waited" }), Math.max(waitMs, atLeastMs));
  }

  #noteFailure(failure: ApiFailure): void {
    const resource = describeResource(this.#resource);
    if (failure.kind === "expired" || failure.kind === "too-large") {
      // Normal after a break and with many objects: another list is the answer.
      this.#deps.log.debug("Listing again", { resource, reason: failure.message });
      return;
    }
    const before = this.#failedBefore;
    this.#failedBefore = failure.kind;
    this.#problem = failure.message;
    // The first failure means little: a connection that was cut is replaced. An API server that has
    // just started refuses what it allows until it has read its roles, so a first refusal must not
    // ask people to grant them.
    const isInDoubt = before === undefined || (failure.isRefusal && before !== failure.kind);
    if (!isInDoubt || this.#syncedMs === undefined) this.#deps.problems.failed(resource, failure);
  }
}
