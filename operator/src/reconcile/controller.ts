// Connects changes of caches with a reconciler: through a queue, with a bound on what runs at a time.
import type { Part } from "@weir/common/lifecycle/lifecycle";
import { describeError, ServiceError } from "@weir/common/errors/service-error";
import type { Log } from "@weir/common/log/log";
import { RateLimitedLog } from "@weir/common/log/rate-limited-log";
import { timerDelayMs } from "@weir/common/timers/timer-delay";
import { ApiFailure, FORBIDDEN_WAIT_MAX_MS } from "@weir/kubernetes/client/api-failure";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";

import type { ControllerMetricsSet, ControllerMetrics } from "./controller-metrics.ts";
import { MissingRights } from "./missing-rights.ts";
import type { ObjectLookup } from "./object-cache.ts";
import type { ObjectKey, Reconciler } from "./reconciler.ts";
import { WorkQueue } from "./work-queue.ts";

/**
 * Waits after failures of one object, in milliseconds: the first for a cache that is behind, the longest
 * for what a person has to change.
 */
const BACKOFF = { backoffInitialMs: 100, backoffMaxMs: 300_000 };

/** Shortest time between two lines about the same missing right, in milliseconds. */
const FORBIDDEN_LOG_INTERVAL_MS = 60_000;

export interface ControllerDeps {
  readonly log: Log;
  /** Milliseconds by a clock that only goes forward. */
  readonly monotonicMs: () => number;
  /** From 0 up to but not including 1. */
  readonly random: () => number;
  readonly reconciler: Reconciler;
  readonly metrics: Pick<ControllerMetricsSet, "of">;
}

/** How much a controller does at a time, and how often without a change. */
export interface ControllerOptions {
  readonly concurrency: number;
  /** Longest time between two reconciles of an object that exists, in milliseconds. */
  readonly resyncMs: number;
}

/** Objects whose changes concern objects of the controller. */
interface Source {
  readonly objects: ObjectLookup;
  readonly keysOf: (object: KubernetesObject) => Iterable<ObjectKey>;
}

/** Reconciles all objects of a kind from start to stop. It can be started again. */
export class Controller implements Part {
  readonly name: string;
  readonly #deps: ControllerDeps;
  readonly #options: ControllerOptions;
  readonly #metrics: ControllerMetrics;
  readonly #objects: ObjectLookup;
  readonly #sources: Source[] = [];
  readonly #queue: WorkQueue;
  readonly #rights = new MissingRights();
  readonly #forbidden: RateLimitedLog;
  readonly #running = new Set<Promise<void>>();
  /** Set while it runs. */
  #run: AbortController | undefined;
  #timer: NodeJS.Timeout | undefined;
  #turn: NodeJS.Immediate | undefined;

  /** `objects` are those of its kind. */
  constructor(deps: ControllerDeps, objects: ObjectLookup, options: ControllerOptions) {
    const { monotonicMs, random, reconciler } = deps;
    this.name = `controller ${reconciler.name}`;
    this.#deps = deps;
    this.#options = options;
    this.#objects = objects;
    this.#metrics = deps.metrics.of(reconciler.name, { concurrency: options.concurrency, monotonicMs });
    this.#queue = new WorkQueue(this.#metrics, { ...BACKOFF, random });
    this.#metrics.read(this.#queue);
    this.#forbidden = new RateLimitedLog(deps.log, { intervalMs: FORBIDDEN_LOG_INTERVAL_MS, monotonicMs });
    this.follow(objects, (object) => [object]);
  }

  /** Reconciles the objects with these keys when an object of another kind appears, changes or goes. */
  follow(objects: ObjectLookup, keysOf: (object: KubernetesObject) => Iterable<ObjectKey>): void {
    this.#sources.push({ objects, keysOf });
    objects.onChange((before, after) => {
      for (const object of [before, after]) if (object !== undefined) for (const key of keysOf(object)) this.add(key);
    });
  }

  /** Reconciles one object soon. Does nothing while the controller does not run: its start adds all. */
  add({ namespace, name }: ObjectKey): void {
    if (this.#run === undefined) return;
    this.#queue.add({ namespace, name }, this.#deps.monotonicMs());
    this.#continueSoon();
  }

  /** Reconciles all objects soon, also those of which only another kind knows. */
  addAll(): void {
    for (const { objects, keysOf } of this.#sources)
      for (const object of objects.list()) for (const key of keysOf(object)) this.add(key);
  }

  /** Begins with all objects. */
  start(): void {
    this.#run = new AbortController();
    this.addAll();
  }

  /** Aborts what runs, and resolves when it has ended. */
  async stop(): Promise<void> {
    this.#run?.abort();
    this.#run = undefined;
    clearTimeout(this.#timer);
    clearImmediate(this.#turn);
    this.#turn = undefined;
    await Promise.all(this.#running);
    this.#queue.clear();
    this.#rights.clear();
  }

  /** In the next turn of the event loop: work that never waits must not take all of the process. */
  #continueSoon(): void {
    if (this.#run === undefined) return;
    this.#turn ??= setImmediate(() => {
      this.#turn = undefined;
      this.#continue();
    });
  }

  #continue(): void {
    const run = this.#run;
    if (run === undefined) return;
    const { monotonicMs } = this.#deps;
    while (this.#queue.running < this.#options.concurrency) {
      const key = this.#queue.take(monotonicMs());
      if (key === undefined) break;
      const running = this.#reconcile(key, run.signal).finally(() => {
        this.#running.delete(running);
        this.#continueSoon();
      });
      this.#running.add(running);
    }
    clearTimeout(this.#timer);
    const { nextDueMs, running } = this.#queue;
    // The end of what runs continues, too.
    if (nextDueMs === Infinity || running >= this.#options.concurrency) return;
    this.#timer = setTimeout(() => this.#continue(), Math.ceil(timerDelayMs(nextDueMs, monotonicMs())));
  }

  /** Never rejects: an exception stays with its key. */
  async #reconcile(key: ObjectKey, signal: AbortSignal): Promise<void> {
    const { monotonicMs, reconciler } = this.#deps;
    const beganMs = monotonicMs();
    try {
      const { againAfterMs } = await reconciler.reconcile(key, signal);
      const nowMs = monotonicMs();
      this.#metrics.reconciled(againAfterMs === undefined ? "success" : "requeue_after", nowMs - beganMs);
      this.#queue.succeed(key, nowMs, this.#nextMs(key, againAfterMs));
      this.#noteRight(key, undefined);
    } catch (error) {
      const nowMs = monotonicMs();
      const failure = error instanceof ApiFailure ? error : undefined;
      const isAsking = this.#noteRight(key, failure?.kind === "forbidden" ? failure.reason : undefined);
      const atMostMs = isAsking ? FORBIDDEN_WAIT_MAX_MS : Infinity;
      const waitMs = this.#queue.fail(key, nowMs, { atLeastMs: failure?.retryAfterMs ?? 0, atMostMs });
      if (signal.aborted) return; // Work that was ended has not failed.
      this.#metrics.reconciled("error", nowMs - beganMs);
      this.#metrics.failed(failure?.kind ?? "other");
      this.#log(key, error, waitMs);
    }
  }

  /** Notes the right that a reconcile lacked, if any; returns whether the object is to ask for it often. */
  #noteRight(key: ObjectKey, lacked: string | undefined): boolean {
    const { isAsking, released } = this.#rights.note(key, lacked);
    for (const each of released) this.add(each);
    return isAsking;
  }

  /** An object that is gone is not looked at again. The spread keeps objects that came together apart. */
  #nextMs(key: ObjectKey, againAfterMs: number | undefined): number | undefined {
    if (this.#objects.get(key) === undefined) return againAfterMs;
    const resyncMs = this.#options.resyncMs * (0.5 + this.#deps.random() / 2);
    return Math.min(againAfterMs ?? Infinity, resyncMs);
  }

  #log({ namespace, name }: ObjectKey, error: unknown, waitMs: number): void {
    const { log, reconciler } = this.#deps;
    const fields = { controller: reconciler.name, namespace, name, waitMs: Math.round(waitMs), error };
    // The cache was behind: the next attempt begins with the newer object.
    if (error instanceof ApiFailure && error.kind === "conflict") log.debug("Cannot reconcile, trying again", fields);
    else if (error instanceof ApiFailure && error.kind === "forbidden")
      this.#forbidden.warn("Cannot reconcile, trying again", fields, error.reason);
    else if (error instanceof ServiceError) log.warn("Cannot reconcile, trying again", fields);
    else log.error("Unexpected error of a reconcile, trying again", { ...fields, stack: stackOf(error) });
  }
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? describeError(error)) : describeError(error);
}
