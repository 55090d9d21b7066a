// The program behind `make bench`: measures throughput, processor time, latency and memory of the rate
// limit service next to envoyproxy/ratelimit, also against an earlier commit. docs/benchmarks.md has
// its results.
import { execFile } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { ProgramContext } from "@weir/common/lifecycle/program";
import { runProgram } from "@weir/common/lifecycle/program";
import { Guard } from "@weir/dev/processes/guard";
import { writeCertificates } from "@weir/harness/servers/certificate-files";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { toolsFolder } from "@weir/harness/processes/tools";
import { E2eError } from "../../errors.ts";
import { ENVOY_RATELIMIT_VERSION } from "@weir/harness/servers/envoy-ratelimit";
import { ROOT } from "@weir/harness/processes/programs";
import type { Cores } from "../machine.ts";
import { assignCores, describeMachine } from "../machine.ts";
import { type BenchArguments, BENCH_USAGE, parseBenchArguments } from "./bench-arguments.ts";
import { buildEarlier } from "@weir/harness/weir/earlier-build";
import { buildGenerator } from "./generator.ts";
import { selectGroups } from "./loads.ts";
import { type BenchPlace, measureGroup, type MeasureOptions } from "./measure-group.ts";
import { formatBars, formatResults, formatSettings } from "./report-tables.ts";
import type { BenchResults, Row } from "./results.ts";
import { startTelemetrySink } from "./telemetry-sink.ts";

/** Times of one measurement in seconds. */
const TIMES = {
  thorough: { startSeconds: 2, warmUpSeconds: 0.7, seconds: 2.5 },
  quick: { startSeconds: 0.3, warmUpSeconds: 0.2, seconds: 0.4 },
} as const;

/** File of the results, from the root of the repository. */
const RESULTS_FILE = join("docs", "benchmarks-results.json");

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
  {
    title: "Message codec against @bufbuild/protobuf (one process)",
    path: join("ratelimit", "dist", "transport", "weir", "codec", "codec.benchmark.js"),
  },
] as const;

runProgram(
  {
    name: "make bench",
    summary: "Measures decisions per second and processor time per decision, next to envoyproxy/ratelimit.",
    usage: BENCH_USAGE,
    flags: [
      { flag: "--quick", effect: "Short measurements: shows that everything works, and says little about speed." },
      {
        flag: "--only WORD",
        effect: "Measures only rows whose names, such as redis/8x64/weir, have this word; repeated: all words.",
      },
      {
        flag: "--against COMMIT",
        effect: "Builds that commit in the cache folder and measures its server together with ours.",
      },
      { flag: "--write", effect: `Writes the results into ${RESULTS_FILE} and the pages made from it.` },
    ],
  },
  bench,
);

async function bench(context: ProgramContext): Promise<number> {
  const wanted = parseBenchArguments(context.args);
  const folder = makeTemporaryFolder();
  process.on("exit", () => folder.remove());
  const cores = assignCores();
  // Servers in process groups of their own would outlive a crash of this program.
  const guard = new Guard({});
  const sink = await startTelemetrySink();
  try {
    const generator = await buildGenerator(toolsFolder(context.env));
    const earlier = wanted.against === undefined ? undefined : await build(wanted.against, context);
    const place: BenchPlace = {
      folder: folder.path,
      path: context.env["PATH"] ?? "",
      cores,
      certificates: await writeCertificates(folder.path),
      telemetry: sink.ports,
      generator,
      earlierRoot: earlier?.root,
    };
    const results = await measureAll(context, { wanted, place, guard, against: earlier?.description ?? null });
    if (wanted.isWritten) await writeResults(results, context);
  } finally {
    sink.stop();
    guard.release();
  }
  if (wanted.only.length > 0) return 0;
  for (const { title, path } of INNER_BENCHMARKS)
    context.stdout(`${title}\n${await runInner(join(ROOT, path), cores, wanted.isQuick)}\n\n`);
  return 0;
}

async function measureAll(
  context: ProgramContext,
  run: {
    readonly wanted: BenchArguments;
    readonly place: BenchPlace;
    readonly guard: Guard;
    readonly against: string | null;
  },
): Promise<BenchResults> {
  const { wanted, place, guard, against } = run;
  const times = TIMES[wanted.isQuick ? "quick" : "thorough"];
  const options: MeasureOptions = {
    rounds: wanted.rounds,
    ...times,
    progress: (text) => context.stderr(`${text}\n`),
    watch: (group) => guard.watch(group),
    signal: context.signal,
  };
  const head = {
    date: new Date().toISOString().slice(0, 10),
    commit: await commitOf(ROOT),
    machine: [...describeMachine().split("\n"), `envoyproxy/ratelimit ${ENVOY_RATELIMIT_VERSION}; ${place.cores.note}`],
    method: `${wanted.rounds} rounds of ${times.seconds} s after ${times.warmUpSeconds} s, medians (and range)`,
    against,
  };
  context.stdout(`${head.machine.join("\n")}\nCommit ${head.commit}; ${head.method}\n`);
  if (against !== null) context.stdout(`Against ${against}\n`);
  const rows: Row[] = [];
  const settings: Record<string, string> = {};
  for (const selected of selectGroups({ ...wanted, hasEarlier: place.earlierRoot !== undefined })) {
    const result = await measureGroup(selected, place, options);
    rows.push(...result.rows);
    Object.assign(settings, result.settings);
  }
  const results = { ...head, settings, rows };
  context.stdout(`\n${formatSettings(results)}\n\n${formatResults(results)}\n\n${formatBars(results)}\n\n`);
  return results;
}

function build(commit: string, context: ProgramContext): ReturnType<typeof buildEarlier> {
  return buildEarlier(commit, { root: ROOT, env: context.env, say: (text) => context.stderr(text) });
}

async function writeResults(results: BenchResults, context: ProgramContext): Promise<void> {
  writeFileSync(join(ROOT, RESULTS_FILE), `${JSON.stringify(results, undefined, 2)}\n`);
  // The pages are made from that file by the generator of the documentation.
  const args = ["--conditions=source", join("tools", "generate", "benchmark-docs.ts")];
  await promisify(execFile)(process.execPath, args, { cwd: ROOT });
  context.stdout(`Wrote ${RESULTS_FILE}, docs/benchmarks.md, docs/benchmarks.svg and README.md\n\n`);
}

async function commitOf(root: string): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)("git", ["-C", root, "describe", "--always", "--dirty", "--exclude=*"]);
    return stdout.trim();
  } catch {
    return "unknown"; // Not a checkout, as in an unpacked archive.
  }
}

async function runInner(path: string, cores: Cores, isQuick: boolean): Promise<string> {
  if (!existsSync(path))
    throw new E2eError("BENCHMARK_FAILED", `Cannot measure: ${path} does not exist; run make build`);
  const args = [...cores.server, process.execPath, path, ...(isQuick ? ["--quick"] : [])];
  const { stdout } = await promisify(execFile)("env", args);
  return stdout.trimEnd();
}
