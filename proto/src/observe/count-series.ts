// The counts of a fleet in the last ten minutes, in steps of ten seconds: added up from observations of
// pods, or from the answers of replicas.
import { create } from "@bufbuild/protobuf";

import {
  type Observation,
  ObservationSchema,
  type RuleName,
  RuleNameSchema,
} from "../generated/weir/observe/v1/observe_pb.ts";

/** Length of a step, in seconds. */
export const STEP_SECONDS = 10;

/** Steps that are kept: ten minutes, and the step that is not over yet. */
const STEPS = 61;

/** Most rules of a fleet: a pod reports 500, and pods need not report the same. */
const RULES_MAX = 1000;

/** How far the clock of the sender may be ahead, in seconds. */
const AHEAD_MAX_SECONDS = 10;

/** Number of buckets of response times. */
const LATENCY_BUCKETS = 32;

const TOTALS = ["decisions", "rejections", "errors"] as const;
const RULE_COUNTS = ["hits", "overLimit", "nearLimit", "shadowMode"] as const;

/** A total of a fleet. */
export type TotalName = (typeof TOTALS)[number];

/** A count of a rule. */
export type RuleCountName = (typeof RULE_COUNTS)[number];

/** A rule and its counts. */
export interface CountedRule {
  readonly rule: RuleName;
  /** The sum of all steps. */
  sum(count: RuleCountName): number;
  /** Per second, in the last ten to twenty seconds. */
  rate(count: RuleCountName): number;
  /** One number for each step, the oldest first. */
  series(count: RuleCountName): readonly number[];
}

/** The counts of a fleet. */
export class CountSeries {
  readonly #totals = new StepCounts(TOTALS.length + LATENCY_BUCKETS);
  readonly #rules = new Map<string, { readonly rule: RuleName; readonly counts: StepCounts }>();
  #endSeconds = 0;
  /** True if nothing was added since `take`. */
  #isEmpty = true;

  /** End of the last second that was added, in seconds since the epoch; 0: none. */
  get endSeconds(): number {
    return this.#endSeconds;
  }

  /**
   * Adds an observation, but for steps that are not in the last ten minutes before `nowSeconds`. Its clock is
   * ahead by `-shiftSeconds`.
   */
  add(observation: Observation, nowSeconds: number, shiftSeconds = 0): void {
    const { startSeconds, stepSeconds, steps, totals, rules } = observation;
    this.#isEmpty = false;
    const start = Number(startSeconds) + shiftSeconds;
    const stepOf = (index: number): number | undefined => {
      const at = start + index * stepSeconds;
      const isTaken = at > nowSeconds - STEPS * STEP_SECONDS && at < nowSeconds + AHEAD_MAX_SECONDS;
      return isTaken && index < steps ? Math.floor(at / STEP_SECONDS) : undefined;
    };
    TOTALS.forEach((name, field) => this.#totals.addAll(field, totals?.[name] ?? [], stepOf));
    for (const { step, buckets } of totals?.latencies ?? []) {
      const at = stepOf(step);
      if (at === undefined) continue;
      buckets.slice(0, LATENCY_BUCKETS).forEach((count, bucket) => this.#totals.add(TOTALS.length + bucket, at, count));
    }
    for (const series of rules) {
      if (series.rule === undefined) continue;
      const counts = this.#countsOf(series.rule);
      RULE_COUNTS.forEach((name, field) => counts?.addAll(field, series[name], stepOf));
    }
    // The last step of ten seconds is not over; a second is reported when it is.
    const latest = stepSeconds < STEP_SECONDS ? nowSeconds + AHEAD_MAX_SECONDS : nowSeconds - 1;
    const end = Math.min(start + steps * stepSeconds, latest);
    this.#endSeconds = Math.max(this.#endSeconds, end);
  }

  /** Advances to the end of the last second, where another series has it. */
  advance(endSeconds: number): void {
    this.#endSeconds = Math.max(this.#endSeconds, endSeconds);
  }

  /** Everything as one observation, and then forgets it; the memory is used again for rules that count every time. */
  take(): Observation | undefined {
    if (this.#isEmpty) return undefined;
    const taken = this.observation();
    this.#totals.clear();
    for (const { counts } of this.#rules.values()) counts.clear();
    this.#isEmpty = true;
    return taken;
  }

  /** Everything as one observation; undefined: nothing was counted. Forgets rules that no longer count. */
  observation(): Observation | undefined {
    const last = this.#lastStep();
    const all = [...this.#rules].map(([id, { rule, counts }]) => ({ id, rule, counts, first: counts.firstStep(last) }));
    for (const { id, first } of all) if (first === undefined) this.#rules.delete(id);
    const first = Math.min(
      ...[this.#totals.firstStep(last), ...all.map((rule) => rule.first)].map((step) => step ?? Infinity),
    );
    if (first === Infinity) return undefined;
    const of = (counts: StepCounts, field: number): number[] => counts.series(field, first, last);
    return create(ObservationSchema, {
      startSeconds: BigInt(first * STEP_SECONDS),
      stepSeconds: STEP_SECONDS,
      steps: last - first + 1,
      totals: { ...fieldsOf(TOTALS, (field) => of(this.#totals, field)), latencies: this.#latencies(first, last) },
      rules: all
        .filter((each) => each.first !== undefined)
        .map(({ rule, counts }) => ({ rule, ...fieldsOf(RULE_COUNTS, (field) => of(counts, field)) })),
    });
  }

  /** The sum of a total over all steps. */
  sum(total: TotalName): number {
    return sumOf(this.series(total));
  }

  /** A total per second, in the last ten to twenty seconds. */
  rate(total: TotalName): number {
    return this.#rateOf(this.#totals, TOTALS.indexOf(total));
  }

  /** One number for each step, the oldest first. */
  series(total: TotalName): readonly number[] {
    return this.#seriesOf(this.#totals, TOTALS.indexOf(total));
  }

  /** The response time that this part of the calls of the last ten to twenty seconds did not exceed, in milliseconds. */
  latencyMs(part: number): number | undefined {
    const last = this.#lastStep();
    const buckets = Array.from({ length: LATENCY_BUCKETS }, (_, bucket) =>
      sumOf(this.#totals.series(TOTALS.length + bucket, last - 1, last)),
    );
    const wanted = sumOf(buckets) * part;
    if (wanted === 0) return undefined;
    let seen = 0;
    const found = buckets.findIndex((count) => (seen += count) >= wanted);
    return 2 ** ((found < 0 ? LATENCY_BUCKETS - 1 : found) / 2 - 4);
  }

  /** The rules that have counted something, those with most hits over the limit first. */
  rules(): readonly CountedRule[] {
    const all = Array.from(this.#rules.values(), ({ rule, counts }): CountedRule => {
      const series = (count: RuleCountName): readonly number[] => this.#seriesOf(counts, RULE_COUNTS.indexOf(count));
      return {
        rule,
        sum: (count) => sumOf(series(count)),
        rate: (count) => this.#rateOf(counts, RULE_COUNTS.indexOf(count)),
        series,
      };
    });
    const ranked = all.map((rule) => ({ rule, over: rule.sum("overLimit"), hits: rule.sum("hits") }));
    return ranked
      .filter(({ over, hits }) => over + hits > 0)
      .toSorted((one, other) => other.over - one.over || other.hits - one.hits)
      .map(({ rule }) => rule);
  }

  #countsOf(rule: RuleName): StepCounts | undefined {
    const id = ruleId(rule);
    const known = this.#rules.get(id);
    if (known !== undefined) return known.counts;
    if (this.#rules.size >= RULES_MAX) return undefined;
    const counts = new StepCounts(RULE_COUNTS.length);
    this.#rules.set(id, { rule: create(RuleNameSchema, { domain: rule.domain, path: rule.path }), counts });
    return counts;
  }

  #latencies(first: number, last: number): { step: number; buckets: number[] }[] {
    const rows = Array.from({ length: LATENCY_BUCKETS }, (_, bucket) => [
      ...this.#totals.series(TOTALS.length + bucket, first, last),
    ]);
    return Array.from({ length: last - first + 1 }, (_, step) => ({
      step,
      buckets: rows.map((row) => row[step] ?? 0),
    })).filter(({ buckets }) => buckets.some((count) => count > 0));
  }

  #seriesOf(counts: StepCounts, field: number): readonly number[] {
    const last = this.#lastStep();
    return counts.series(field, last - STEPS + 1, last);
  }

  #rateOf(counts: StepCounts, field: number): number {
    const last = this.#lastStep();
    const seconds = this.#endSeconds - (last - 1) * STEP_SECONDS;
    return sumOf(counts.series(field, last - 1, last)) / seconds;
  }

  /** The step of the last second. */
  #lastStep(): number {
    return Math.floor(Math.max(0, this.#endSeconds - 1) / STEP_SECONDS);
  }
}

/** Identifies a rule in a map: the length keeps the texts apart. */
export function ruleId({ domain, path }: Pick<RuleName, "domain" | "path">): string {
  return `${domain.length} ${domain}${path}`;
}

/** Numbers for the last steps; a step takes the place of the one that is too old. */
class StepCounts {
  readonly #width: number;
  readonly #counts: Float64Array;
  /** The step that is in each place. */
  readonly #steps = new Float64Array(STEPS).fill(-1);

  constructor(width: number) {
    this.#width = width;
    this.#counts = new Float64Array(STEPS * width);
  }

  addAll(field: number, counts: readonly number[], stepOf: (index: number) => number | undefined): void {
    counts.forEach((count, index) => {
      const step = count === 0 ? undefined : stepOf(index);
      if (step !== undefined) this.add(field, step, count);
    });
  }

  add(field: number, step: number, count: number): void {
    const place = step % STEPS;
    const known = this.#steps[place] ?? -1;
    if (known > step) return;
    if (known < step) {
      this.#counts.fill(0, place * this.#width, (place + 1) * this.#width);
      this.#steps[place] = step;
    }
    const index = place * this.#width + field;
    this.#counts[index] = (this.#counts[index] ?? 0) + count;
  }

  series(field: number, first: number, last: number): number[] {
    const numbers: number[] = [];
    for (let step = first; step <= last; step++) {
      const place = step % STEPS;
      numbers.push(this.#steps[place] === step ? (this.#counts[place * this.#width + field] ?? 0) : 0);
    }
    return numbers;
  }

  /** The oldest step with a number, of those that are kept up to `last`. */
  firstStep(last: number): number | undefined {
    let first = Infinity;
    for (const step of this.#steps) if (step >= 0 && step > last - STEPS && step < first && step <= last) first = step;
    return first === Infinity ? undefined : first;
  }

  clear(): void {
    this.#steps.fill(-1);
  }
}

function fieldsOf<Name extends string>(
  names: readonly Name[],
  valuesOf: (field: number) => number[],
): Record<Name, number[]> {
  return Object.fromEntries(names.map((name, field) => [name, valuesOf(field)])) as Record<Name, number[]>;
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}
