// The rollout as a feed: the state now, and again after each change. A watcher gets the latest
// state when it is ready for one; nothing queues up for a slow watcher.
import { createHash } from "node:crypto";

import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Rollout } from "@weir/proto/generated/weir/rollout/v1/rollout_pb";

import { ReportError } from "../report-error.ts";
import { rolloutMessage } from "./rollout-message.ts";
import type { RolloutFilter, RolloutReport } from "./rollout-report.ts";

/** Least time between two states of a watcher, in milliseconds: closer changes are one. */
const INTERVAL_MIN_MS = 100;

/**
 * The cooldown after a report, as a multiple of the time it took, and its maximum in milliseconds:
 * with thousands of resources and pods watchers get fewer states, so that reports do not delay
 * pods. Serialising a state takes half the time of the report, for each watcher with the same
 * filter.
 */
const COOLDOWN_FACTOR = 9;
const BYTES_SHARE = 0.5;
const COOLDOWN_MAX_MS = 10_000;

/** When an unchanged state is sent again, in milliseconds: proxies cut idle streams. */
const REPEAT_MS = 25_000;

/** Most watchers at a time, over all transports. */
const WATCHERS_MAX = 128;

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

/** The watchers with the same filter, which share a report. */
interface Subscribers {
  readonly key: string;
  readonly filter: RolloutFilter;
  watchers: number;
  /** The last report. */
  cached: CachedReport | undefined;
}

/** A report and when it was made. */
interface CachedReport {
  readonly revision: number;
  readonly atMs: number;
  readonly rollout: Rollout;
  /** Hash of what makes two states differ. */
  readonly content: string;
}

/** The feed; a part that stops before the listeners, so that watchers get the reason. */
export class RolloutFeed implements Part {
  readonly name = "rollout feed";
  readonly #deps: RolloutFeedDeps;
  readonly #intervalMinMs: number;
  readonly #watchersMax: number;
  readonly #stopping = new AbortController();
  /** By filter; there are no more of them than watchers. */
  readonly #subscribers = new Map<string, Subscribers>();
  /** Wakes the watchers that wait for a change. */
  readonly #waiting = new Set<() => void>();
  #watchers = 0;
  /** Counts changes. */
  #revision = 0;
  /** Until when no report is made, for any filter, except for a new watcher. */
  #cooldownEndMs = -Infinity;
  /** Resolves when all reports that were asked for so far are made: each filter has its turn. */
  #turns = Promise.resolve();

  constructor(
    deps: RolloutFeedDeps,
    { intervalMinMs = INTERVAL_MIN_MS, watchersMax = WATCHERS_MAX }: RolloutFeedOptions = {},
  ) {
    this.#deps = deps;
    this.#intervalMinMs = intervalMinMs;
    this.#watchersMax = watchersMax;
  }

  stop(): void {
    this.#stopping.abort();
  }

  /** Something may have changed. */
  changed(): void {
    this.#revision += 1;
    for (const wake of [...this.#waiting]) wake();
  }

  /** Number of watchers. */
  watchers(): number {
    return this.#watchers;
  }

  /** The state now. */
  get(filter: RolloutFilter): Rollout {
    return rolloutMessage(this.#deps.report(filter));
  }

  /**
   * The state now, after each change that passes the filter, and again when nothing has changed for
   * a while. Ends when the signal aborts; fails with SHUTTING_DOWN when the feed stops, and at the
   * first step with WATCHERS_EXCEEDED when there are too many.
   */
  async *watch(filter: RolloutFilter, signal: AbortSignal): AsyncGenerator<Rollout, void, undefined> {
    this.#refuseWhenStopping();
    if (this.#watchers >= this.#watchersMax) {
      const message = `Cannot watch the rollout: this replica has ${this.#watchersMax} watchers already`;
      throw new ReportError("WATCHERS_EXCEEDED", message, { transient: true });
    }
    const subscribers = this.#join(filter);
    try {
      yield* this.#follow(subscribers, AbortSignal.any([signal, this.#stopping.signal]));
    } finally {
      this.#leave(subscribers);
    }
    if (!signal.aborted) this.#refuseWhenStopping();
  }

  #join(filter: RolloutFilter): Subscribers {
    const key = JSON.stringify([filter.fleet, filter.namespace, filter.name]);
    const subscribers = this.#subscribers.get(key) ?? { key, filter, watchers: 0, cached: undefined };
    this.#subscribers.set(key, subscribers);
    subscribers.watchers += 1;
    this.#watchers += 1;
    return subscribers;
  }

  #leave(subscribers: Subscribers): void {
    this.#watchers -= 1;
    subscribers.watchers -= 1;
    if (subscribers.watchers === 0) this.#subscribers.delete(subscribers.key);
  }

  async *#follow(subscribers: Subscribers, ended: AbortSignal): AsyncGenerator<Rollout, void, undefined> {
    let sent: string | undefined;
    let sentMs = -Infinity;
    while (!ended.aborted) {
      const report = await (sent === undefined ? this.#firstReport(subscribers) : this.#nextReport(subscribers, ended));
      if (report === undefined) return;
      if (report.content !== sent || Math.abs(this.#deps.clock() - sentMs) >= REPEAT_MS) {
        sent = report.content;
        sentMs = this.#deps.clock();
        yield report.rollout;
      }
      await pause(this.#intervalMinMs, ended);
      if (this.#revision === report.revision) await this.#change(ended);
    }
  }

  /** For a new watcher: the state now, or the last one of its subscribers during a cooldown. */
  #firstReport(subscribers: Subscribers): CachedReport {
    const { cached } = subscribers;
    const isCoolingDown = this.#cooldownMs() > 0;
    if (cached !== undefined && (this.#isFresh(cached) || (isCoolingDown && this.#ageMs(cached) < COOLDOWN_MAX_MS)))
      return cached;
    return this.#report(subscribers);
  }

  /**
   * The state now, or a fresh report; waits for its turn and for the end of the cooldown. Undefined
   * when the watch has ended.
   */
  async #nextReport(subscribers: Subscribers, ended: AbortSignal): Promise<CachedReport | undefined> {
    const { cached } = subscribers;
    if (cached !== undefined && this.#isFresh(cached)) return cached;
    const before = this.#turns;
    const { promise, resolve: pass } = Promise.withResolvers<void>();
    this.#turns = before.then(() => promise);
    try {
      await wait(ended, (done) => {
        void before.then(done);
        return () => undefined;
      });
      if (subscribers.cached !== cached) return subscribers.cached; // A new watcher's, made meanwhile.
      const cooldownMs = this.#cooldownMs();
      // Once only: new watchers, whose reports are made immediately, do not delay this one
      // indefinitely.
      if (cooldownMs > 0) await pause(cooldownMs, ended);
      return ended.aborted ? undefined : this.#report(subscribers);
    } finally {
      pass();
    }
  }

  #report(subscribers: Subscribers): CachedReport {
    const atMs = this.#deps.clock();
    const cooldownMs = this.#cooldownMs();
    const report = this.#deps.report(subscribers.filter);
    subscribers.cached = { revision: this.#revision, atMs, rollout: rolloutMessage(report), content: hashOf(report) };
    const endedMs = this.#deps.clock();
    const costMs = Math.max(0, endedMs - atMs) * (1 + subscribers.watchers * BYTES_SHARE);
    this.#cooldownEndMs = endedMs + Math.min(COOLDOWN_MAX_MS, cooldownMs + costMs * COOLDOWN_FACTOR);
    return subscribers.cached;
  }

  #isFresh(report: CachedReport): boolean {
    return report.revision === this.#revision || this.#ageMs(report) < this.#intervalMinMs;
  }

  #ageMs({ atMs }: CachedReport): number {
    return Math.abs(this.#deps.clock() - atMs);
  }

  /** The rest of the cooldown; a clock that is set back does not extend it. */
  #cooldownMs(): number {
    const leftMs = this.#cooldownEndMs - this.#deps.clock();
    return leftMs > 0 && leftMs <= COOLDOWN_MAX_MS ? leftMs : 0;
  }

  /** Waits for a change, or until a repeat is due. */
  async #change(ended: AbortSignal): Promise<void> {
    await wait(ended, (wake) => {
      this.#waiting.add(wake);
      const timer = setTimeout(wake, REPEAT_MS);
      return () => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
      };
    });
  }

  #refuseWhenStopping(): void {
    if (!this.#stopping.signal.aborted) return;
    const message = "Cannot watch the rollout: the control plane is shutting down, connect again";
    throw new ReportError("SHUTTING_DOWN", message, { transient: true });
  }
}

/** The hash of everything except times that pass by themselves. */
function hashOf({ ready, notReady, source, fleets, resources, refusals, pods }: RolloutReport): string {
  const content = JSON.stringify([ready, notReady, source.location, source.error, fleets, resources, refusals, pods]);
  return createHash("sha256").update(content).digest("base64");
}

/** Resolves after the time, or when the signal aborts. */
async function pause(ms: number, ended: AbortSignal): Promise<void> {
  await wait(ended, (done) => {
    const timer = setTimeout(done, ms);
    return () => clearTimeout(timer);
  });
}

/** Resolves when `begin` calls back, or the signal aborts; then calls what `begin` has returned. */
async function wait(ended: AbortSignal, begin: (done: () => void) => () => void): Promise<void> {
  if (ended.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const done = (): void => resolve();
  ended.addEventListener("abort", done, { once: true });
  const clear = begin(done);
  await promise;
  clear();
  ended.removeEventListener("abort", done);
}
