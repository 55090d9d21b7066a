// Stores every counter, gauge and timer of the process by its dotted name; sinks and /stats read
// it. Memory is bounded: the keys made from request values are limited in number and length.
import { cleanNamePart, DYNAMIC_KEY_MAX_LENGTH, ruleStatisticName } from "@weir/limits/rules/statistic-name";
import { type RuleStatisticsName, RuleStatistics } from "./rule-statistics.ts";
import {
  type GaugeTotal,
  StatisticsCounter,
  StatisticsGauge,
  StatisticsTimer,
  type TimerListener,
} from "./statistic.ts";

/** Counts hits that did not get a key of their own. */
const DROPPED_KEYS_NAME = "ratelimit.service.stats_keys_dropped";

/** Most statistics that one step of a walk reads: well below a millisecond's work for a visitor. */
export const WALK_STEP = 20;

/** Reads a store: called once per statistic, in no particular order. */
export interface StatisticsVisitor {
  /** A counter and its total since start; `isDynamic` when its name contains a request value. */
  counter(name: string, value: number, isDynamic: boolean): void;
  /** The six counters of a rule; RULE_STATISTICS has their names. */
  rule(statistics: RuleStatistics): void;
  /** A gauge and its value in the whole service. */
  gauge(name: string, value: number): void;
  /** A timer with what it has recorded. */
  timer(timer: StatisticsTimer): void;
}

/** Settings of the store. */
export interface StatisticsStoreOptions {
  /** STATS_MAX_DYNAMIC_KEYS: most keys made from request values. Default 100000. */
  readonly maxDynamicKeys: number;
}

/**
 * All statistics of the process. Each starts at zero and is visible from the moment it is created.
 */
export class StatisticsStore {
  readonly #maxDynamicKeys: number;
  readonly #counters = new Map<string, StatisticsCounter>();
  readonly #gauges = new Map<string, StatisticsGauge>();
  readonly #timers = new Map<string, StatisticsTimer>();
  readonly #timerListeners = new Set<TimerListener>();
  readonly #refreshers = new Set<() => void>();
  readonly #collectors = new Set<() => Promise<void>>();
  readonly #droppedKeys: StatisticsCounter;
  /**
   * Counters of rules by key as configured, with the number of rules that have the key; several keys
   * may share counters, because cleaning makes them equal.
   */
  readonly #rules = new Map<string, { readonly counters: RuleStatistics; rules: number }>();
  /**
   * The same by key with request values. Together with `#dynamicCounters` never larger than the
   * limit.
   */
  readonly #dynamicRules = new Map<string, RuleStatistics>();
  readonly #dynamicCounters = new Map<string, StatisticsCounter>();
  /** The dynamic counters by cleaned name, which several keys may share. */
  readonly #dynamicByName = new Map<string, StatisticsCounter>();
  /** Every rule's counters by cleaned name: what `walk` shows. */
  readonly #byPrefix = new Map<string, RuleStatistics>();

  /** The store contains only the counter of dropped keys. */
  constructor({ maxDynamicKeys }: StatisticsStoreOptions) {
    this.#maxDynamicKeys = maxDynamicKeys;
    this.#droppedKeys = this.counter(DROPPED_KEYS_NAME);
  }

  /**
   * The counter of this name, created at the first call. For names known in advance only: the
   * number of names is not limited here.
   */
  counter(name: string): StatisticsCounter {
    return this.#counters.getOrInsertComputed(name, () => new StatisticsCounter(name));
  }

  /** The gauge of this name, created at the first call. For names known in advance only. */
  gauge(name: string, total: GaugeTotal = "sum"): StatisticsGauge {
    return this.#gauges.getOrInsertComputed(name, () => new StatisticsGauge(name, total));
  }

  gauges(): Iterable<StatisticsGauge> {
    return this.#gauges.values();
  }

  /** The timer of this name, created at the first call. For names known in advance only. */
  timer(name: string): StatisticsTimer {
    return this.#timers.getOrInsertComputed(name, () => new StatisticsTimer(name, this.#timerListeners));
  }

  /**
   * The counters of a rule by its statistics key (`domain.key_value.key2`), created at the first call; of one of its
   * limits with the name of that, in which the key ends.
   */
  rule(key: string, limit?: string): RuleStatistics {
    return this.#ruleOf(key, limit).counters;
  }

  /** The same for one more rule with this key, which rules of several domains can have. */
  addRule(key: string, limit?: string): RuleStatistics {
    const known = this.#ruleOf(key, limit);
    known.rules += 1;
    return known.counters;
  }

  /** Removes a rule, and the counters with the last rule that has the key. */
  dropRule(key: string): void {
    const known = this.#rules.get(key);
    if (known === undefined) return;
    known.rules -= 1;
    if (known.rules > 0) return;
    const { counters } = known;
    this.#rules.delete(key);
    counters.keys -= 1;
    if (counters.keys === 0) this.#byPrefix.delete(counters.prefix);
  }

  /**
   * Counters under a key that contains request values, of the rule with this path. Undefined when the limit is reached or the
   * key is too long: then count under a key known in advance;
   * ratelimit.service.stats_keys_dropped has counted it.
   */
  dynamicRule(key: string, path = key, limit?: string): RuleStatistics | undefined {
    const known = this.#dynamicRules.get(key) ?? this.#rules.get(key)?.counters;
    if (known !== undefined) return known;
    if (!this.#admits(key)) return undefined;
    const counters = this.#countersOf(key, { path, isDynamic: true, limit });
    this.#dynamicRules.set(key, counters);
    return counters;
  }

  /**
   * The counters that another process has under this prefix; `dynamicOf` is the path of their rule if the prefix contains
   * request values. Undefined when this process does not know the rule (any more), or when the limit is reached.
   */
  ruleOfName(name: RuleStatisticsName): RuleStatistics | undefined {
    const { prefix, isDynamic } = name;
    const known = this.#byPrefix.get(prefix);
    if (known !== undefined || !isDynamic || !this.#admits(prefix)) return known;
    const counters = new RuleStatistics(name);
    counters.keys = 1;
    this.#byPrefix.set(prefix, counters);
    this.#dynamicRules.set(prefix, counters);
    return counters;
  }

  /**
   * A counter whose name contains a request value, under the same limit: `<scope>.<cleaned
   * value>.<name>`.
   */
  dynamicCounter(scope: string, value: string, name: string): StatisticsCounter | undefined {
    const key = `${scope}.${value}.${name}`;
    const known = this.#dynamicCounters.get(key);
    if (known !== undefined) return known;
    if (!this.#admits(key)) return undefined;
    const cleaned = `${scope}.${cleanNamePart(value)}.${name}`;
    const counter = this.#dynamicByName.getOrInsertComputed(cleaned, () => new StatisticsCounter(cleaned));
    this.#dynamicCounters.set(key, counter);
    return counter;
  }

  /** The counter that another process has under this name, which contains a request value; as above. */
  dynamicCounterOfName(name: string): StatisticsCounter | undefined {
    const known = this.#dynamicByName.get(name);
    if (known !== undefined || !this.#admits(name)) return known;
    const counter = new StatisticsCounter(name);
    this.#dynamicByName.set(name, counter);
    this.#dynamicCounters.set(name, counter);
    return counter;
  }

  /**
   * Reads everything in steps of at most WALK_STEP statistics (a rule's six count as one), between
   * which other work runs. A statistic is read when its step comes, the six of a rule together.
   */
  *walk(visitor: StatisticsVisitor): Generator<undefined, void> {
    for (const refresh of this.#refreshers) refresh();
    let visited = 0;
    for (const { name, value } of this.#counters.values()) {
      visitor.counter(name, value, false);
      if (++visited % WALK_STEP === 0) yield;
    }
    for (const { name, value } of this.#dynamicByName.values()) {
      visitor.counter(name, value, true);
      if (++visited % WALK_STEP === 0) yield;
    }
    yield* this.walkRules((counters) => visitor.rule(counters), visited);
    for (const gauge of this.#gauges.values()) visitor.gauge(gauge.name, gauge.total());
    for (const timer of this.#timers.values()) visitor.timer(timer);
  }

  /** Reads the counters of rules alone, in such steps, of which the first has `begun` already; gauges are not measured for it. */
  *walkRules(visit: (statistics: RuleStatistics) => void, begun = 0): Generator<undefined, void> {
    let visited = begun;
    for (const counters of this.#byPrefix.values()) {
      visit(counters);
      if (++visited % WALK_STEP === 0) yield;
    }
  }

  /**
   * Calls `refresh` at the start of every walk, for gauges that are measured on demand; the returned
   * function ends this.
   */
  onRead(refresh: () => void): () => void {
    this.#refreshers.add(refresh);
    return () => void this.#refreshers.delete(refresh);
  }

  /** Calls `collect` at every `collect()`, for statistics that other processes have. */
  onCollect(collect: () => Promise<void>): () => void {
    this.#collectors.add(collect);
    return () => void this.#collectors.delete(collect);
  }

  /** Resolves when the store has what other processes of the service counted so far. Never rejects. */
  async collect(): Promise<void> {
    for (const collect of this.#collectors) await collect();
  }

  /**
   * Calls the listener for every duration recorded from now on; the returned function ends this.
   */
  onTimer(listener: TimerListener): () => void {
    this.#timerListeners.add(listener);
    return () => void this.#timerListeners.delete(listener);
  }

  #ruleOf(key: string, limit: string | undefined): { readonly counters: RuleStatistics; rules: number } {
    return this.#rules.getOrInsertComputed(key, () => ({
      counters: this.#countersOf(key, { path: key, isDynamic: false, limit }),
      rules: 0,
    }));
  }

  /** The counters of the cleaned name of one more key. */
  #countersOf(key: string, rest: Omit<RuleStatisticsName, "prefix">): RuleStatistics {
    const prefix = ruleStatisticName(key);
    const counters = this.#byPrefix.getOrInsertComputed(prefix, () => new RuleStatistics({ prefix, ...rest }));
    counters.keys += 1;
    return counters;
  }

  /** Returns true if one more key with request values fits; counts a key that does not. */
  #admits(key: string): boolean {
    const isAdmitted =
      key.length <= DYNAMIC_KEY_MAX_LENGTH &&
      this.#dynamicRules.size + this.#dynamicCounters.size < this.#maxDynamicKeys;
    if (!isAdmitted) this.#droppedKeys.add(1);
    return isAdmitted;
  }
}
