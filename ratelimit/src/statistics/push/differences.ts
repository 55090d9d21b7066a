// What has changed in a store since it was last asked. Each sink has its own; the store knows
// nothing of them, so counting costs nothing more.
import { RULE_STATISTICS, type RuleStatistics, type StatisticsStore, WALK_STEP } from "../statistics-store.ts";

/** Hears what a flush sends. */
export interface DifferenceVisitor {
  /** A counter and by how much it grew; never 0. */
  counter(name: string, difference: number): void;
  /** A gauge and its value. */
  gauge(name: string, value: number): void;
}

/** The growth of every counter between one call and the next. */
export interface Differences {
  /**
   * Tells what grew since the last collection (the first time: since the process started), and
   * every gauge; in the steps of the store's walk. What was not told because nobody asked on is
   * told the next time. One collection at a time.
   */
  collect(visitor: DifferenceVisitor): Generator<undefined, void>;
}

/** Watches a store. */
export function createDifferences(store: StatisticsStore): Differences {
  return new StoreDifferences(store);
}

/** What has been told of a rule's counters, in the order of RULE_STATISTICS. */
interface Told {
  readonly values: number[];
  /** All of them together. Counters only grow, so an equal sum means that none did. */
  sum: number;
  /** The call in which the rule was last in the store. */
  round: number;
}

class StoreDifferences implements Differences {
  readonly #store: StatisticsStore;
  readonly #counters = new Map<string, number>();
  /**
   * Rules that have counted something; no larger than the rules of the store and those that left
   * since the last call.
   */
  readonly #rules = new Map<RuleStatistics, Told>();
  #round = 0;

  constructor(store: StatisticsStore) {
    this.#store = store;
  }

  *collect(visitor: DifferenceVisitor): Generator<undefined, void> {
    this.#round += 1;
    yield* this.#store.walk({
      counter: (name, value) => {
        const difference = value - (this.#counters.get(name) ?? 0);
        if (difference === 0) return;
        this.#counters.set(name, value);
        visitor.counter(name, difference);
      },
      rule: (statistics) => void this.#tellRule(statistics, this.#round, visitor),
      gauge: (name, value) => visitor.gauge(name, value),
      timer: () => undefined,
    });
    // A rule that left the store may have counted since the last call, and calls that still hold it
    // may count a little longer.
    let seen = 0;
    for (const [statistics, { round }] of this.#rules) {
      if (round !== this.#round && !this.#tellRule(statistics, round, visitor)) this.#rules.delete(statistics);
      if (++seen % WALK_STEP === 0) yield;
    }
  }

  /** Whether anything of the rule grew. */
  #tellRule(statistics: RuleStatistics, round: number, visitor: DifferenceVisitor): boolean {
    const sum = sumOf(statistics);
    let told = this.#rules.get(statistics);
    if (told !== undefined) told.round = round;
    if (sum === (told?.sum ?? 0)) return false;
    if (told === undefined) this.#rules.set(statistics, (told = { values: RULE_STATISTICS.map(() => 0), sum, round }));
    told.sum = sum;
    for (const [index, { name, field }] of RULE_STATISTICS.entries()) {
      const value = statistics[field];
      const difference = value - (told.values[index] ?? 0);
      if (difference === 0) continue;
      told.values[index] = value;
      visitor.counter(`${statistics.prefix}.${name}`, difference);
    }
    return true;
  }
}

function sumOf(statistics: RuleStatistics): number {
  const { totalHits, overLimit, nearLimit, overLimitWithLocalCache, withinLimit, shadowMode } = statistics;
  return totalHits + overLimit + nearLimit + overLimitWithLocalCache + withinLimit + shadowMode;
}
