// The cost of a decision now against its cost in an earlier version, both servers measured in the
// same run, one right after the other.
import type { MeasuredServer } from "./measured-server.ts";
import type { Sample, Scenario } from "./measurement.ts";
import type { Spread } from "../summary.ts";
import { formatNumber, formatTable, ratioCells, spreadOf } from "../summary.ts";

/** Two servers that are asked the same. */
export interface Comparison {
  readonly name: string;
  readonly scenario: Scenario;
  readonly now: MeasuredServer;
  readonly before: MeasuredServer;
  /** Most that a decision may cost now, as a multiple of before; undefined = printed only. */
  readonly bar: number | undefined;
}

/**
 * What came of a comparison: processor time per decision in microseconds, and its ratio within each
 * round.
 */
export interface ComparisonResult {
  readonly comparison: Comparison;
  readonly nowMicros: Spread;
  readonly beforeMicros: Spread;
  readonly ratio: Spread;
}

/**
 * Measures every comparison `rounds` times. Who goes first changes from round to round, so that a
 * drift of the machine favours neither.
 */
export async function measureComparisons(
  comparisons: readonly Comparison[],
  rounds: number,
  measure: (server: MeasuredServer, scenario: Scenario, round: number) => Promise<Sample>,
): Promise<readonly ComparisonResult[]> {
  const micros = comparisons.map(() => ({ now: [] as number[], before: [] as number[] }));
  for (let round = 1; round <= rounds; round++) {
    for (const [index, { now, before, scenario }] of comparisons.entries()) {
      const order = round % 2 === 1 ? (["before", "now"] as const) : (["now", "before"] as const);
      for (const side of order) {
        const { cpuMicrosPerDecision } = await measure(side === "now" ? now : before, scenario, round);
        micros[index]![side].push(cpuMicrosPerDecision);
      }
    }
  }
  return comparisons.map((comparison, index) => {
    const { now, before } = micros[index]!;
    const ratios = now.map((value, round) => value / before[round]!);
    return { comparison, nowMicros: spreadOf(now), beforeMicros: spreadOf(before), ratio: spreadOf(ratios) };
  });
}

/** The table of them. */
export function formatComparisons(results: readonly ComparisonResult[]): string {
  const rows = results.map(({ comparison, nowMicros, beforeMicros, ratio }) => [
    comparison.name,
    comparison.scenario.load.name,
    formatNumber(beforeMicros, 1),
    formatNumber(nowMicros, 1),
    ...ratioCells(ratio, comparison.bar),
  ]);
  return formatTable(["Asked of Redis", "Load", "CPU µs before", "CPU µs now", "Ratio", "Bar", ""], rows);
}
