// The program behind `make bench`: measures throughput, processor time, latency and memory of the rate
// limit service next to envoyproxy/ratelimit, also against an earlier commit. docs/benchmarks.md has
// its results.
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { writeCertificates } from "@weir/harness/servers/certificate-files";
import { ENVOY_RATELIMIT_VERSION } from "@weir/harness/servers/envoy-ratelimit";
import { ROOT } from "@weir/harness/processes/programs";
import { toolsFolder } from "@weir/harness/processes/tools";
import { assignCores } from "../machine.ts";
import { type Bench, runBenchmark } from "../run-benchmark.ts";
import { formatCost } from "../summary.ts";
import type { DecisionsPlace } from "./contenders.ts";
import { buildGenerator } from "./generator.ts";
import { buildLongestTurn } from "./longest-turn.ts";
import { selectGroups } from "./loads.ts";
import { measureGroup } from "./measure-group.ts";
import { formatBars, formatResults, formatSettings } from "./report/report-tables.ts";
import { type BenchResults, costRatios, type Row } from "./report/results.ts";

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
const INNER_BENCHMARKS = {
  "Matching among many rules against few (one process, no decision)": "limits/src/rules/matching-benchmark.suite.ts",
  "Decision path alone (one process, no transport)": "ratelimit/src/decide/decide-benchmark.suite.ts",
  "Message codec against @bufbuild/protobuf (one process)":
    "ratelimit/src/transport/grpc/codec/codec-benchmark.suite.ts",
};

runBenchmark({
  name: "make bench",
  summary: "Measures decisions per second and processor time per decision, next to envoyproxy/ratelimit.",
  workspace: "ratelimit",
  measures: [],
  run: async (bench) => {
    const { args, context } = bench;
    const place: DecisionsPlace = {
      ...bench,
      times: TIMES[args.isQuick ? "quick" : "thorough"],
      path: context.env["PATH"] ?? "",
      cores: assignCores(),
      certificates: await writeCertificates(bench.folder),
      generator: await buildGenerator(toolsFolder(context.env)),
      longestTurn: await buildLongestTurn(toolsFolder(context.env)),
    };
    const results = await measureAll(place);
    if (args.isWritten) await writeResults(results, bench);
    if (args.only.length > 0) return;
    for (const [title, path] of Object.entries(INNER_BENCHMARKS))
      context.stdout(`${title}\n${await runInner(join(ROOT, path), place)}\n\n`);
  },
});

async function measureAll(place: DecisionsPlace): Promise<BenchResults> {
  const { args, context, times } = place;
  const head = {
    date: new Date().toISOString().slice(0, 10),
    commit: await commitOf(ROOT),
    machine: [...place.machine.split("\n"), `envoyproxy/ratelimit ${ENVOY_RATELIMIT_VERSION}; ${place.cores.note}`],
    method: `${args.rounds} rounds of ${times.seconds} s after ${times.warmUpSeconds} s, medians (and range)`,
    against: place.earlier?.description ?? null,
  };
  context.stdout(`${head.machine.at(-1)}\nCommit ${head.commit}; ${head.method}\n`);
  const rows: Row[] = [];
  const settings: Record<string, string> = {};
  for (const selected of selectGroups({ ...args, hasEarlier: place.earlier !== undefined })) {
    const result = await measureGroup(selected, place);
    rows.push(...result.rows);
    Object.assign(settings, result.settings);
  }
  const results = { ...head, settings, rows };
  const costs = costRatios(results);
  const tables = [formatSettings(results), formatResults(results), formatBars(results)];
  if (costs.length > 0) tables.push(formatCost(costs));
  context.stdout(`\n${tables.join("\n\n")}\n\n`);
  return results;
}

async function writeResults(results: BenchResults, { context }: Bench): Promise<void> {
  writeFileSync(join(ROOT, RESULTS_FILE), `${JSON.stringify(results, undefined, 2)}\n`);
  // The pages are made from that file by the generator of the documentation.
  const args = ["--conditions=source", join("tools", "generate", "benchmark-docs.ts")];
  await promisify(execFile)(process.execPath, args, { cwd: ROOT });
  context.stdout(
    `Wrote ${RESULTS_FILE}, docs/benchmarks.md, docs/benchmark-trials.md, docs/benchmarks.svg and README.md\n\n`,
  );
}

async function commitOf(root: string): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)("git", ["-C", root, "describe", "--always", "--dirty", "--exclude=*"]);
    return stdout.trim();
  } catch {
    return "unknown"; // Not a checkout, as in an unpacked archive.
  }
}

async function runInner(path: string, { args, cores }: DecisionsPlace): Promise<string> {
  const program = [process.execPath, "--conditions=source", path];
  const command = [...cores.server, ...program, ...(args.isQuick ? ["--quick"] : [])];
  const { stdout } = await promisify(execFile)("env", command);
  return stdout.trimEnd();
}
