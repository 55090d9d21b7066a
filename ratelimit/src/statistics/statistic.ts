// Single statistics: counters, gauges and timers.

class NamedValue {
  readonly name: string;
  value = 0;

  constructor(name: string) {
    this.name = name;
  }
}

/** A number that only grows: the total since start. Change it through `add` only. */
export class StatisticsCounter extends NamedValue {
  /** Adds a whole number, 0 or more. */
  add(count: number): void {
    this.value += count;
  }
}

/** The total of the gauges of several processes: their sum, or the largest. */
export type GaugeTotal = "sum" | "max";

/** A number that goes up and down: `value` is that of this process. */
export class StatisticsGauge extends NamedValue {
  readonly #total: GaugeTotal;
  /** The values of other processes of the service, by their numbers; undefined while there are none. */
  #others: Map<number, number> | undefined;

  constructor(name: string, total: GaugeTotal) {
    super(name);
    this.#total = total;
  }

  /** Replaces the value. */
  set(value: number): void {
    this.value = value;
  }

  /** Replaces the value of another process; undefined when it has ended. */
  setOther(process: number, value: number | undefined): void {
    if (value === undefined) this.#others?.delete(process);
    else (this.#others ??= new Map()).set(process, value);
  }

  /** The value of the whole service. */
  total(): number {
    if (this.#others === undefined) return this.value;
    let total = this.value;
    for (const other of this.#others.values()) total = this.#total === "sum" ? total + other : Math.max(total, other);
    return total;
  }
}

/**
 * Receives recorded durations immediately, and how many there were of each; for sinks that build
 * histograms or send durations one by one.
 */
export type TimerListener = (timer: StatisticsTimer, durationMs: number, times: number) => void;

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

  /** Adds a duration, or several that are equal. */
  record(durationMs: number, times = 1): void {
    this.count += times;
    this.sumMs += durationMs * times;
    if (durationMs > this.maxMs) this.maxMs = durationMs;
    if (this.#listeners.size === 0) return;
    for (const listener of this.#listeners) listener(this, durationMs, times);
  }
}
