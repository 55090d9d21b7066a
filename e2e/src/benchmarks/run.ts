// The program behind `make bench`: measures decisions per second, processor time per decision and latency of the rate limit
// service, over memory and over Redis, and prints a table. docs/benchmarks.md holds its results and says how to read them.
import { execFile, execFileSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { ProgramContext } from "@weir/common/lifecycle/program";
import { runProgram } from "@weir/common/lifecycle/program";
import { RateLimitService } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";
import { E2eError } from "../errors.ts";
import { makeTemporaryFolder } from "../parts/temporary-folder.ts";
import { startGuard } from "../stack/guard.ts";
import { STACK_HOST } from "../stack/ports.ts";
import { cpuTimeMs, waitedForCoreMs } from "./cpu-time.ts";
import type { LoadOrder, LoadReport } from "./load-generator.ts";
import type { MeasuredServer, Variant } from "./measured-server.ts";
import { benchmarkRequest, startCeilingServer, startMeasuredServer } from "./measured-server.ts";
import { formatNumber, formatTable, formatThousands, spreadOf } from "./summary.ts";

/** Root of the repository, seen from dist/benchmarks as well as from src/benchmarks. */
const ROOT = join(import.meta.dirname, "..", "..", "..");

/** Different keys that the load asks about, so that no counter is always in a cache. */
const KEYS = 100_000;

/** How often each variant is measured; the variants take turns, so that a change of the machine meets all of them. */
const ROUNDS_DEFAULT = 3;

/** Times of one measurement in milliseconds. */
const TIMES = { warmUpMs: 1500, measureMs: 4000 } as const;

/** The loads, named as in docs/benchmarks.md. */
const LOADS = [
  { name: "8 connections × 64", connections: 8, load: { kind: "closed", inFlight: 64 } },
  { name: "16 connections × 1", connections: 16, load: { kind: "closed", inFlight: 1 } },
  { name: "open loop, 5 k/s", connections: 8, load: { kind: "open", perSecond: 5000 } },
] as const satisfies readonly (Pick<LoadOrder, "connections" | "load"> & { readonly name: string })[];

/** What is measured, with its name in the table. */
const VARIANTS: readonly { readonly variant: Variant; readonly name: string }[] = [
  { variant: "memory", name: "grpc-js, memory" },
  { variant: "redis", name: "grpc-js, Redis" },
  { variant: "ceiling", name: "nothing (ceiling of the generator)" },
];

/** One measurement. */
interface Sample {
  readonly report: LoadReport;
  readonly cpuMicrosPerDecision: number;
  /** Share of the time in which the server had work but no core, 0 to 1. */
  readonly waitedShare: number;
}

runProgram(
  {
    name: "make bench",
    summary: "Measures decisions per second and processor time per decision of the rate limit service.",
    usage: "[ROUNDS]",
  },
  bench,
);

async function bench(context: ProgramContext): Promise<number> {
  const rounds = parseRounds(context.args[0]);
  const folder = makeTemporaryFolder();
  const cores = pinning();
  const servers: MeasuredServer[] = [];
  // Servers in process groups of their own would outlive a crash of this program.
  const guard = startGuard({});
  process.on("exit", () => folder.remove());
  const stopAll = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.stop()));
    guard.release();
  };
  context.signal.addEventListener("abort", () => void stopAll().finally(() => process.exit(130)), { once: true });
  try {
    for await (const server of startServers(folder.path, context.env["PATH"] ?? "", cores)) {
      guard.watch(server.pid);
      servers.push(server);
    }
    context.stdout(`${describeMachine(cores.note, rounds)}\n\n`);
    const samples = await measureAll(servers, rounds, cores.generator, (text) => context.stderr(text));
    context.stdout(`${describeSamples(samples)}\n\n`);
  } finally {
    await stopAll();
  }
  context.stdout(`${await measureAllocation()}\n`);
  return 0;
}

// One by one, so that those which run already are known and stopped when a later one fails.
async function* startServers(folder: string, path: string, cores: ReturnType<typeof pinning>): AsyncGenerator<MeasuredServer> {
  yield await startCeilingServer({ path, pinned: cores.server });
  for (const variant of ["memory", "redis"] as const) {
    const own = join(folder, variant);
    mkdirSync(own);
    yield await startMeasuredServer(variant, { folder: own, root: ROOT, path, pinned: cores.server, pinnedOther: cores.generator });
  }
}

function parseRounds(text: string | undefined): number {
  if (text === undefined) return ROUNDS_DEFAULT;
  if (!/^[1-9]\d?$/.test(text)) throw new E2eError("BENCHMARK_FAILED", `Cannot measure '${text}' rounds: allowed is 1 to 99`);
  return Number(text);
}

async function measureAll(
  servers: readonly MeasuredServer[],
  rounds: number,
  pinned: readonly string[],
  progress: (text: string) => void,
): Promise<ReadonlyMap<string, readonly Sample[]>> {
  const samples = new Map<string, Sample[]>();
  for (let round = 1; round <= rounds; round++) {
    for (const load of LOADS) {
      for (const server of servers) {
        progress(`round ${round} of ${rounds}: ${load.name} over ${server.variant}\n`);
        const name = `${load.name}|${server.variant}`;
        samples.set(name, [...(samples.get(name) ?? []), await measure(server, load, pinned)]);
      }
    }
  }
  return samples;
}

async function measure(server: MeasuredServer, load: (typeof LOADS)[number], pinned: readonly string[]): Promise<Sample> {
  const order: LoadOrder = {
    host: STACK_HOST,
    port: server.grpcPort,
    path: serviceDefinition(RateLimitService).shouldRateLimit.path,
    message: Buffer.from(benchmarkRequest()).toString("base64"),
    keys: KEYS,
    ...TIMES,
    connections: load.connections,
    load: load.load,
  };
  const args = [...pinned, process.execPath, join(import.meta.dirname, "load-generator.js"), JSON.stringify(order)];
  const running = promisify(execFile)("env", args);
  // Processor time of the whole run against the calls of the measured part would be wrong: it is read at both ends of that part.
  const cpu = watchCpu(server.pid);
  try {
    const { stdout } = await running;
    const report = JSON.parse(stdout) as LoadReport;
    if (report.overLimit > 0)
      throw new E2eError("BENCHMARK_FAILED", `${report.overLimit} answers were over a limit that cannot be reached`);
    const { cpuMs, waitedMs } = cpu.between(report.beganMs, report.endedMs);
    return { report, cpuMicrosPerDecision: (cpuMs * 1000) / report.answers, waitedShare: waitedMs / (report.endedMs - report.beganMs) };
  } catch (cause) {
    if (cause instanceof E2eError) throw cause;
    // The generator's own words; around them is nothing but its command line.
    const reason = (cause as { stderr?: string }).stderr?.trim() ?? String(cause);
    throw new E2eError("BENCHMARK_FAILED", `Cannot measure ${load.name} over ${server.variant}: ${reason}`);
  } finally {
    cpu.stop();
  }
}

/** How often the processor time of the server is read, in milliseconds. */
const CPU_INTERVAL_MS = 50;

// Reads the processor time at short intervals, with the time of each reading, so that any span can be asked for afterwards.
function watchCpu(pid: number): {
  between(beganMs: number, endedMs: number): { readonly cpuMs: number; readonly waitedMs: number };
  stop(): void;
} {
  const readings: { readonly atMs: number; readonly cpuMs: number; readonly waitedMs: number }[] = [];
  const read = (): void => {
    readings.push({ atMs: Date.now(), cpuMs: cpuTimeMs(pid), waitedMs: waitedForCoreMs(pid) });
  };
  read();
  const timer = setInterval(read, CPU_INTERVAL_MS);
  return {
    between: (beganMs, endedMs) => {
      const inside = readings.filter(({ atMs }) => atMs >= beganMs && atMs <= endedMs);
      const [first, last] = [inside[0], inside.at(-1)];
      if (first === undefined || last === undefined || first === last) {
        throw new E2eError("BENCHMARK_FAILED", "The processor time could not be read often enough");
      }
      // The readings cover almost the whole span; the rest is taken to cost the same.
      const scale = (endedMs - beganMs) / (last.atMs - first.atMs);
      return { cpuMs: (last.cpuMs - first.cpuMs) * scale, waitedMs: (last.waitedMs - first.waitedMs) * scale };
    },
    stop: () => clearInterval(timer),
  };
}

function describeSamples(samples: ReadonlyMap<string, readonly Sample[]>): string {
  const rows = LOADS.flatMap((load) =>
    VARIANTS.map(({ variant, name }) => {
      const all = samples.get(`${load.name}|${variant}`) ?? [];
      const spread = (read: (sample: Sample) => number): ReturnType<typeof spreadOf> => spreadOf(all.map(read));
      return [
        load.name,
        name,
        formatThousands(spread(({ report }) => report.answers / report.seconds)),
        formatNumber(
          spread((sample) => sample.cpuMicrosPerDecision),
          1,
        ),
        formatNumber(
          spread(({ report }) => report.p50Ms),
          2,
        ),
        formatNumber(
          spread(({ report }) => report.p99Ms),
          2,
        ),
        formatShare(Math.max(...all.map(({ waitedShare }) => waitedShare))),
        formatShare(Math.max(...all.map(({ report }) => report.generatorLoad))),
      ];
    }),
  );
  return formatTable(
    ["Load", "Server", "Decisions per second", "CPU µs per decision", "p50 ms", "p99 ms", "Kept waiting", "Generator"],
    rows,
  );
}

function formatShare(share: number): string {
  return Number.isNaN(share) ? "unknown" : `${(share * 100).toFixed(0)} %`;
}

// Server on one core, load and Redis on another, where the machine has two and the tool to say so.
function pinning(): { readonly server: readonly string[]; readonly generator: readonly string[]; readonly note: string } {
  try {
    execFileSync("taskset", ["-c", "0,1", "true"], { stdio: "ignore" });
    return { server: ["taskset", "-c", "0"], generator: ["taskset", "-c", "1"], note: "server on core 0, load generator on core 1" };
  } catch {
    return { server: [], generator: [], note: "cores not pinned (no taskset, or one core only)" };
  }
}

function describeMachine(pinned: string, rounds: number): string {
  const processors = cpus();
  return [
    `${processors.length} × ${processors[0]?.model.trim() ?? "unknown processor"}, Node ${process.versions.node}, ${process.platform} ${process.arch}`,
    `Engine grpc-js; ${pinned}; ${KEYS} keys, ${rounds} rounds of ${TIMES.measureMs / 1000} s, medians (and range)`,
  ].join("\n");
}

// The benchmark of the decision path alone lives beside that path; it is a program, so no code of the service is imported here.
async function measureAllocation(): Promise<string> {
  const path = join(ROOT, "ratelimit", "dist", "decide", "decide.benchmark.js");
  if (!existsSync(path))
    throw new E2eError("BENCHMARK_FAILED", `Cannot measure bytes allocated per decision: ${path} does not exist; run make build`);
  const { stdout } = await promisify(execFile)(process.execPath, [path]);
  return `Decision path alone (no transport)\n${stdout.trimEnd()}`;
}
