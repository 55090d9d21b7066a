// Finds the changes in a store since the last flush of a sink. Each sink has its own, so counting
// costs no more with many sinks.
import { RULE_STATISTICS, type RuleStatistics } from "../rule-statistics.ts";
import { type StatisticsStore, WALK_STEP } from "../statistics-store.ts";

/** Receives what a flush sends. */
export interface DifferenceVisitor {
  /** A counter and by how much it grew; never 0. */
  counter(name: string, difference: number): void;
  gauge(name: string, value: number): void;
}

/** The counters of a rule as they were sent, in the order of RULE_STATISTICS. */
interface Sent {
  readonly values: number[];
  /** All of them together. Counters only grow, so an equal sum means that none did. */
  sum: number;
  /** The collection in which the rule was last in the store. */
  epoch: number;
}

/** The growth of every counter of a store from one collection to the next. */
export class Differences {
  readonly #store: StatisticsStore;
  readonly #counters = new Map<string, number>();
  /**
   * Rules that have counted something: those of the store, and those that left since the last
   * collection.
   */
  readonly #rules = new Map<RuleStatistics, Sent>();
  #epoch = 0;

  constructor(store: StatisticsStore) {
    this.#store = store;
  }

  /**
   * Visits every gauge and the counters that grew since the last collection (the first time: since
   * the process started), in the steps of the store's walk. Growth that a caller left out by not
   * asking for further steps comes with the next collection. One collection at a time.
   */
  *collect(visitor: DifferenceVisitor): Generator<undefined, void> {
    this.#epoch += 1;
    yield* this.#store.walk({
      counter: (name, value) => {
        const difference = value - (this.#counters.get(name) ?? 0);
        if (difference === 0) return;
        this.#counters.set(name, value);
        visitor.counter(name, difference);
      },
      rule: (statistics) => void this.#visitRule(statistics, this.#epoch, visitor),
      gauge: (name, value) => visitor.gauge(name, value),
      timer: () => undefined,
    });
    // A rule that left the store may have counted since the last collection, and running calls may
    // still count on it.
    let seen = 0;
    for (const [statistics, { epoch }] of this.#rules) {
      if (epoch !== this.#epoch && !this.#visitRule(statistics, epoch, visitor)) this.#rules.delete(statistics);
      if (++seen % WALK_STEP === 0) yield;
    }
  }

  /** Visits the counters of the rule that grew; returns false if none did. */
  #visitRule(statistics: RuleStatistics, epoch: number, visitor: DifferenceVisitor): boolean {
    const sum = sumOf(statistics);
    let sent = this.#rules.get(statistics);
    if (sent !== undefined) sent.epoch = epoch;
    if (sum === (sent?.sum ?? 0)) return false;
    if (sent === undefined) this.#rules.set(statistics, (sent = { values: RULE_STATISTICS.map(() => 0), sum, epoch }));
    sent.sum = sum;
    for (const [index, { name, field }] of RULE_STATISTICS.entries()) {
      const value = statistics[field];
      const difference = value - (sent.values[index] ?? 0);
      if (difference === 0) continue;
      sent.values[index] = value;
      visitor.counter(`${statistics.prefix}.${name}`, difference);
    }
    return true;
  }
}

function sumOf(statistics: RuleStatistics): number {
  const { totalHits, overLimit, nearLimit, overLimitWithLocalCache, withinLimit, shadowMode, totalNegativeHits } =
    statistics;
  return totalHits + overLimit + nearLimit + overLimitWithLocalCache + withinLimit + shadowMode + totalNegativeHits;
}
