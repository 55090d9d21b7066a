// The values of statistics: counters, gauges, timers, and the six counters of a rule. Who keeps
// them under which name is statistics-store.ts.

/** A number that only grows. */
export interface StatisticsCounter {
  readonly name: string;
  /** The total since start. Add through `add` only. */
  readonly value: number;
  /** Adds a whole number, 0 or more. */
  add(count: number): void;
}

/** A number that goes up and down. */
export interface StatisticsGauge {
  readonly name: string;
  readonly value: number;
  /** Replaces the value. */
  set(value: number): void;
}

/** Durations in milliseconds, possibly with a fraction. */
export interface StatisticsTimer {
  readonly name: string;
  readonly count: number;
  readonly sumMs: number;
  readonly maxMs: number;
  /** Adds one duration. */
  record(durationMs: number): void;
}

/**
 * The six counters of a rule, kept as plain fields because every decision adds to two of them. Add
 * with `+=` only.
 */
export interface RuleStatistics {
  /**
   * `ratelimit.service.rate_limit.<key>`, cleaned; see RULE_STATISTICS for the rest of each name.
   */
  readonly prefix: string;
  totalHits: number;
  overLimit: number;
  nearLimit: number;
  overLimitWithLocalCache: number;
  withinLimit: number;
  shadowMode: number;
}

/**
 * Hears each recorded duration at once; for sinks that make histograms of them or send them one by
 * one.
 */
export type TimerListener = (timer: StatisticsTimer, durationMs: number) => void;

/** A counter at zero. */
export class Counter implements StatisticsCounter {
  readonly name: string;
  value = 0;

  constructor(name: string) {
    this.name = name;
  }

  add(count: number): void {
    this.value += count;
  }
}

/** A gauge at zero. */
export class Gauge implements StatisticsGauge {
  readonly name: string;
  value = 0;

  constructor(name: string) {
    this.name = name;
  }

  set(value: number): void {
    this.value = value;
  }
}

/** A timer that tells its listeners of each duration. */
export class Timer implements StatisticsTimer {
  readonly name: string;
  count = 0;
  sumMs = 0;
  maxMs = 0;
  readonly #listeners: ReadonlySet<TimerListener>;

  constructor(name: string, listeners: ReadonlySet<TimerListener>) {
    this.name = name;
    this.#listeners = listeners;
  }

  record(durationMs: number): void {
    this.count += 1;
    this.sumMs += durationMs;
    if (durationMs > this.maxMs) this.maxMs = durationMs;
    for (const listener of this.#listeners) listener(this, durationMs);
  }
}

/** The counters of a rule, at zero. */
export class RuleCounters implements RuleStatistics {
  readonly prefix: string;
  totalHits = 0;
  overLimit = 0;
  nearLimit = 0;
  overLimitWithLocalCache = 0;
  withinLimit = 0;
  shadowMode = 0;

  constructor(prefix: string) {
    this.prefix = prefix;
  }
}
