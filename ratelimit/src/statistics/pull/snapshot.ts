// Collects the statistics of a store into metric families for a scrape, in steps between which
// decisions run. Statistics with the same series are added up.
import { RULE_STATISTICS, type RuleStatistics } from "../rule-statistics.ts";
import type { StatisticsTimer } from "../statistic.ts";
import type { StatisticsStore } from "../statistics-store.ts";
import { type Family, labelsText, type SeriesValue } from "./exposition.ts";
import { type MappedName, type Mapping, mapName, type StatisticKind, type TimerOptions } from "./mapping.ts";

/** The series of one statistic, with its labels as text. */
interface Target extends Omit<MappedName, "labels"> {
  readonly labels: string;
}

/** Durations of one series so far. */
class Durations {
  readonly options: TimerOptions;
  sum = 0;
  count = 0;
  /** Per bound, and one more above the last; not cumulative. */
  readonly #counts: Float64Array;

  constructor(options: TimerOptions) {
    this.options = options;
    this.#counts = new Float64Array(options.kind === "histogram" ? options.buckets.length + 1 : 0);
  }

  record(durationMs: number, times: number): void {
    const value = durationMs * this.options.scale;
    this.sum += value * times;
    this.count += times;
    if (this.options.kind !== "histogram") return;
    const found = this.options.buckets.findIndex((bound) => value <= bound);
    const index = found === -1 ? this.options.buckets.length : found;
    this.#counts[index] = (this.#counts[index] ?? 0) + times;
  }

  read(): SeriesValue {
    const { options, sum, count } = this;
    let below = 0;
    const bounds = options.kind === "histogram" ? options.buckets : [];
    const buckets = bounds.map((bound, index) => ({ bound, count: (below += this.#counts[index] ?? 0) }));
    return { sum, count, buckets };
  }
}

type Kind = Family["type"];

interface GatheredFamily extends Family {
  readonly series: Map<string, SeriesValue>;
}

/** A timer's series, and what was recorded of it. */
interface TimedTarget {
  readonly target: Target;
  readonly durations: Durations;
}

/**
 * A view of a store through a mapping. Create it before anything is recorded: durations recorded
 * earlier are not in its histograms.
 */
export class Snapshots {
  readonly #store: StatisticsStore;
  readonly #mapping: Mapping;
  readonly #extraLabels: ReadonlyMap<string, string>;
  /** Stops listening to the store. */
  readonly close: () => void;
  /** The six targets of a rule are found once, because rules may be many and scrapes frequent. */
  readonly #ruleTargets = new WeakMap<RuleStatistics, readonly (Target | undefined)[]>();
  readonly #timerTargets = new WeakMap<StatisticsTimer, TimedTarget | null>();
  /** Durations by family and labels: several timers may share them. */
  readonly #durations = new Map<string, Durations>();

  /** `extraLabels` are on every series (EXTRA_TAGS). */
  constructor(
    { store, mapping }: { readonly store: StatisticsStore; readonly mapping: Mapping },
    { extraLabels }: { readonly extraLabels: ReadonlyMap<string, string> },
  ) {
    this.#store = store;
    this.#mapping = mapping;
    this.#extraLabels = extraLabels;
    this.close = store.onTimer((timer, durationMs, times) => {
      this.#timerTarget(timer)?.durations.record(durationMs, times);
    });
  }

  /** The families, sorted by name, in the steps of the store's walk. */
  *collect(): Generator<undefined, readonly Family[]> {
    const families = new Map<string, GatheredFamily>();
    const addNumber = (target: Target | undefined, type: Kind, value: number): void => {
      const series = target && familyOf(families, target, type)?.series;
      const present = series?.get(target?.labels ?? "");
      if (target !== undefined)
        series?.set(target.labels, value * target.scale + (typeof present === "number" ? present : 0));
    };
    yield* this.#store.walk({
      counter: (name, value) => addNumber(this.#target(name, "counter"), "counter", value),
      rule: (statistics) => {
        const targets = this.#targetsOfRule(statistics);
        for (const [index, { field }] of RULE_STATISTICS.entries())
          addNumber(targets[index], "counter", statistics[field]);
      },
      gauge: (name, value) => addNumber(this.#target(name, "gauge"), "gauge", value),
      timer: (timer) => {
        const found = this.#timerTarget(timer);
        if (found === undefined) return;
        const { target, durations } = found;
        familyOf(families, target, durations.options.kind)?.series.set(target.labels, durations.read());
      },
    });
    return Array.from(families.values()).sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  #targetsOfRule(statistics: RuleStatistics): readonly (Target | undefined)[] {
    let targets = this.#ruleTargets.get(statistics);
    if (targets === undefined) {
      const found = RULE_STATISTICS.map(({ name }) => this.#target(nameOf(statistics, name), "counter"));
      // Keeps equal labels once: there may be a hundred thousand rules.
      const labels = found[0]?.labels;
      targets = found.map((target) =>
        target !== undefined && target.labels === labels ? { ...target, labels } : target,
      );
      this.#ruleTargets.set(statistics, targets);
    }
    return targets;
  }

  #timerTarget(timer: StatisticsTimer): TimedTarget | undefined {
    let found = this.#timerTargets.get(timer);
    if (found === undefined) {
      const target = this.#target(timer.name, "timer");
      found = target === undefined ? null : { target, durations: this.#durationsOf(target) };
      this.#timerTargets.set(timer, found);
    }
    return found ?? undefined;
  }

  #durationsOf({ family, labels, timer }: Target): Durations {
    return this.#durations.getOrInsertComputed(`${family}{${labels}}`, () => new Durations(timer));
  }

  #target(name: string, kind: StatisticKind): Target | undefined {
    const mapped = mapName(this.#mapping, name, kind, this.#extraLabels);
    return mapped && { ...mapped, labels: labelsText(mapped.labels) };
  }
}

/**
 * The name of a rule's counter, with the name of the limit as a tag, which becomes a label: parts deeper than those of the
 * mapping are added up, and the limits of one rule must not be.
 */
function nameOf({ prefix, limit }: RuleStatistics, counter: string): string {
  if (limit === undefined) return `${prefix}.${counter}`;
  const end = prefix.length - limit.length;
  return `${prefix.slice(0, end - 1)}.${counter}.__limit=${prefix.slice(end).replaceAll(".", "_")}`;
}

/** The family of a target; undefined, so not shown, when a family of another type has its name. */
function familyOf(families: Map<string, GatheredFamily>, target: Target, type: Kind): GatheredFamily | undefined {
  const { family: name, help } = target;
  const family = families.getOrInsertComputed(name, () => ({ name, help, type, series: new Map() }));
  return family.type === type ? family : undefined;
}
