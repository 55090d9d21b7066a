// The results of a run as data: what docs/benchmarks-results.json has, and what can be read from it.
import { ratiosOf, type Spread, spreadOf } from "../../summary.ts";
import { type Contender, rowName } from "../loads.ts";

/** The figures of one measurement. */
export interface Sample {
  readonly perSecond: number;
  /** Absent when no call was answered. */
  readonly cpuMicrosPerDecision?: number;
  readonly p50Micros: number;
  readonly p99Micros: number;
  readonly p999Micros: number;
  readonly residentBytes: number;
  /** Commands to the store per decision; absent where they are not counted. */
  readonly commandsPerDecision?: number;
  /** Processor time of the store per decision; absent where it is not measured. */
  readonly storeCpuMicrosPerDecision?: number;
  /** The turn of the event loop with the most processor time, and its wall time; absent where it is not measured. */
  readonly turnCpuMicros?: number;
  readonly turnWallMicros?: number;
  /** Share of one core that the generator used, 0 to 1. */
  readonly generatorShare: number;
}

/** A server under a load, over all rounds. */
export interface Row {
  /** Names of the group and the load, and their titles in tables. */
  readonly group: string;
  readonly load: string;
  readonly groupTitle: string;
  readonly loadTitle: string;
  readonly isOpenLoop: boolean;
  readonly contender: Contender;
  /** One per round. */
  readonly samples: readonly Sample[];
}

/** A run. */
export interface BenchResults {
  /** Such as 2026-11-22. */
  readonly date: string;
  readonly commit: string;
  /** Processor, memory, system and versions. */
  readonly machine: readonly string[];
  readonly method: string;
  /** The earlier commit, if one was measured. */
  readonly against: string | null;
  /** Settings of each server, by group and name. */
  readonly settings: Readonly<Record<string, string>>;
  readonly rows: readonly Row[];
}

/** The generator alone must be so many times as fast as a server whose speed counts. */
const CEILING_RATE = 1.5;

/** In an open loop its p99 must be at most this share of a p99 that counts. */
const CEILING_LATENCY = 1 / 4;

/** The row of a server under a load; undefined when it was not measured. */
export function findRow(results: BenchResults, group: string, load: string, contender: Contender): Row | undefined {
  return results.rows.find((row) => row.group === group && row.load === load && row.contender === contender);
}

/** Median and range of a figure over all rounds. */
export function figureOf(row: Row, read: (sample: Sample) => number | undefined): Spread | undefined {
  const values = row.samples.map(read).filter((value) => value !== undefined);
  return values.length === 0 ? undefined : spreadOf(values);
}

/**
 * True when the figures of `row` are those of the server and not of the generator: by the rate against
 * "nothing" under the same load, in an open loop also by its p99.
 */
export function isMeasurable(results: BenchResults, row: Row): boolean {
  const ceiling = findRow(results, row.group, row.load, "nothing");
  if (ceiling === undefined) return false;
  const [limit, rate] = [ceiling, row].map((each) => figureOf(each, ({ perSecond }) => perSecond)?.median ?? NaN);
  if (!row.isOpenLoop) return limit! >= CEILING_RATE * rate!;
  const [least, p99] = [ceiling, row].map((each) => figureOf(each, ({ p99Micros }) => p99Micros)?.median ?? NaN);
  return least! <= CEILING_LATENCY * p99!;
}

/** The ratio of a figure of two rows within each round; undefined when one was not measured. */
export function ratioOf(
  row: Row | undefined,
  other: Row | undefined,
  read: (sample: Sample) => number,
): Spread | undefined {
  if (row === undefined || other === undefined) return undefined;
  return row.samples.length === 0 ? undefined : ratiosOf(row.samples.map(read), other.samples.map(read));
}

/** Processor time per decision of each row of Weir against that of the earlier commit, where both were measured. */
export function costRatios(results: BenchResults): readonly { readonly name: string; readonly ratio: Spread }[] {
  return results.rows.flatMap((row) => {
    if (row.contender !== "weir") return [];
    const earlier = findRow(results, row.group, row.load, "earlier");
    const ratio = ratioOf(row, earlier, ({ cpuMicrosPerDecision = NaN }) => cpuMicrosPerDecision);
    return ratio === undefined ? [] : [{ name: rowName(row.group, row.load, "weir"), ratio }];
  });
}
