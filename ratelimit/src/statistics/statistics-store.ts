// Every counter, gauge and timer of the process by its dotted name: the one truth that sinks and /stats read. It knows no sink and no exposition
// format. Memory is bounded: rules own their keys, and keys made by request values are limited in number.

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
  set(value: number): void;
}

/** Durations in milliseconds, possibly with a fraction. */
export interface StatisticsTimer {
  readonly name: string;
  readonly count: number;
  readonly sumMs: number;
  readonly maxMs: number;
  record(durationMs: number): void;
}

/** The six counters of a rule, kept as plain fields because every decision adds to two of them. Add with `+=` only. */
export interface RuleStatistics {
  /** `ratelimit.service.rate_limit.<key>`, cleaned; each field below is this name, a dot and the field in snake case. */
  readonly prefix: string;
  totalHits: number;
  overLimit: number;
  nearLimit: number;
  overLimitWithLocalCache: number;
  withinLimit: number;
  shadowMode: number;
}

/** Reads a store: called once per statistic, in no particular order. The six counters of a rule come as six calls of `counter`. */
export interface StatisticsVisitor {
  counter(name: string, value: number): void;
  gauge(name: string, value: number): void;
  timer(timer: StatisticsTimer): void;
}

/** Hears each recorded duration at once; for sinks that make histograms of them or send them one by one. */
export type TimerListener = (timer: StatisticsTimer, durationMs: number) => void;

/** All statistics of the process. Everything starts at zero and is visible from the moment it is created. */
export interface StatisticsStore {
  /** The counter of this name, made at the first call. For names known in advance only: the number of names is not limited here. */
  counter(name: string): StatisticsCounter;
  /** The gauge of this name, made at the first call. For names known in advance only. */
  gauge(name: string): StatisticsGauge;
  /** The timer of this name, made at the first call. For names known in advance only. */
  timer(name: string): StatisticsTimer;
  /**
   * Declares the statistics keys (`domain.key_value.key2`) of all rules now in force and returns their counters by key. A key known before keeps its
   * counters; one that is no longer named is dropped.
   */
  replaceRules(keys: Iterable<string>): ReadonlyMap<string, RuleStatistics>;
  /** Counters under a key that holds request values; undefined when the limit of such keys is reached, which `droppedKeys` then counts. */
  dynamicRule(key: string): RuleStatistics | undefined;
  /** A counter whose name holds request values, under the same limit. `scope` and `name` make `<scope>.<cleaned value>.<name>`. */
  dynamicCounter(scope: string, value: string, name: string): StatisticsCounter | undefined;
  /** Reads everything as it is now. */
  visit(visitor: StatisticsVisitor): void;
  /** Calls the listener for every duration recorded from now on; the returned function ends it. */
  onTimer(listener: TimerListener): () => void;
}

/** Settings of the store. */
export interface StatisticsStoreOptions {
  /** STATS_MAX_DYNAMIC_KEYS: most keys made by request values. Default 100000. */
  readonly maxDynamicKeys: number;
}
