// The rollout as a feed: the state at a moment, and again whenever it has changed. Whoever watches
// is given the latest state when it is ready for one; nothing queues up for a slow watcher. It
// knows no transport.
import { createHash } from "node:crypto";

import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Rollout } from "@weir/proto/generated/weir/rollout/v1/rollout_pb";

import { ReportError } from "./report-error.ts";
import { rolloutMessage } from "./rollout-message.ts";
import type { RolloutFilter, RolloutReport } from "./rollout-report.ts";

/**
 * Least time between two states for one watcher, in milliseconds: changes that come closer together
 * are told once.
 */
const INTERVAL_MIN_MS = 100;

/**
 * After a look that took some time, none follows for so many times as long, and no longer than
 * that, in milliseconds: with thousands of resources and pods watchers are told less often, so that
 * those who only watch do not keep pods from what they are sent. To put a state into bytes takes
 * half as long as the look, for each who watches with the same filter.
 */
const REST_FACTOR = 9;
const BYTES_SHARE = 0.5;
const REST_MAX_MS = 10_000;

/**
 * After so much time without a change a watcher is told the state again, in milliseconds: proxies
 * cut streams on which nothing comes for a minute.
 */
const REPEAT_MS = 25_000;

/** Most watchers at a time, over all transports. */
const WATCHERS_MAX = 128;

/**
 * The feed; a part that is stopped before the listeners, so that watchers hear why they are left.
 */
export interface RolloutFeed extends Part {
  /** The state at this moment. */
  get(filter: RolloutFilter): Rollout;
  /**
   * The state at once, after each change that the filter lets through, and again when nothing has
   * changed for a while. Ends when the signal aborts; fails with SHUTTING_DOWN when the feed stops,
   * and at the first step with WATCHERS_EXCEEDED when there are too many.
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

/** All who watch with the same filter: many cost no more than one. */
interface Audience {
  readonly key: string;
  readonly filter: RolloutFilter;
  watchers: number;
  /** What the last look found. */
  look: Look | undefined;
}

/** The state as it was found. */
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
  /** By filter; there are no more of them than watchers. */
  readonly #audiences = new Map<string, Audience>();
  /** Those that wait for a change. */
  readonly #waiting = new Set<() => void>();
  #watchers = 0;
  /** Counts changes. */
  #revision = 0;
  /** Until when there is no further look, for whatever filter, but the first of one who comes. */
  #restUntilMs = -Infinity;
  /** Resolves when all have looked who wanted to so far: with many filters each has its turn. */
  #turns = Promise.resolve();

  constructor(
    deps: RolloutFeedDeps,
    { intervalMinMs = INTERVAL_MIN_MS, watchersMax = WATCHERS_MAX }: RolloutFeedOptions,
  ) {
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
    const audience = this.#join(filter);
    try {
      yield* this.#follow(audience, AbortSignal.any([signal, this.#stopping.signal]));
    } finally {
      this.#leave(audience);
    }
    if (!signal.aborted) this.#refuseWhenStopping();
  }

  #join(filter: RolloutFilter): Audience {
    const key = JSON.stringify([filter.fleet, filter.namespace, filter.name]);
    const audience = this.#audiences.get(key) ?? { key, filter, watchers: 0, look: undefined };
    this.#audiences.set(key, audience);
    audience.watchers += 1;
    this.#watchers += 1;
    return audience;
  }

  #leave(audience: Audience): void {
    this.#watchers -= 1;
    audience.watchers -= 1;
    if (audience.watchers === 0) this.#audiences.delete(audience.key);
  }

  async *#follow(audience: Audience, ended: AbortSignal): AsyncGenerator<Rollout, void, undefined> {
    let told: string | undefined;
    let toldMs = -Infinity;
    while (!ended.aborted) {
      const look = await (told === undefined ? this.#firstLook(audience) : this.#look(audience, ended));
      if (look === undefined) return;
      if (look.content !== told || Math.abs(this.#deps.clock() - toldMs) >= REPEAT_MS) {
        told = look.content;
        toldMs = this.#deps.clock();
        yield look.rollout;
      }
      await pause(this.#intervalMinMs, ended);
      if (this.#revision === look.revision) await this.#change(ended);
    }
  }

  /** For one who comes: the state now, or what those see whom it joins. */
  #firstLook(audience: Audience): Look {
    const known = audience.look;
    if (known !== undefined && (this.#isFresh(known) || (this.#restMs() > 0 && this.#ageMs(known) < REST_MAX_MS)))
      return known;
    return this.#lookNow(audience);
  }

  /**
   * The state now, or a moment ago if somebody has just looked; waits for its turn and for the end
   * of the rest. Undefined when the watch has ended.
   */
  async #look(audience: Audience, ended: AbortSignal): Promise<Look | undefined> {
    const known = audience.look;
    if (known !== undefined && this.#isFresh(known)) return known;
    const before = this.#turns;
    const { promise, resolve: pass } = Promise.withResolvers<void>();
    this.#turns = before.then(() => promise);
    try {
      await settled(before, ended);
      if (audience.look !== known) return audience.look; // Somebody with the same filter has looked meanwhile.
      const restMs = this.#restMs();
      // Once only: those who come meanwhile, and are told at once, do not put it off for ever.
      if (restMs > 0) await pause(restMs, ended);
      return ended.aborted ? undefined : this.#lookNow(audience);
    } finally {
      pass();
    }
  }

  #lookNow(audience: Audience): Look {
    const atMs = this.#deps.clock();
    const restMs = this.#restMs();
    const report = this.#deps.report(audience.filter);
    audience.look = { revision: this.#revision, atMs, rollout: rolloutMessage(report), content: hashOf(report) };
    const endedMs = this.#deps.clock();
    const costMs = Math.max(0, endedMs - atMs) * (1 + audience.watchers * BYTES_SHARE);
    this.#restUntilMs = endedMs + Math.min(REST_MAX_MS, restMs + costMs * REST_FACTOR);
    return audience.look;
  }

  #isFresh(look: Look): boolean {
    return look.revision === this.#revision || this.#ageMs(look) < this.#intervalMinMs;
  }

  #ageMs({ atMs }: Look): number {
    return Math.abs(this.#deps.clock() - atMs);
  }

  /** What is left of the rest. A clock that is set back does not make it longer than it can be. */
  #restMs(): number {
    const restMs = this.#restUntilMs - this.#deps.clock();
    return restMs > 0 && restMs <= REST_MAX_MS ? restMs : 0;
  }

  /** Waits for a change, not for ever. */
  async #change(ended: AbortSignal): Promise<void> {
    if (ended.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = (): void => resolve();
    this.#waiting.add(wake);
    const timer = setTimeout(wake, REPEAT_MS);
    ended.addEventListener("abort", wake, { once: true });
    await promise;
    clearTimeout(timer);
    this.#waiting.delete(wake);
    ended.removeEventListener("abort", wake);
  }

  #refuseWhenStopping(): void {
    if (!this.#stopping.signal.aborted) return;
    throw new ReportError(
      "SHUTTING_DOWN",
      "Cannot watch the rollout: the control plane is shutting down, connect again",
      {
        transient: true,
      },
    );
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

/** Resolves when the promise has resolved, or when the signal aborts. */
async function settled(awaited: Promise<void>, ended: AbortSignal): Promise<void> {
  if (ended.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const go = (): void => resolve();
  void awaited.then(go);
  ended.addEventListener("abort", go, { once: true });
  await promise;
  ended.removeEventListener("abort", go);
}
