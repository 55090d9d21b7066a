// The rollout as a feed: the state at a moment, and again whenever it has changed. Whoever watches is given the latest state when it is ready for one;
// nothing queues up for a slow watcher. It knows no transport.
import { createHash } from "node:crypto";

import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Rollout } from "@weir/proto/generated/weir/rollout/v1/rollout_pb";

import { ReportError } from "./report-error.ts";
import { rolloutMessage } from "./rollout-message.ts";
import type { RolloutFilter, RolloutReport } from "./rollout-report.ts";

/** Least time between two states for one watcher, in milliseconds: changes that come closer together are told once. */
const INTERVAL_MIN_MS = 100;

/**
 * After a look that took some time, none follows for so many times as long, and no longer than that, in milliseconds: with thousands of resources and pods
 * watchers are told less often, so that those who only watch do not keep pods from what they are sent. To put a state into bytes takes half as long as the
 * look, for each watcher.
 */
const REST_FACTOR = 9;
const BYTES_SHARE = 0.5;
const REST_MAX_MS = 10_000;

/** Most watchers at a time, over all transports. */
const WATCHERS_MAX = 128;

/** Most filters whose state is kept for the next watcher with the same one. */
const LOOKS_MAX = 16;

/** The feed; a part that is stopped before the listeners, so that watchers hear why they are left. */
export interface RolloutFeed extends Part {
  /** The state at this moment. */
  get(filter: RolloutFilter): Rollout;
  /**
   * The state at once, and after each change that the filter lets through. Ends when the signal aborts; fails with SHUTTING_DOWN when the feed stops, and at
   * the first step with WATCHERS_EXCEEDED when there are too many.
   */
  watch(filter: RolloutFilter, signal: AbortSignal): AsyncIterable<Rollout>;
  /** Something may have changed. */
  changed(): void;
  /** How many watch. */
  watchers(): number;
  start(): void;
  stop(): void;
}

/** What the feed works with. `clock` gives milliseconds. */
export interface RolloutFeedDeps {
  readonly report: (filter: RolloutFilter) => RolloutReport;
  readonly clock: () => number;
}

/** Bounds of a feed. */
export interface RolloutFeedOptions {
  readonly intervalMinMs?: number;
  readonly watchersMax?: number;
}

/** Makes a feed. */
export function createRolloutFeed(deps: RolloutFeedDeps, options: RolloutFeedOptions = {}): RolloutFeed {
  return new ReportingFeed(deps, options);
}

/** The state as it was found, shared by all who watch with the same filter. */
interface Look {
  readonly revision: number;
  readonly atMs: number;
  readonly rollout: Rollout;
  /** Hash of what makes two states differ. */
  readonly content: string;
}

class ReportingFeed implements RolloutFeed {
  readonly name = "rollout feed";
  readonly #deps: RolloutFeedDeps;
  readonly #intervalMinMs: number;
  readonly #watchersMax: number;
  readonly #stopping = new AbortController();
  readonly #looks = new Map<string, Look>();
  /** Those that wait for a change. */
  readonly #waiting = new Set<() => void>();
  #watchers = 0;
  /** Counts changes. */
  #revision = 0;
  /** Until when there is no further look, for whatever filter. */
  #restUntilMs = -Infinity;

  constructor(deps: RolloutFeedDeps, { intervalMinMs = INTERVAL_MIN_MS, watchersMax = WATCHERS_MAX }: RolloutFeedOptions) {
    this.#deps = deps;
    this.#intervalMinMs = intervalMinMs;
    this.#watchersMax = watchersMax;
  }

  start(): void {
    // It works from the beginning: there is nothing to wait for.
  }

  stop(): void {
    this.#stopping.abort();
  }

  changed(): void {
    this.#revision += 1;
    for (const wake of [...this.#waiting]) wake();
  }

  watchers(): number {
    return this.#watchers;
  }

  get(filter: RolloutFilter): Rollout {
    return rolloutMessage(this.#deps.report(filter));
  }

  async *watch(filter: RolloutFilter, signal: AbortSignal): AsyncGenerator<Rollout, void, undefined> {
    this.#refuseWhenStopping();
    if (this.#watchers >= this.#watchersMax) {
      const message = `Cannot watch the rollout: this replica has ${this.#watchersMax} watchers already`;
      throw new ReportError("WATCHERS_EXCEEDED", message, { transient: true });
    }
    this.#watchers += 1;
    try {
      yield* this.#follow(filter, AbortSignal.any([signal, this.#stopping.signal]));
    } finally {
      this.#watchers -= 1;
    }
    if (!signal.aborted) this.#refuseWhenStopping();
  }

  async *#follow(filter: RolloutFilter, ended: AbortSignal): AsyncGenerator<Rollout, void, undefined> {
    let told: string | undefined;
    while (!ended.aborted) {
      const { revision, rollout, content } = this.#look(filter);
      if (content !== told) {
        told = content;
        yield rollout;
      }
      await pause(this.#intervalMinMs, ended);
      if (this.#revision === revision) await this.#change(ended);
    }
  }

  /** The state now, or a moment ago if somebody has just looked: many watchers cost no more than one. */
  #look(filter: RolloutFilter): Look {
    const key = JSON.stringify([filter.fleet, filter.namespace, filter.name]);
    const nowMs = this.#deps.clock();
    const known = this.#looks.get(key);
    if (known !== undefined && (known.revision === this.#revision || this.#isTooSoon(known, nowMs))) return known;
    const report = this.#deps.report(filter);
    const look = { revision: this.#revision, atMs: nowMs, rollout: rolloutMessage(report), content: hashOf(report) };
    if (this.#looks.size >= LOOKS_MAX) this.#looks.clear();
    this.#looks.set(key, look);
    const endedMs = this.#deps.clock();
    const costMs = Math.max(0, endedMs - nowMs) * (1 + this.#watchers * BYTES_SHARE);
    this.#restUntilMs = endedMs + Math.min(REST_MAX_MS, costMs * REST_FACTOR);
    return look;
  }

  /** A clock that is set back does not make the rest longer than it can be. */
  #isTooSoon(known: Look, nowMs: number): boolean {
    const restMs = this.#restUntilMs - nowMs;
    return Math.abs(nowMs - known.atMs) < this.#intervalMinMs || (restMs > 0 && restMs <= REST_MAX_MS);
  }

  async #change(ended: AbortSignal): Promise<void> {
    if (ended.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = (): void => resolve();
    this.#waiting.add(wake);
    ended.addEventListener("abort", wake, { once: true });
    await promise;
    this.#waiting.delete(wake);
    ended.removeEventListener("abort", wake);
  }

  #refuseWhenStopping(): void {
    if (!this.#stopping.signal.aborted) return;
    throw new ReportError("SHUTTING_DOWN", "Cannot watch the rollout: the control plane is shutting down, connect again", {
      transient: true,
    });
  }
}

/** Everything but the times that pass by themselves. */
function hashOf({ ready, notReady, source, fleets, resources, refusals, pods }: RolloutReport): string {
  const content = JSON.stringify([ready, notReady, source.location, source.error, fleets, resources, refusals, pods]);
  return createHash("sha256").update(content).digest("base64");
}

/** Resolves after the time, or when the signal aborts. */
async function pause(ms: number, ended: AbortSignal): Promise<void> {
  if (ended.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const onAbort = (): void => resolve();
  const timer = setTimeout(resolve, ms);
  ended.addEventListener("abort", onAbort, { once: true });
  await promise;
  clearTimeout(timer);
  ended.removeEventListener("abort", onAbort);
}
