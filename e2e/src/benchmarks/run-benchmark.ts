// The parts that all benchmarks share: the command line, the earlier commit, rounds in which servers take turns, and
// the end of what was started.
import type { ProgramContext } from "@weir/common/lifecycle/program";
import { runProgram } from "@weir/common/lifecycle/program";
import { ROOT } from "@weir/harness/processes/programs";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { buildEarlier, type EarlierBuild, type EarlierWorkspace } from "@weir/harness/weir/earlier-build";
import { E2eError } from "../errors.ts";
import { type BenchArguments, benchUsage, parseBenchArguments } from "./bench-arguments.ts";
import { describeMachine } from "./machine.ts";

export interface Benchmark {
  /** Such as `make bench`. */
  readonly name: string;
  readonly summary: string;
  /** Names of its measures on the command line; empty: its rows have names of their own. */
  readonly measures: readonly string[];
  /** The workspace that `--against` builds; undefined: it cannot be measured against an earlier commit. */
  readonly workspace?: EarlierWorkspace;
  readonly run: (bench: Bench) => Promise<void>;
}

/** A running benchmark. */
export interface Bench {
  readonly context: ProgramContext;
  readonly args: BenchArguments;
  /** A temporary folder, removed at the end of the process. */
  readonly folder: string;
  /** The machine, and its load before the first measurement. */
  readonly machine: string;
  readonly earlier: EarlierBuild | undefined;
  /** Notes how something that was started is stopped; the last one is stopped first. */
  readonly onStarted: (stop: () => Promise<unknown>) => void;
  /** Stops everything that was started. */
  readonly stopAll: () => Promise<void>;
}

/** Runs the benchmark as the program of this process. */
export function runBenchmark({ name, summary, measures, workspace, run }: Benchmark): void {
  runProgram({ name, summary, ...benchUsage(measures) }, async (context) => {
    const args = parseBenchArguments(context.args, measures);
    const folder = makeTemporaryFolder();
    process.on("exit", () => folder.remove());
    const stops: (() => Promise<unknown>)[] = [];
    const stopAll = async (): Promise<void> => {
      for (const stop of stops.splice(0).toReversed()) await stop();
    };
    const onStarted = (stop: () => Promise<unknown>): void => void stops.push(stop);
    let interruption: Promise<void> | undefined;
    const interrupt = (): void => {
      interruption = stopAll().finally(() => process.exit(130));
    };
    context.signal.addEventListener("abort", interrupt, { once: true });
    const machine = describeMachine();
    context.stdout(`${machine}\n`);
    try {
      const earlier = await build(args.against, workspace, context);
      await run({ context, args, folder: folder.path, machine, earlier, onStarted, stopAll });
    } finally {
      await interruption; // A failure caused by the stop must not end the process before all is stopped.
      await stopAll();
    }
  });
}

async function build(
  against: string | undefined,
  workspace: EarlierWorkspace | undefined,
  { env, stdout, stderr }: ProgramContext,
): Promise<EarlierBuild | undefined> {
  if (against === undefined) return undefined;
  if (workspace === undefined)
    throw new E2eError("BENCHMARK_FAILED", `Cannot measure against ${against}: this benchmark has no earlier programs`);
  const options = { root: ROOT, env, say: stderr, workspaces: [workspace] };
  const earlier = await buildEarlier(against, options).catch((cause: unknown) => {
    throw new E2eError("BENCHMARK_FAILED", cause instanceof Error ? cause.message : String(cause), { cause });
  });
  stdout(`Against ${earlier.description}\n`);
  return earlier;
}

/** A server in a round. */
export interface Turn<Item, Contender> {
  readonly round: number;
  readonly item: Item;
  readonly contender: Contender;
}

/** Each item on each of its contenders, round by round; their order turns, so that who goes first has no advantage. */
export function* turnsOf<Item extends { readonly contenders: readonly unknown[] }>(
  rounds: number,
  items: readonly Item[],
): Generator<Turn<Item, Item["contenders"][number]>> {
  for (let round = 1; round <= rounds; round++)
    for (const item of items)
      for (const contender of round % 2 === 1 ? item.contenders : item.contenders.toReversed())
        yield { round, item, contender };
}
