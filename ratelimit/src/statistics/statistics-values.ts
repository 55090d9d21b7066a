// The values of statistics: counters, gauges, timers, and the six counters of a rule.

/** A number that only grows. */
export class StatisticsCounter {
  readonly name: string;
  /** The total since start. Add through `add` only. */
  value = 0;

  constructor(name: string) {
    this.name = name;
  }

  /** Adds a whole number, 0 or more. */
  add(count: number): void {
    this.value += count;
  }
}

/** A number that goes up and down. */
export class StatisticsGauge {
  readonly name: string;
  value = 0;

  constructor(name: string) {
    this.name = name;
  }

  /** Replaces the value. */
  set(value: number): void {
    this.value = value;
  }
}

/**
 * Receives each recorded duration immediately; for sinks that build histograms or send durations
 * one by one.
 */
export type TimerListener = (timer: StatisticsTimer, durationMs: number) => void;

/** Durations in milliseconds, possibly with a fraction. */
export class StatisticsTimer {
  readonly name: string;
  count = 0;
  sumMs = 0;
  maxMs = 0;
  readonly #listeners: ReadonlySet<TimerListener>;

  constructor(name: string, listeners: ReadonlySet<TimerListener>) {
    this.name = name;
    this.#listeners = listeners;
  }

  /** Adds one duration. */
  record(durationMs: number): void {
    this.count += 1;
    this.sumMs += durationMs;
    if (durationMs > this.maxMs) this.maxMs = durationMs;
    for (const listener of this.#listeners) listener(this, durationMs);
  }
}

/**
 * The six counters of a rule, plain fields because every decision adds to two of them. Add with
 * `+=` only.
 */
export class RuleStatistics {
  /**
   * `ratelimit.service.rate_limit.<key>`, cleaned; RULE_STATISTICS has the last part of each name.
   */
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
