// Every counter, gauge and timer of the process by its dotted name: the one truth that sinks and
// /stats read. It knows no sink and no exposition format. Memory is bounded: rules own their keys,
// and keys made by request values are limited in number and length.
import { cleanNamePart, DYNAMIC_KEY_MAX_LENGTH, ruleStatisticName } from "@weir/limits/rules/statistic-name";
import {
  Counter,
  Gauge,
  RuleCounters,
  type RuleStatistics,
  type StatisticsCounter,
  type StatisticsGauge,
  type StatisticsTimer,
  Timer,
  type TimerListener,
} from "./statistics-values.ts";

export type {
  /** The six counters of a rule. */
  RuleStatistics,
  /** A number that only grows. */
  StatisticsCounter,
  /** A number that goes up and down. */
  StatisticsGauge,
  /** Durations. */
  StatisticsTimer,
};

/** Counts hits that had no room for a key of their own. */
const DROPPED_KEYS_NAME = "ratelimit.service.stats_keys_dropped";

/**
 * Most statistics that are read before others have their turn: well below a millisecond's work for
 * whoever hears them.
 */
export const WALK_STEP = 100;

/** The counters of a rule: the last part of each one's name, and its field. */
export const RULE_STATISTICS = [
  { name: "total_hits", field: "totalHits" },
  { name: "over_limit", field: "overLimit" },
  { name: "near_limit", field: "nearLimit" },
  { name: "over_limit_with_local_cache", field: "overLimitWithLocalCache" },
  { name: "within_limit", field: "withinLimit" },
  { name: "shadow_mode", field: "shadowMode" },
] as const;

/** Reads a store: called once per statistic, in no particular order. */
export interface StatisticsVisitor {
  /** A counter and its total since start. */
  counter(name: string, value: number): void;
  /** The six counters of a rule; RULE_STATISTICS has their names. */
  rule(statistics: RuleStatistics): void;
  /** A gauge and its value. */
  gauge(name: string, value: number): void;
  /** A timer; what it has recorded is in it. */
  timer(timer: StatisticsTimer): void;
}

/**
 * All statistics of the process. Everything starts at zero and is visible from the moment it is
 * created.
 */
export interface StatisticsStore {
  /**
   * The counter of this name, made at the first call. For names known in advance only: the number
   * of names is not limited here.
   */
  counter(name: string): StatisticsCounter;
  /** The gauge of this name, made at the first call. For names known in advance only. */
  gauge(name: string): StatisticsGauge;
  /** The timer of this name, made at the first call. For names known in advance only. */
  timer(name: string): StatisticsTimer;
  /**
   * Declares the statistics keys (`domain.key_value.key2`) of all rules now in force and returns
   * their counters by key. A key known before keeps its counters; one that is no longer named is
   * dropped.
   */
  replaceRules(keys: Iterable<string>): ReadonlyMap<string, RuleStatistics>;
  /**
   * The counters of one key known in advance, outside `replaceRules`; the next call of that drops
   * them if it does not name the key.
   */
  rule(key: string): RuleStatistics;
  /**
   * Counters under a key that holds request values. Undefined when there is no room for a new one,
   * or the key is too long: then count under a key known in advance;
   * ratelimit.service.stats_keys_dropped has counted it.
   */
  dynamicRule(key: string): RuleStatistics | undefined;
  /**
   * A counter whose name holds a request value, under the same limit: `<scope>.<cleaned
   * value>.<name>`.
   */
  dynamicCounter(scope: string, value: string, name: string): StatisticsCounter | undefined;
  /**
   * Reads everything as it is now. For few statistics: with many it takes longer than decisions
   * should wait.
   */
  visit(visitor: StatisticsVisitor): void;
  /**
   * Reads everything in steps of at most WALK_STEP statistics (a rule's six count as one), between
   * which others may go on. Each statistic is told as it is when its step comes; the six of a rule
   * belong together.
   */
  walk(visitor: StatisticsVisitor): Generator<undefined, void>;
  /**
   * Calls `refresh` at the beginning of every visit and walk, for gauges that are measured when
   * somebody asks; the returned function ends it.
   */
  onRead(refresh: () => void): () => void;
  /** Calls the listener for every duration recorded from now on; the returned function ends it. */
  onTimer(listener: TimerListener): () => void;
}

/** Settings of the store. */
export interface StatisticsStoreOptions {
  /** STATS_MAX_DYNAMIC_KEYS: most keys made by request values. Default 100000. */
  readonly maxDynamicKeys: number;
}

/** A store with nothing in it but the count of dropped keys. */
export function createStatisticsStore(options: StatisticsStoreOptions): StatisticsStore {
  return new MemoryStatisticsStore(options.maxDynamicKeys);
}

class MemoryStatisticsStore implements StatisticsStore {
  readonly #maxDynamicKeys: number;
  readonly #counters = new Map<string, Counter>();
  readonly #gauges = new Map<string, Gauge>();
  readonly #timers = new Map<string, Timer>();
  readonly #timerListeners = new Set<TimerListener>();
  readonly #refreshers = new Set<() => void>();
  readonly #droppedKeys: StatisticsCounter;
  /**
   * Counters of rules by key as configured; several keys may share counters, because cleaning makes
   * them equal.
   */
  #rules = new Map<string, RuleCounters>();
  /**
   * The same by key with request values. Together with `#dynamicCounters` never larger than the
   * limit.
   */
  readonly #dynamicRules = new Map<string, RuleCounters>();
  readonly #dynamicCounters = new Map<string, Counter>();
  /** The dynamic counters by cleaned name, which several keys may share. */
  readonly #dynamicByName = new Map<string, Counter>();
  /** Every rule's counters by cleaned name: what `visit` shows. */
  #byPrefix = new Map<string, RuleCounters>();

  constructor(maxDynamicKeys: number) {
    this.#maxDynamicKeys = maxDynamicKeys;
    this.#droppedKeys = this.counter(DROPPED_KEYS_NAME);
  }

  counter(name: string): StatisticsCounter {
    let counter = this.#counters.get(name);
    if (counter === undefined) this.#counters.set(name, (counter = new Counter(name)));
    return counter;
  }

  gauge(name: string): StatisticsGauge {
    let gauge = this.#gauges.get(name);
    if (gauge === undefined) this.#gauges.set(name, (gauge = new Gauge(name)));
    return gauge;
  }

  timer(name: string): StatisticsTimer {
    let timer = this.#timers.get(name);
    if (timer === undefined) this.#timers.set(name, (timer = new Timer(name, this.#timerListeners)));
    return timer;
  }

  replaceRules(keys: Iterable<string>): ReadonlyMap<string, RuleStatistics> {
    const known = this.#byPrefix;
    this.#byPrefix = new Map();
    for (const counters of this.#dynamicRules.values()) this.#byPrefix.set(counters.prefix, counters);
    this.#rules = new Map();
    for (const key of keys) this.#rules.set(key, this.#countersOf(key, known));
    return this.#rules;
  }

  rule(key: string): RuleStatistics {
    let counters = this.#rules.get(key);
    if (counters === undefined) this.#rules.set(key, (counters = this.#countersOf(key, this.#byPrefix)));
    return counters;
  }

  dynamicRule(key: string): RuleStatistics | undefined {
    const known = this.#dynamicRules.get(key) ?? this.#rules.get(key);
    if (known !== undefined) return known;
    if (!this.#hasRoom(key)) return undefined;
    const counters = this.#countersOf(key, this.#byPrefix);
    this.#dynamicRules.set(key, counters);
    return counters;
  }

  dynamicCounter(scope: string, value: string, name: string): StatisticsCounter | undefined {
    const key = `${scope}.${value}.${name}`;
    const known = this.#dynamicCounters.get(key);
    if (known !== undefined) return known;
    if (!this.#hasRoom(key)) return undefined;
    const cleaned = `${scope}.${cleanNamePart(value)}.${name}`;
    const counter = this.#dynamicByName.get(cleaned) ?? new Counter(cleaned);
    this.#dynamicByName.set(cleaned, counter);
    this.#dynamicCounters.set(key, counter);
    return counter;
  }

  visit(visitor: StatisticsVisitor): void {
    const walk = this.walk(visitor);
    let step = walk.next();
    while (step.done !== true) step = walk.next();
  }

  *walk(visitor: StatisticsVisitor): Generator<undefined, void> {
    for (const refresh of this.#refreshers) refresh();
    let told = 0;
    for (const { name, value } of this.#counters.values()) {
      visitor.counter(name, value);
      if (++told % WALK_STEP === 0) yield;
    }
    for (const { name, value } of this.#dynamicByName.values()) {
      visitor.counter(name, value);
      if (++told % WALK_STEP === 0) yield;
    }
    for (const counters of this.#byPrefix.values()) {
      visitor.rule(counters);
      if (++told % WALK_STEP === 0) yield;
    }
    for (const { name, value } of this.#gauges.values()) visitor.gauge(name, value);
    for (const timer of this.#timers.values()) visitor.timer(timer);
  }

  onRead(refresh: () => void): () => void {
    this.#refreshers.add(refresh);
    return () => void this.#refreshers.delete(refresh);
  }

  onTimer(listener: TimerListener): () => void {
    this.#timerListeners.add(listener);
    return () => void this.#timerListeners.delete(listener);
  }

  /** The counters of the key's cleaned name, taken over from `known` or new. */
  #countersOf(key: string, known: ReadonlyMap<string, RuleCounters>): RuleCounters {
    const prefix = ruleStatisticName(key);
    const counters = this.#byPrefix.get(prefix) ?? known.get(prefix) ?? new RuleCounters(prefix);
    this.#byPrefix.set(prefix, counters);
    return counters;
  }

  /** Whether one more key with request values may be made; counts the refusal. */
  #hasRoom(key: string): boolean {
    const hasRoom =
      key.length <= DYNAMIC_KEY_MAX_LENGTH &&
      this.#dynamicRules.size + this.#dynamicCounters.size < this.#maxDynamicKeys;
    if (!hasRoom) this.#droppedKeys.add(1);
    return hasRoom;
  }
}
