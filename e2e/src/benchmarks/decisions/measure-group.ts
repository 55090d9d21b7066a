// Starts the servers of a group and measures them under every load in turn, round by round, so that a
// change of the machine meets all of them.
import { setTimeout as delay } from "node:timers/promises";
import type { CertificateFiles } from "@weir/harness/servers/certificate-files";
import { cpuTimeMs } from "../cpu-time.ts";
import { E2eError } from "../../errors.ts";
import type { Cores } from "../machine.ts";
import { BENCH_ENTRIES, processIds, type RunningContender, startContender, stopContender } from "./contenders.ts";
import { runGenerator } from "./generator.ts";
import { type Contender, type Load, type LoadGroup, rowName, type SelectedGroup } from "./loads.ts";
import type { Row, Sample } from "./results.ts";
import { type RunningStores, startStores } from "./stores.ts";
import type { TelemetryPorts } from "./telemetry-sink.ts";

/** Everything that the groups of a run share. */
export interface BenchPlace {
  readonly folder: string;
  readonly path: string;
  readonly cores: Cores;
  readonly certificates: CertificateFiles;
  readonly telemetry: TelemetryPorts;
  readonly generator: string;
  readonly earlierRoot: string | undefined;
}

/** Rounds and times of a run, and its observers. */
export interface MeasureOptions {
  readonly rounds: number;
  /** Seconds of load on each server before the first round, and before each measurement. */
  readonly startSeconds: number;
  readonly warmUpSeconds: number;
  readonly seconds: number;
  readonly progress: (text: string) => void;
  /** Called with each process group that is started, so that none outlives a crash. */
  readonly watch: (group: number) => void;
  /** Measuring ends early when it is aborted. */
  readonly signal: AbortSignal;
}

/** The rows of a group, and the settings of its servers by their names. */
export interface GroupResult {
  readonly rows: readonly Row[];
  readonly settings: Readonly<Record<string, string>>;
}

/** A server is quiet when it uses less than this share of its core. */
const QUIET_SHARE = 0.2;

/** Longest wait for a server to be quiet, and how long one look takes, in milliseconds. */
const QUIET_TIMEOUT_MS = 10_000;
const QUIET_LOOK_MS = 100;

/** Measures a group. */
export async function measureGroup(
  { group, rows }: SelectedGroup,
  place: BenchPlace,
  options: MeasureOptions,
): Promise<GroupResult> {
  const folder = `${place.folder}/${group.name}`;
  const stores = await startStores(group, { folder, pinned: place.cores.generator, telemetry: place.telemetry });
  stores.groups.forEach(options.watch);
  const servers: RunningContender[] = [];
  try {
    const wanted = new Set(rows.flatMap(({ contenders }) => contenders));
    for (const contender of wanted) {
      const server = await startContender(contender, { ...place, group, folder, ...stores });
      options.watch(server.process.pid);
      servers.push(server);
    }
    const samples = await measureRounds({ group, rows }, { servers, stores, place, options });
    const withSettings = servers.filter(({ settings }) => settings !== "");
    return {
      rows: rowsOf({ group, rows }, samples),
      settings: Object.fromEntries(
        withSettings.map(({ contender, settings }) => [`${group.name}, ${contender}`, settings]),
      ),
    };
  } finally {
    await Promise.all(servers.map(stopContender));
    await stores.stop();
  }
}

interface GroupRun {
  readonly servers: readonly RunningContender[];
  readonly stores: RunningStores;
  readonly place: BenchPlace;
  readonly options: MeasureOptions;
}

async function measureRounds(
  { group, rows }: SelectedGroup,
  run: GroupRun,
): Promise<ReadonlyMap<string, readonly Sample[]>> {
  const samples = new Map<string, Sample[]>();
  for (const server of run.servers) await warmUp(group, rows[0]!.load, server, run);
  for (let round = 1; round <= run.options.rounds; round++) {
    for (const { load, contenders } of rows) {
      // The order turns round by round: who goes first has no advantage.
      const order = round % 2 === 1 ? contenders : contenders.toReversed();
      for (const contender of order) {
        endIfInterrupted(run.options);
        const name = rowName(group.name, load.name, contender);
        run.options.progress(`round ${round} of ${run.options.rounds}: ${name}`);
        const server = run.servers.find((each) => each.contender === contender)!;
        samples.set(name, [...(samples.get(name) ?? []), await measure(group, load, server, run)]);
      }
    }
  }
  return samples;
}

function endIfInterrupted({ signal }: MeasureOptions): void {
  if (signal.aborted) throw new E2eError("BENCHMARK_FAILED", "Cannot finish the benchmark: it was interrupted");
}

/** Lets a server compile what it runs. */
async function warmUp(
  group: LoadGroup,
  load: Load,
  server: RunningContender,
  { place, options }: GroupRun,
): Promise<void> {
  endIfInterrupted(options);
  options.progress(`warm up: ${group.name}/${server.contender}`);
  const times = { warmUpSeconds: 0, seconds: options.startSeconds };
  const flags = generatorFlags(group, load, place, times);
  const command = ["env", ...place.cores.generator, place.generator];
  await runGenerator(command, ["--port", String(server.grpcPort), ...flags], `${group.title}, ${server.contender}`);
}

/** One measurement. Throws BENCHMARK_FAILED when an answer was not what it had to be. */
async function measure(
  group: LoadGroup,
  load: Load,
  server: RunningContender,
  { stores, place, options }: GroupRun,
): Promise<Sample> {
  await stores.clear();
  const pids = processIds(server);
  await untilQuiet(pids);
  const before = await stores.commands();
  const flags = generatorFlags(group, load, place, options);
  const watched = pids.flatMap((pid) => ["--watch", String(pid)]);
  const command = ["env", ...place.cores.generator, place.generator];
  const args = ["--port", String(server.grpcPort), ...flags, ...watched];
  const report = await runGenerator(command, args, `${group.title}, ${load.title}, ${server.contender}`);
  const after = await stores.commands();
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  return {
    perSecond: report.answers / report.seconds,
    // Without a single answer, as on a machine that stalls, no number would be right.
    ...(report.answers > 0 && {
      cpuMicrosPerDecision: (sum(report.watched.map(({ cpuMs }) => cpuMs)) * 1000) / report.answers,
    }),
    p50Micros: report.p50Micros,
    p99Micros: report.p99Micros,
    p999Micros: report.p999Micros,
    residentBytes: sum(report.watched.map(({ residentBytes }) => residentBytes)),
    ...(before !== undefined && after !== undefined && { commandsPerDecision: (after - before) / report.allAnswers }),
    generatorShare: report.generatorCpuMs / 1000 / report.seconds,
  };
}

function generatorFlags(
  group: LoadGroup,
  load: Load,
  place: BenchPlace,
  options: Pick<MeasureOptions, "warmUpSeconds" | "seconds">,
): readonly string[] {
  const entries = BENCH_ENTRIES[group.isOverLimit === true ? "over" : "within"];
  return [
    ...["--connections", String(load.connections), "--keys", String(load.keys)],
    ...(load.rate === undefined ? ["--in-flight", String(load.inFlight ?? 1)] : ["--rate", String(load.rate)]),
    ...["--warm-up", String(options.warmUpSeconds), "--seconds", String(options.seconds)],
    ...entries.flatMap((entry) => ["--entry", entry]),
    ...(group.isOverLimit === true ? ["--expect", "over"] : []),
    ...(load.hasTraceHeaders === true ? ["--trace-headers"] : []),
    ...(group.isTls === true ? ["--tls-ca", place.certificates.ca] : []),
  ];
}

/** Waits until the server has dealt with what the measurement before left, for a bounded time. */
async function untilQuiet(pids: readonly number[]): Promise<void> {
  const used = (): number => pids.reduce((total, pid) => total + cpuTimeMs(pid), 0);
  for (let waitedMs = 0; waitedMs < QUIET_TIMEOUT_MS; waitedMs += QUIET_LOOK_MS) {
    const beforeMs = used();
    await delay(QUIET_LOOK_MS);
    if (used() - beforeMs < QUIET_SHARE * QUIET_LOOK_MS) return;
  }
}

function rowsOf({ group, rows }: SelectedGroup, samples: ReadonlyMap<string, readonly Sample[]>): readonly Row[] {
  const row = (load: Load, contender: Contender): Row => ({
    group: group.name,
    load: load.name,
    groupTitle: group.title,
    loadTitle: load.title,
    isOpenLoop: load.rate !== undefined,
    contender,
    samples: samples.get(rowName(group.name, load.name, contender)) ?? [],
  });
  return rows.flatMap(({ load, contenders }) => contenders.map((contender) => row(load, contender)));
}
