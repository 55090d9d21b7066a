// `make bench ARGS="--against COMMIT"`: the cost of a decision now against its cost in an earlier
// version, both servers measured in the same run, one right after the other.
import type { ProgramContext } from "@weir/common/lifecycle/program";
import type { BenchArguments } from "./bench-arguments.ts";
import { buildEarlier } from "./earlier-build.ts";
import { type BenchPlace, type MeasuredServer, startMeasuredServer } from "./measured-server.ts";
import { measure, type MeasureOptions, type Sample, type Scenario } from "./measurement.ts";
import { formatNumber, formatTable, ratioCells, type Spread, spreadOf } from "../summary.ts";
import { ONE_OF_MANY, OVER_LIMIT, PIPELINED, TWO_DESCRIPTORS, UNBATCHED } from "./workload.ts";

/** Most that a decision with everything switched on may cost, as a multiple of its cost before. */
const BAR = 1.2;

/** More rounds than the other figures, because a bar is compared with the ratios. */
const FURTHER_ROUNDS = 2;

/** Two servers that are asked the same. */
export interface Comparison {
  readonly name: string;
  readonly scenario: Scenario;
  readonly now: MeasuredServer;
  readonly before: MeasuredServer;
  /** Most that a decision may cost now, as a multiple of before; undefined = printed only. */
  readonly bar: number | undefined;
}

/** The result: processor time per decision in microseconds, and its ratio within each round. */
export interface ComparisonResult {
  readonly comparison: Comparison;
  readonly nowMicros: Spread;
  readonly beforeMicros: Spread;
  readonly ratio: Spread;
}

/** The parts of a run that the comparison needs. */
export interface ComparisonRun {
  readonly context: ProgramContext;
  readonly wanted: BenchArguments;
  readonly root: string;
  readonly place: BenchPlace;
  /** Makes sure that a server is stopped at the end. */
  readonly keep: (server: MeasuredServer) => MeasuredServer;
  readonly options: MeasureOptions;
  readonly progress: (text: string) => void;
}

/** Builds the commit, measures, and returns what is to be printed. */
export async function compareWithEarlier(commit: string, run: ComparisonRun): Promise<string> {
  const { context, wanted, root, place, keep, options, progress } = run;
  const earlier = await buildEarlier(commit, { root, env: context.env, say: (text) => context.stderr(text) });
  const start = async (name: string, of: string, isEverythingOn: boolean): Promise<MeasuredServer> =>
    keep(await startMeasuredServer({ name, root: of, store: "redis", isEverythingOn }, place));
  const before = await start("before", earlier.root, false);
  const beforeEverything = await start("before-everything", earlier.root, true);
  const oursEverything = await start("everything", root, true);
  // A server of its own: one that was measured before has a fuller heap than the earlier version's,
  // which just started.
  const now = await start("redis", root, false);
  const defaults = { now, before, bar: undefined };
  const everything = { now: oursEverything, before: beforeEverything, bar: BAR };
  const comparisons: readonly Comparison[] = [
    { name: "defaults", ...defaults, scenario: { load: PIPELINED, question: ONE_OF_MANY } },
    { name: "defaults", ...defaults, scenario: { load: UNBATCHED, question: ONE_OF_MANY } },
    { name: "everything on", ...everything, scenario: { load: PIPELINED, question: ONE_OF_MANY } },
    { name: "everything on", ...everything, scenario: { load: UNBATCHED, question: ONE_OF_MANY } },
    ...[
      { name: "everything on, two descriptors", question: TWO_DESCRIPTORS },
      { name: "everything on, over the limit", question: OVER_LIMIT },
    ].map(({ name, question }) => ({ ...everything, name, bar: undefined, scenario: { load: PIPELINED, question } })),
  ];
  const rounds = wanted.rounds + FURTHER_ROUNDS;
  const results = await measureComparisons(comparisons, rounds, (server, scenario, round) => {
    progress(`comparison, round ${round} of ${rounds}: ${scenario.load.name} over ${server.name}`);
    return measure(server, scenario, options);
  });
  const title = `Against ${earlier.description}, interleaved, ${rounds} rounds; everything on where a version has it`;
  return `${title}\n${formatComparisons(results)}\n${featureCost(results)}\n\n`;
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

// The cost of the features themselves, without a bar. The two were measured in the same rounds, but
// not one right after the other.
function featureCost(results: readonly ComparisonResult[]): string {
  const costs = [PIPELINED, UNBATCHED].map((load) => {
    const of = (name: string): ComparisonResult =>
      results.find(({ comparison }) => comparison.name === name && comparison.scenario.load === load)!;
    return `${(of("everything on").nowMicros.median / of("defaults").beforeMicros.median).toFixed(2)} × (${load.name})`;
  });
  return `Everything on now against defaults before, medians: ${costs.join(", ")}`;
}
