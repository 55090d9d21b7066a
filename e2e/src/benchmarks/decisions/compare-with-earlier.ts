// `make bench ARGS="--against COMMIT"`: which servers of the earlier and of this version are held
// against each other, and the bar.
import type { ProgramContext } from "@weir/common/lifecycle/program";
import type { BenchArguments } from "./bench-arguments.ts";
import type { Comparison, ComparisonResult } from "./comparison.ts";
import { formatComparisons, measureComparisons } from "./comparison.ts";
import { buildEarlier } from "./earlier-build.ts";
import type { BenchPlace, MeasuredServer } from "./measured-server.ts";
import { startMeasuredServer } from "./measured-server.ts";
import type { MeasureOptions } from "./measurement.ts";
import { measure } from "./measurement.ts";
import { ONE_OF_MANY, OVER_LIMIT, PIPELINED, TWO_DESCRIPTORS, UNBATCHED } from "./workload.ts";

/**
 * Most that a decision with everything switched on may cost, as a multiple of what it cost before
 * with all that there was.
 */
const BAR = 1.2;

/**
 * Ratios are narrower than the figures they are made of, but a bar stands on them: they get more
 * rounds.
 */
const FURTHER_ROUNDS = 2;

/** Everything the comparison needs of a run. */
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
  const everything = { now: oursEverything, before: beforeEverything };
  const comparisons: readonly Comparison[] = [
    { name: "defaults", ...defaults, scenario: { load: PIPELINED, question: ONE_OF_MANY } },
    { name: "defaults", ...defaults, scenario: { load: UNBATCHED, question: ONE_OF_MANY } },
    { name: "everything on", ...everything, bar: BAR, scenario: { load: PIPELINED, question: ONE_OF_MANY } },
    { name: "everything on", ...everything, bar: BAR, scenario: { load: UNBATCHED, question: ONE_OF_MANY } },
    {
      name: "everything on, two descriptors",
      ...everything,
      bar: undefined,
      scenario: { load: PIPELINED, question: TWO_DESCRIPTORS },
    },
    {
      name: "everything on, over the limit",
      ...everything,
      bar: undefined,
      scenario: { load: PIPELINED, question: OVER_LIMIT },
    },
  ];
  const rounds = wanted.rounds + FURTHER_ROUNDS;
  const results = await measureComparisons(comparisons, rounds, (server, scenario, round) => {
    progress(`comparison, round ${round} of ${rounds}: ${scenario.load.name} over ${server.name}`);
    return measure(server, scenario, options);
  });
  const title = `Against ${earlier.description}, interleaved, ${rounds} rounds; everything on where a version has it`;
  return `${title}\n${formatComparisons(results)}\n${featureCost(results)}\n\n`;
}

// No bar: what the features cost of themselves. The two were measured in the same rounds, though
// not one right after the other.
function featureCost(results: readonly ComparisonResult[]): string {
  const costs = [PIPELINED, UNBATCHED].map((load) => {
    const of = (name: string): ComparisonResult =>
      results.find(({ comparison }) => comparison.name === name && comparison.scenario.load === load)!;
    return `${(of("everything on").nowMicros.median / of("defaults").beforeMicros.median).toFixed(2)} × (${load.name})`;
  });
  return `Everything on now against defaults before, medians: ${costs.join(", ")}`;
}
