// The rollout as a feed: the state now, and the latest one after changes. Nothing queues up for a slow
// watcher.
import { createHash } from "node:crypto";

import type { Part } from "@weir/common/lifecycle/lifecycle";
import { timerDelayMs } from "@weir/common/timers/timer-delay";
import type { Rollout } from "@weir/proto/generated/weir/rollout/v1/rollout_pb";

import { ReportError } from "../report-error.ts";
import { rolloutMessage } from "./rollout-message.ts";
import type { RolloutFilter, RolloutReport } from "./rollout-report.ts";

/** Least time between two states of a watcher, in milliseconds: closer changes are one. */
const INTERVAL_MIN_MS = 250;

/**
 * The time between states as a multiple of the time that all reports took, and its maximum in
 * milliseconds: with thousands of resources and pods, watchers get fewer states, so that reports do
 * not delay pods.
 */
const COST_FACTOR = 9;
const INTERVAL_MAX_MS = 10_000;

/**
 * How long a change waits for others before a state is made of them, in milliseconds: as long as reports take,
 * within these bounds. Pods answer a new snapshot together; a state before that says nothing that lasts, and the
 * next one has to wait for its interval.
 */
const QUIET_MS = { min: 50, max: 100 } as const;

/** When an unchanged state is sent again, in milliseconds: proxies cut idle streams. */
const REPEAT_MS = 25_000;

/** Shortest time after which a watcher can ask for a heartbeat, in milliseconds. */
const HEARTBEAT_MIN_MS = 1000;

/** Most watchers at a time, over all transports. */
const WATCHERS_MAX = 128;

/** The dependencies of the feed. `clock` gives milliseconds. */
export interface RolloutFeedDeps {
  readonly report: (filter: RolloutFilter) => RolloutReport;
  readonly clock: () => number;
}

/** The watchers with one filter. */
interface Subscribers {
  readonly filter: RolloutFilter;
  watchers: number;
  latest: LatestState;
  /** Called with the next state that differs. */
  readonly waiting: Set<() => void>;
}

/** A state and the hash of what makes two states differ. */
interface LatestState {
  readonly rollout: Rollout;
  readonly content: string;
}

/** The feed; a part that stops before the listeners, so that watchers get the reason. */
export class RolloutFeed implements Part {
  readonly name = "rollout feed";
  readonly #deps: RolloutFeedDeps;
  readonly #stopping = new AbortController();
  /** By filter; there are no more of them than watchers. */
  readonly #subscribers = new Map<string, Subscribers>();
  #watchers = 0;
  /** When the next reports may be made. */
  #nextMs = -Infinity;
  /** How long all reports took last time, in milliseconds. */
  #tookMs = 0;
  /** When the first change came that no report has. */
  #changedMs: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #changes = 0;

  constructor(deps: RolloutFeedDeps) {
    this.#deps = deps;
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#stopping.abort();
  }

  /** How many times something may have changed. */
  get changes(): number {
    return this.#changes;
  }

  /** Something may have changed. */
  changed(): void {
    this.#changes += 1;
    if (this.#subscribers.size === 0 || this.#stopping.signal.aborted) return;
    const nowMs = this.#deps.clock();
    // A clock that is set back must not delay a state.
    this.#changedMs = Math.min(this.#changedMs ?? nowMs, nowMs);
    const quietMs = Math.min(Math.max(this.#tookMs, QUIET_MS.min), QUIET_MS.max);
    const quietAtMs = Math.min(nowMs + quietMs, this.#changedMs + INTERVAL_MIN_MS);
    const dueMs = Math.min(Math.max(this.#nextMs, quietAtMs), this.#changedMs + INTERVAL_MAX_MS);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#update(), timerDelayMs(dueMs, nowMs));
  }

  watchers(): number {
    return this.#watchers;
  }

  /** The state now. */
  get(filter: RolloutFilter): Rollout {
    return rolloutMessage(this.#deps.report(filter));
  }

  /**
   * The state now, the latest after changes that pass the filter, and when nothing has changed for a
   * while the same again; with a `heartbeatMs` above 0, undefined after each such time instead. Ends when the signal aborts; fails with SHUTTING_DOWN when the feed stops, and
   * at the first step with WATCHERS_EXCEEDED when there are too many.
   */
  async *watch(
    filter: RolloutFilter,
    signal: AbortSignal,
    heartbeatMs = 0,
  ): AsyncGenerator<Rollout | undefined, void, undefined> {
    this.#refuseWhenStopping();
    if (this.#watchers >= WATCHERS_MAX) {
      const message = `Cannot watch the rollout: this replica has ${WATCHERS_MAX} watchers already`;
      throw new ReportError("WATCHERS_EXCEEDED", message, { transient: true });
    }
    const key = JSON.stringify([filter.fleet, filter.namespace, filter.name, filter.settledDigests]);
    const subscribers = this.#subscribers.getOrInsertComputed(key, () => ({
      filter,
      watchers: 0,
      latest: this.#report(filter),
      waiting: new Set(),
    }));
    subscribers.watchers += 1;
    this.#watchers += 1;
    try {
      const ended = AbortSignal.any([signal, this.#stopping.signal]);
      const repeatMs = heartbeatMs === 0 ? REPEAT_MS : Math.max(heartbeatMs, HEARTBEAT_MIN_MS);
      let sent: LatestState | undefined;
      while (!ended.aborted) {
        const { latest } = subscribers;
        yield heartbeatMs > 0 && latest === sent ? undefined : latest.rollout;
        sent = latest;
        if (subscribers.latest === latest) await nextOf(subscribers, repeatMs, ended);
      }
    } finally {
      this.#watchers -= 1;
      subscribers.watchers -= 1;
      if (subscribers.watchers === 0) this.#subscribers.delete(key);
    }
    if (!signal.aborted) this.#refuseWhenStopping();
  }

  /** Makes the reports of all watchers; those that differ are sent. */
  #update(): void {
    this.#changedMs = undefined;
    const startedMs = this.#deps.clock();
    for (const subscribers of this.#subscribers.values()) {
      const latest = this.#report(subscribers.filter);
      if (latest.content === subscribers.latest.content) continue;
      subscribers.latest = latest;
      for (const done of subscribers.waiting) done();
    }
    const endedMs = this.#deps.clock();
    this.#tookMs = endedMs - startedMs;
    const intervalMs = Math.max(INTERVAL_MIN_MS, this.#tookMs * COST_FACTOR);
    this.#nextMs = endedMs + Math.min(intervalMs, INTERVAL_MAX_MS);
  }

  #report(filter: RolloutFilter): LatestState {
    const report = this.#deps.report(filter);
    return { rollout: rolloutMessage(report), content: hashOf(report) };
  }

  #refuseWhenStopping(): void {
    if (!this.#stopping.signal.aborted) return;
    const message = "Cannot watch the rollout: the control plane is shutting down, connect again";
    throw new ReportError("SHUTTING_DOWN", message, { transient: true });
  }
}

/** Resolves with the next state, when a repeat is due, or when the watch has ended. */
async function nextOf({ waiting }: Subscribers, repeatMs: number, ended: AbortSignal): Promise<void> {
  if (ended.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const done = (): void => resolve();
  ended.addEventListener("abort", done, { once: true });
  const timer = setTimeout(done, repeatMs);
  waiting.add(done);
  await promise;
  waiting.delete(done);
  clearTimeout(timer);
  ended.removeEventListener("abort", done);
}

/** The hash of everything except times that pass by themselves. */
function hashOf({ ready, notReady, source, fleets, resources, refusals, pods }: RolloutReport): string {
  const content = JSON.stringify([ready, notReady, source.location, source.error, fleets, resources, refusals, pods]);
  return createHash("sha256").update(content).digest("base64");
}
