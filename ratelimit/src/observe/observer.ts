// Watches the statistics of the service: keeps series of the last ten minutes, and reports each second to a reader while
// there is one. Decisions do not take part: it reads what they count anyway.
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Part } from "@weir/common/lifecycle/lifecycle";
import type { Log } from "@weir/common/log/log";
import { RateLimitedLog } from "@weir/common/log/rate-limited-log";
import type { ServiceStatistics } from "../statistics/service-statistics.ts";
import type { StatisticsStore } from "../statistics/statistics-store.ts";
import type { RuleKeyCounts } from "./rule-keys.ts";
import type { RuleName } from "./rule-name.ts";
import type { Observed, ObservedRule } from "./observed.ts";
import type { ObservedRules } from "./observed-rules.ts";
import { Series, STEP_SECONDS, STEPS } from "./series.ts";

/** Latest moment of a second at which the pod reports, in milliseconds: pods do not report all at the same one. */
const PHASE_MAX_MS = 500;

/** Steps of a walk through the statistics in one turn: about a thousand rules, of which most have not changed. */
const STEPS_PER_TURN = 50;

/** Buckets of response times: the upper bound of the first, in milliseconds, and buckets per doubling. */
const BUCKETS = 32;
const FIRST_BOUND_MS = 1 / 16;
const BUCKETS_PER_DOUBLING = 2;

/** Shortest time between two lines about sweeps that fail, in milliseconds. */
const FAILURE_INTERVAL_MS = 60_000;

/** Receives an observation each second, or why it failed. Neither method may throw. */
export interface ObservationReader {
  /** Receives what was counted in the second. */
  observed(observed: Observed): void;
  /** Receives why that is lost; the history that `watch` gives has it, as far as it was counted. */
  failed(error: unknown): void;
}

export interface ObserverDeps {
  readonly store: StatisticsStore;
  readonly statistics: ServiceStatistics;
  readonly rules: ObservedRules;
  /** Reads the keys of those of the rules that have any. Never rejects. */
  readonly readKeys: (names: readonly RuleName[]) => Promise<readonly RuleKeyCounts[]>;
  /** Milliseconds since the epoch. */
  readonly nowMs: () => number;
  readonly random: () => number;
  readonly log: Log;
}

/** The observer. */
export class Observer implements Part {
  readonly name = "observer";
  readonly #deps: ObserverDeps;
  readonly #phaseMs: number;
  readonly #failures: RateLimitedLog;
  /** Decisions, rejections, errors, then the buckets of response times. */
  readonly #totals: Series;
  readonly #latencies = new Float64Array(BUCKETS);
  readonly #seen = [0, 0, 0];
  #reader: ObservationReader | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  /** Counts the beginnings and ends of watches. */
  #watch = 0;
  /** The sweep that runs. Never rejects. */
  #swept: Promise<unknown> = Promise.resolve();

  constructor(deps: ObserverDeps) {
    this.#deps = deps;
    this.#failures = new RateLimitedLog(deps.log, { intervalMs: FAILURE_INTERVAL_MS });
    this.#phaseMs = Math.floor(deps.random() * PHASE_MAX_MS);
    this.#totals = new Series(3 + BUCKETS, this.#stepNow());
    const { responseTime } = deps.statistics.method("ShouldRateLimit");
    deps.store.onTimer((timer, durationMs, times) => {
      const bucket = bucketOf(durationMs);
      if (timer === responseTime) this.#latencies[bucket] = (this.#latencies[bucket] ?? 0) + times;
    });
  }

  start(): Promise<void> {
    this.#schedule();
    return Promise.resolve();
  }

  stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    return Promise.resolve();
  }

  /** Reports each second to the reader, in place of one before. Earlier counts are in `history` when it resolves. */
  async watch(reader: ObservationReader): Promise<void> {
    const watch = (this.#watch += 1);
    if (this.#reader === undefined) await this.sweep();
    if (watch !== this.#watch) return; // Ended meanwhile.
    this.#reader = reader;
    this.#schedule();
  }

  /** Reports to no reader. */
  unwatch(): void {
    this.#watch += 1;
    this.#reader = undefined;
    this.#schedule();
  }

  /** The last ten minutes, up to the last sweep. */
  history(): Observed {
    const step = this.#stepNow();
    const counts = Array.from({ length: 3 + BUCKETS }, (_, index) => this.#totals.read(index, step));
    return observedOf((step - STEPS + 1) * STEP_SECONDS, STEP_SECONDS, counts, this.#deps.rules.history(step));
  }

  readKeys(names: readonly RuleName[]): Promise<readonly RuleKeyCounts[]> {
    return this.#deps.readKeys(names);
  }

  /** Adds what was counted since the last sweep to the series; resolves with it. */
  sweep(): Promise<Observed> {
    const swept = this.#swept.then(() => this.#sweep());
    this.#swept = swept.catch(() => undefined); // The caller has the error, and the next sweep runs.
    return swept;
  }

  async #sweep(): Promise<Observed> {
    const { store, rules } = this.#deps;
    const startSeconds = Math.floor(this.#deps.nowMs() / 1000) - 1;
    const step = Math.floor(startSeconds / STEP_SECONDS);
    rules.begin(step);
    const steps = store.walkRules((statistics) => rules.visit(statistics));
    for (let count = 1; steps.next().done !== true; count++) if (count % STEPS_PER_TURN === 0) await nextTurn();
    const counts = this.#takeTotals();
    for (const [index, count] of counts.entries()) if (count > 0) this.#totals.add(index, step, count);
    return observedOf(
      startSeconds,
      1,
      counts.map((count) => [count]),
      rules.end(),
    );
  }

  #takeTotals(): readonly number[] {
    const { statistics } = this.#deps;
    const errors = Object.values(statistics.callErrors).reduce((sum, { value }) => sum + value, 0);
    const values = [statistics.method("ShouldRateLimit").totalRequests.value, statistics.rejectedCalls.value, errors];
    const growth = values.map((value, index) => value - (this.#seen[index] ?? 0));
    this.#seen.splice(0, values.length, ...values);
    const latencies = [...this.#latencies];
    this.#latencies.fill(0);
    return [...growth, ...latencies];
  }

  #stepNow(): number {
    return Math.floor(this.#deps.nowMs() / 1000 / STEP_SECONDS);
  }

  /** While there is a reader once a second, else once a step. */
  #schedule(): void {
    clearTimeout(this.#timer);
    if (this.#isStopped) return;
    const intervalMs = this.#reader === undefined ? STEP_SECONDS * 1000 : 1000;
    const sinceMs = (this.#deps.nowMs() - this.#phaseMs) % intervalMs;
    this.#timer = setTimeout(() => void this.#tick(), intervalMs - sinceMs);
    this.#timer.unref();
  }

  async #tick(): Promise<void> {
    try {
      const observed = await this.sweep();
      this.#reader?.observed(observed);
    } catch (error) {
      if (this.#reader === undefined) this.#failures.error("Cannot observe statistics", { error });
      else this.#reader.failed(error);
    }
    this.#schedule();
  }
}

function observedOf(
  startSeconds: number,
  stepSeconds: number,
  [decisions = [], rejections = [], errors = [], ...latencies]: readonly (readonly number[])[],
  rules: readonly ObservedRule[],
): Observed {
  return { startSeconds, stepSeconds, decisions, rejections, errors, latencies, rules };
}

/** The bucket of a response time. */
export function bucketOf(durationMs: number): number {
  const index = Math.ceil(Math.log2(durationMs / FIRST_BOUND_MS) * BUCKETS_PER_DOUBLING);
  return Math.max(0, Math.min(BUCKETS - 1, index));
}
