// What the benchmarks with named measures have in common: the choice on the command line, the end of what
// was started, and the table.
import type { ProgramContext } from "@weir/common/lifecycle/program";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";

import { E2eError } from "../errors.ts";
import { describeMachine } from "./machine.ts";
import { formatTable } from "./summary.ts";

/** A measure has a name on the command line. */
interface Measure {
  readonly id: string;
}

/** Where a benchmark works. */
export interface BenchPlace {
  /** A temporary folder, removed at the end of the process. */
  readonly folder: string;
  /** Notes how something that was started is stopped; the last one is stopped first. */
  readonly onStarted: (stop: () => Promise<void>) => void;
  /** Stops everything that was started. */
  readonly stopAll: () => Promise<void>;
}

/** A benchmark with measures of one kind. */
export interface MeasuredBench<M extends Measure> {
  readonly measures: readonly M[];
  readonly header: readonly string[];
  /** Starts what all measures need, and gives what runs one: it resolves to the rows of the table. */
  readonly begin: (place: BenchPlace) => Promise<(measure: M) => Promise<readonly (readonly string[])[]>>;
}

/** The names of the measures, for --help. */
export function usageOf(measures: readonly Measure[]): string {
  return `[${measures.map(({ id }) => id).join("|")}]...`;
}

/** The measures of these names, in their order; all without a name. Throws an E2eError for an unknown name. */
export function chooseMeasures<M extends Measure>(measures: readonly M[], ids: readonly string[]): readonly M[] {
  for (const id of ids) {
    if (measures.some((measure) => measure.id === id)) continue;
    throw new E2eError(
      "BENCHMARK_FAILED",
      `Cannot measure '${id}': there are ${measures.map((measure) => measure.id).join(", ")}; without a name all are measured`,
    );
  }
  return ids.length === 0 ? measures : measures.filter(({ id }) => ids.includes(id));
}

/**
 * Runs the measures one after the other and prints their rows: each as it is measured on stderr, the table at
 * the end. Resolves to the exit code.
 */
export async function runMeasures<M extends Measure>(
  context: ProgramContext,
  { measures, header, begin }: MeasuredBench<M>,
): Promise<number> {
  const folder = makeTemporaryFolder();
  process.on("exit", () => folder.remove());
  const stops: (() => Promise<void>)[] = [];
  const stopAll = async (): Promise<void> => {
    for (const stop of stops.splice(0).toReversed()) await stop();
  };
  let interruption: Promise<void> | undefined;
  const interrupt = (): void => {
    interruption = stopAll().finally(() => process.exit(130));
  };
  context.signal.addEventListener("abort", interrupt, { once: true });
  context.stdout(`${describeMachine()}\n\n`);
  const rows: (readonly string[])[] = [];
  try {
    const run = await begin({ folder: folder.path, onStarted: (stop) => void stops.push(stop), stopAll });
    for (const measure of measures) {
      context.stderr(`${measure.id} …\n`);
      const measured = await run(measure);
      rows.push(...measured);
      for (const row of measured) context.stderr(`  ${row.join("  ")}\n`);
    }
  } catch (error) {
    await interruption; // A failure caused by the stop must not end the process before all is stopped.
    throw error;
  } finally {
    // What was measured before a failure is worth reading, also when something cannot be stopped.
    if (rows.length > 0) context.stdout(`${formatTable(header, rows)}\n`);
    await stopAll();
  }
  return 0;
}
