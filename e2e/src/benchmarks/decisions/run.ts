// The program behind `make bench`: measures throughput, processor time, latency and memory of the rate
// limit service over every store, also against an earlier commit. docs/benchmarks.md has its results.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { ProgramContext } from "@weir/common/lifecycle/program";
import { runProgram } from "@weir/common/lifecycle/program";
import { E2eError } from "../../errors.ts";
import { ROOT } from "../../parts/programs.ts";
import { makeTemporaryFolder } from "@weir/testing/temporary-folder";
import { Guard } from "@weir/dev/processes/guard";
import type { BenchArguments } from "./bench-arguments.ts";
import { BENCH_USAGE, parseBenchArguments } from "./bench-arguments.ts";
import { compareWithEarlier } from "./comparison.ts";
import type { DecisionRow } from "./decision-table.ts";
import { formatDecisions, measureDecisions } from "./decision-table.ts";
import type { Cores } from "../machine.ts";
import { assignCores, describeMachine } from "../machine.ts";
import type { BenchPlace, MeasuredServer } from "./measured-server.ts";
import { startCeilingServer, startMeasuredServer } from "./measured-server.ts";
import type { MeasureOptions } from "./measurement.ts";
import { startTelemetrySink } from "./telemetry-sink.ts";
import { HOT_KEY, ONE_OF_MANY } from "./workload.ts";

/** Times of one measurement in milliseconds. */
const TIMES = { thorough: { warmUpMs: 1000, measureMs: 3000 }, quick: { warmUpMs: 500, measureMs: 1500 } } as const;

/**
 * The benchmarks that run inside one process, of code without transport and store. They are
 * programs: no code of the service is imported here.
 */
const INNER_BENCHMARKS = [
  {
    title: "Matching among many rules against few (one process, no decision)",
    path: join("limits", "dist", "rules", "matching.benchmark.js"),
  },
  {
    title: "Decision path alone (one process, no transport)",
    path: join("ratelimit", "dist", "decide", "decide.benchmark.js"),
  },
] as const;

runProgram(
  {
    name: "make bench",
    summary: "Measures decisions per second and processor time per decision of the rate limit service.",
    usage: BENCH_USAGE,
    flags: [
      { flag: "--quick", effect: "Short measurements: shows that everything works, and says little about speed." },
      {
        flag: "--against COMMIT",
        effect: "Builds that commit in the cache folder and measures its server together with ours.",
      },
    ],
  },
  bench,
);

async function bench(context: ProgramContext): Promise<number> {
  const wanted = parseBenchArguments(context.args);
  const folder = makeTemporaryFolder();
  const cores = assignCores();
  const stops: (() => Promise<unknown>)[] = [];
  // Servers in process groups of their own would outlive a crash of this program.
  const guard = new Guard({});
  process.on("exit", () => folder.remove());
  const stopAll = async (): Promise<void> => {
    await Promise.all(stops.splice(0).map((stop) => stop()));
  };
  const keep = (server: MeasuredServer): MeasuredServer => {
    for (const group of server.groups) guard.watch(group);
    stops.push(() => server.stop());
    return server;
  };
  context.signal.addEventListener("abort", () => void stopAll().finally(() => process.exit(130)), { once: true });
  try {
    const path = context.env["PATH"] ?? "";
    const sink = await startTelemetrySink();
    stops.push(async () => sink.stop());
    const place: BenchPlace = { folder: folder.path, path, cores, telemetry: sink.ports };
    await benchServers(context, { wanted, place, keep, stopServers: stopAll });
  } finally {
    await stopAll();
    guard.release();
  }
  for (const { title, path } of INNER_BENCHMARKS) {
    context.stdout(`${title}\n${await runInner(join(ROOT, path), cores, wanted.isQuick)}\n\n`);
  }
  return 0;
}

async function benchServers(
  context: ProgramContext,
  bench: {
    readonly wanted: BenchArguments;
    readonly place: BenchPlace;
    readonly keep: (server: MeasuredServer) => MeasuredServer;
    readonly stopServers: () => Promise<void>;
  },
): Promise<void> {
  const { wanted, place, keep } = bench;
  const times = TIMES[wanted.isQuick ? "quick" : "thorough"];
  const options: MeasureOptions = { pinned: place.cores.generator, times };
  const method = `${wanted.rounds} rounds of ${times.measureMs / 1000} s, medians (and range)`;
  context.stdout(`${describeMachine()}\nEngine grpc-js; ${place.cores.note}; ${method}\n\n`);
  const progress = (text: string): void => context.stderr(`${text}\n`);
  const rows: DecisionRow[] = [];
  for (const store of ["memory", "redis", "memcached"] as const) {
    const server = keep(await startMeasuredServer({ name: store, root: ROOT, store, isEverythingOn: false }, place));
    rows.push({ name: `grpc-js, ${STORE_NAMES[store]}`, server, question: ONE_OF_MANY });
    if (store === "redis") rows.push({ name: "grpc-js, Redis, hot key", server, question: HOT_KEY });
  }
  const ceiling = keep(await startCeilingServer(place));
  rows.push({ name: "nothing (ceiling of the generator)", server: ceiling, question: ONE_OF_MANY });
  const samples = await measureDecisions(rows, wanted.rounds, options, progress);
  context.stdout(`${formatDecisions(rows, samples)}\n\n`);
  if (wanted.against === undefined) return;
  context.stdout(
    await compareWithEarlier(wanted.against, { context, wanted, root: ROOT, place, keep, options, progress }),
  );
}

/** Stores as they are called in tables. */
const STORE_NAMES = { memory: "memory", redis: "Redis", memcached: "memcached" } as const;

async function runInner(path: string, cores: Cores, isQuick: boolean): Promise<string> {
  if (!existsSync(path))
    throw new E2eError("BENCHMARK_FAILED", `Cannot measure: ${path} does not exist; run make build`);
  const args = [...cores.server, process.execPath, path, ...(isQuick ? ["--quick"] : [])];
  const { stdout } = await promisify(execFile)("env", args);
  return stdout.trimEnd();
}
