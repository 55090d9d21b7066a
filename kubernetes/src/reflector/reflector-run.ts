// One reflector at work: obeys reflector.ts with requests and timers, keeps the objects in its
// sink, and tells how it goes. Decides nothing itself.
import { type Backoff, createBackoff } from "@weir/common/backoff/backoff";
import type { Log } from "@weir/common/log/log";

import type { ApiClient } from "../api-client.ts";
import { ApiFailure, type FailureKind } from "../api-failure.ts";
import { type ApiResource, describeResource } from "../api-resource.ts";
import type { KubernetesObject } from "../kubernetes-object.ts";
import type { ProblemLog } from "../problem-log.ts";
import {
  NEW_REFLECTOR,
  type ReflectorAction,
  type ReflectorEvent,
  type ReflectorState,
  SHORT_WATCH_MS,
  stepReflector,
} from "./reflector.ts";

/**
 * Most objects that are kept: beyond it the whole would not fit into any snapshot, and memory must
 * have an end.
 */
const OBJECTS_MAX = 100_000;

/**
 * How long the server should let a watch last, in seconds: from this to twice this, so that watches
 * of many replicas do not end together.
 */
const WATCH_SECONDS = 300;

/** Where objects are kept. */
export interface ObjectSink {
  /** How many there are. */
  size(): number;
  /** These are all. */
  replace(objects: readonly KubernetesObject[]): void;
  /** This one is new or has changed. */
  put(object: KubernetesObject): void;
  /** This one is gone. */
  delete(object: KubernetesObject): void;
}

/** How a reflector gets on. */
export interface ReflectorCondition {
  /** True from the first full list on. */
  readonly isSynced: boolean;
  /** When the objects were last known to be those of the server, milliseconds since the epoch. */
  readonly syncedMs: number | undefined;
  /** What keeps it from following the server; undefined while nothing does. */
  readonly problem: string | undefined;
}

/** How long to wait after failures, in milliseconds. */
export interface ReflectorPace {
  readonly backoffInitialMs: number;
  readonly backoffMaxMs: number;
  /**
   * The longest wait, instead of `backoffMaxMs`, while attempts can only succeed when somebody
   * changes something.
   */
  readonly slowMs: number;
}

/** What a reflector works with. */
export interface ReflectorDeps {
  readonly client: ApiClient;
  readonly sink: ObjectSink;
  readonly log: Log;
  /** Shared by all reflectors of a source. */
  readonly problems: ProblemLog;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** From 0 up to but not including 1. */
  readonly random: () => number;
  readonly counters: ReflectorCounters;
}

/** Hears what is counted. */
export interface ReflectorCounters {
  /** A list has begun. */
  listed(): void;
  /** A watch has begun. */
  watched(): void;
  /** A request has failed. */
  failed(kind: FailureKind): void;
}

/** A reflector that was started. */
export interface RunningReflector {
  /** Resolves when the first full list is in, and when it was stopped before. */
  readonly synced: Promise<void>;
  /** How it gets on at this moment. */
  condition(): ReflectorCondition;
  stop(): void;
}

/** Starts following. */
export function runReflector(deps: ReflectorDeps, resource: ApiResource, pace: ReflectorPace): RunningReflector {
  const run = new ReflectorRun(deps, resource, pace);
  run.start();
  return run;
}

class ReflectorRun implements RunningReflector {
  readonly synced: Promise<void>;
  readonly #deps: ReflectorDeps;
  readonly #resource: ApiResource;
  readonly #backoffs: Readonly<Record<"back-off" | "slow", Backoff>>;
  readonly #stop = new AbortController();
  readonly #resolveSynced: () => void;
  #state: ReflectorState = NEW_REFLECTOR;
  #isSynced = false;
  #syncedMs: number | undefined;
  #problem: string | undefined;
  /** How the last attempt failed; undefined since all was well. */
  #failedBefore: FailureKind | undefined;
  #timer: NodeJS.Timeout | undefined;
  #calmTimer: NodeJS.Timeout | undefined;
  #openedMs: number | undefined;

  constructor(deps: ReflectorDeps, resource: ApiResource, pace: ReflectorPace) {
    this.#deps = deps;
    this.#resource = resource;
    const shape = { initialMs: pace.backoffInitialMs, factor: 1, jitter: true, random: deps.random };
    // Both begin with short waits: an API server that has just started refuses for a moment what it
    // allows.
    this.#backoffs = {
      "back-off": createBackoff({ ...shape, maxMs: pace.backoffMaxMs }),
      slow: createBackoff({ ...shape, maxMs: pace.slowMs }),
    };
    const { promise, resolve } = Promise.withResolvers<void>();
    this.synced = promise;
    this.#resolveSynced = resolve;
  }

  start(): void {
    this.#happened({ kind: "start" });
  }

  stop(): void {
    this.#stop.abort();
    clearTimeout(this.#timer);
    clearTimeout(this.#calmTimer);
    this.#resolveSynced();
  }

  condition(): ReflectorCondition {
    return { isSynced: this.#isSynced, syncedMs: this.#syncedMs, problem: this.#problem };
  }

  #happened(event: ReflectorEvent): void {
    if (this.#stop.signal.aborted) return;
    const { state, actions } = stepReflector(this.#state, event);
    this.#state = state;
    for (const action of actions) this.#obey(action);
  }

  #obey(action: ReflectorAction): void {
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
      case "calm":
        this.#calm();
        return;
      case "replace":
        this.#deps.sink.replace(action.objects);
        this.#isSynced = true;
        this.#resolveSynced();
        return;
      case "put":
        this.#deps.sink.put(action.object);
        return;
      case "delete":
        this.#deps.sink.delete(action.object);
        return;
    }
  }

  /** Rejects only with a fault of this program. */
  async #list(limit: number, continueToken: string): Promise<void> {
    if (continueToken === "") this.#deps.counters.listed();
    try {
      const page = await this.#deps.client.list(
        { verb: "list", resource: this.#resource },
        { limit, continueToken },
        this.#stop.signal,
      );
      const listed = this.#state.phase === "listing" ? this.#state.objects.length : 0;
      this.#checkSize(listed + page.objects.length);
      if (page.continueToken === "") this.#syncedMs = this.#deps.clock();
      this.#happened({ kind: "page", page });
    } catch (error) {
      this.#failed(error);
    }
  }

  /** Rejects only with a fault of this program. */
  async #watch(resourceVersion: string): Promise<void> {
    this.#deps.counters.watched();
    this.#openedMs = undefined;
    const timeoutSeconds = Math.round(WATCH_SECONDS * (1 + this.#deps.random()));
    const listener = {
      opened: () => {
        this.#openedMs = this.#syncedMs = this.#deps.clock();
        this.#problem = undefined;
        this.#calmTimer = setTimeout(() => this.#calm(), SHORT_WATCH_MS);
      },
      event: (event: ReflectorEvent & { readonly kind: "put" | "delete" | "bookmark" }) => {
        if (event.kind === "put") this.#checkSize(this.#deps.sink.size());
        this.#syncedMs = this.#deps.clock();
        this.#happened(event);
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
      clearTimeout(this.#calmTimer);
      if (end === "ended") this.#syncedMs = this.#deps.clock();
      this.#happened({ kind: "closed", livedMs: this.#livedMs() });
    } catch (error) {
      this.#failed(error);
    }
  }

  /**
   * All is well. A list is not enough, nor is a watch that was just opened: lists that succeed
   * between watches that do not, and watches that are cut at once, would tell of an end of the
   * problem each time.
   */
  #calm(): void {
    for (const backoff of Object.values(this.#backoffs)) backoff.reset();
    this.#failedBefore = undefined;
    this.#deps.problems.following(describeResource(this.#resource));
  }

  #livedMs(): number {
    return this.#openedMs === undefined ? 0 : this.#deps.clock() - this.#openedMs;
  }

  #checkSize(size: number): void {
    if (size <= OBJECTS_MAX) return;
    throw new ApiFailure("refused", { verb: "list", resource: this.#resource }, `there are more than ${OBJECTS_MAX}`);
  }

  #failed(error: unknown): void {
    if (this.#stop.signal.aborted) return;
    // Anything else is a fault of this program, and going on with half a state would hide it.
    if (!(error instanceof ApiFailure)) throw error;
    clearTimeout(this.#calmTimer);
    this.#deps.counters.failed(error.kind);
    this.#happened({ kind: "failed", failure: error.kind, retryAfterMs: error.retryAfterMs, livedMs: this.#livedMs() });
    this.#noteFailure(error);
  }

  #wait({ pace, atLeastMs }: { readonly pace: "back-off" | "slow"; readonly atLeastMs: number }): void {
    const waitMs = this.#backoffs[pace].nextMs();
    this.#deps.log.debug("waiting for the next attempt", {
      resource: describeResource(this.#resource),
      pace,
      waitMs: Math.round(waitMs),
    });
    this.#timer = setTimeout(() => this.#happened({ kind: "waited" }), Math.max(waitMs, atLeastMs));
  }

  #noteFailure(failure: ApiFailure): void {
    const resource = describeResource(this.#resource);
    if (failure.kind === "expired" || failure.kind === "too-large") {
      // Matters of course, after a break and with much to list: another list is the answer.
      this.#deps.log.debug("Listing again", { resource, reason: failure.message });
      return;
    }
    const before = this.#failedBefore;
    this.#failedBefore = failure.kind;
    this.#problem = failure.message;
    // The first one means little: a connection that was cut is made anew. An API server that has
    // just started refuses what it allows until it has read its roles, and nobody should grant them
    // for that.
    const isInDoubt = before === undefined || (failure.kind === "refused" && before !== "refused");
    if (!isInDoubt || !this.#isSynced) this.#deps.problems.failed(resource, failure);
  }
}
