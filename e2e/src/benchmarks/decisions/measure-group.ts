// Starts the servers of a group and measures them under every load in turn, round by round, so that a
// change of the machine meets all of them.
import { setTimeout as delay } from "node:timers/promises";
import { cpuTimeMs } from "../cpu-time.ts";
import { turnsOf } from "../run-benchmark.ts";
import {
  BENCH_ENTRIES,
  LIMIT_ENTRIES,
  NEXT_DESCRIPTOR,
  type DecisionsPlace,
  processIds,
  type RunningContender,
  startContender,
  writeOtherRules,
} from "./contenders.ts";
import { runGenerator } from "./generator.ts";
import { clearLongestTurn, readLongestTurn } from "./longest-turn.ts";
import { type Contender, type Load, type LoadGroup, rowName, type SelectedGroup } from "./loads.ts";
import type { Row, Sample } from "./report/results.ts";
import { type RunningStores, startStores } from "./stores.ts";

/** The rows of a group, and the settings of its servers by their names. */
export interface GroupResult {
  readonly rows: readonly Row[];
  readonly settings: Readonly<Record<string, string>>;
}

/** A server is quiet when it uses less than this share of its core. */
const QUIET_SHARE = 0.2;

const EDIT_INTERVAL_MS = 1000;

/** Longest wait for a server to be quiet, and how long one look takes, in milliseconds. */
const QUIET_TIMEOUT_MS = 10_000;
const QUIET_LOOK_MS = 100;

/** Measures a group. */
export async function measureGroup({ group, rows }: SelectedGroup, place: DecisionsPlace): Promise<GroupResult> {
  const { args, context } = place;
  const folder = `${place.folder}/${group.name}`;
  const stores = await startStores(group, { folder, pinned: place.cores.generator, onStarted: place.onStarted });
  const servers = new Map<Contender, RunningContender>();
  for (const contender of new Set(rows.flatMap(({ contenders }) => contenders)))
    servers.set(contender, await startContender(contender, { ...place, group, folder, ...stores }));
  for (const [contender, server] of servers) {
    // Lets it compile what it runs.
    context.stderr(`warm up: ${group.name}/${contender}\n`);
    await generate(group, rows[0]!.load, {
      server,
      place,
      times: { warmUpSeconds: 0, seconds: place.times.startSeconds },
    });
  }
  const samples = new Map<string, Sample[]>();
  for (const { round, item, contender } of turnsOf(args.rounds, rows)) {
    const name = rowName(group.name, item.load.name, contender);
    context.stderr(`round ${round} of ${args.rounds}: ${name}\n`);
    const sample = await measure(group, item.load, { server: servers.get(contender)!, stores, place });
    samples.set(name, [...(samples.get(name) ?? []), sample]);
  }
  await place.stopAll();
  const settings = [...servers].filter(([, server]) => server.settings !== "");
  return {
    rows: rowsOf({ group, rows }, samples),
    settings: Object.fromEntries(
      settings.map(([contender, server]) => [`${group.name}, ${contender}`, server.settings]),
    ),
  };
}

/** One measurement. Throws BENCHMARK_FAILED when an answer was not what it had to be. */
async function measure(
  group: LoadGroup,
  load: Load,
  run: { readonly server: RunningContender; readonly stores: RunningStores; readonly place: DecisionsPlace },
): Promise<Sample> {
  const { server, stores, place } = run;
  await stores.clear?.();
  const pids = processIds(server);
  await untilQuiet(pids);
  const before = await stores.commands?.();
  const cpuBeforeMs = await stores.cpuMs?.();
  if (server.turnFile !== undefined) clearLongestTurn(server.turnFile);
  const edits = load.hasEdits === true ? editEverySecond(group, server) : undefined;
  const report = await generate(group, load, { server, place, times: place.times, pids });
  const turn = server.turnFile === undefined ? undefined : readLongestTurn(server.turnFile);
  clearInterval(edits);
  const after = await stores.commands?.();
  const cpuAfterMs = await stores.cpuMs?.();
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
    ...(cpuBeforeMs !== undefined &&
      cpuAfterMs !== undefined && {
        storeCpuMicrosPerDecision: ((cpuAfterMs - cpuBeforeMs) * 1000) / report.allAnswers,
      }),
    ...(turn !== undefined && { turnCpuMicros: turn.cpuMicros, turnWallMicros: turn.wallMicros }),
    generatorShare: report.generatorCpuMs / 1000 / report.seconds,
  };
}

/** Edits one file after the other until the timer is cleared. */
function editEverySecond({ ruleFiles = 0 }: LoadGroup, { rulesFolder }: RunningContender): NodeJS.Timeout {
  let edit = 0;
  return setInterval(() => {
    edit += 1;
    if (rulesFolder !== undefined) writeOtherRules(rulesFolder, edit % ruleFiles, 1 + edit);
  }, EDIT_INTERVAL_MS);
}

/** Puts the load on a server. */
function generate(
  group: LoadGroup,
  load: Load,
  run: {
    readonly server: RunningContender;
    readonly place: DecisionsPlace;
    readonly times: { readonly warmUpSeconds: number; readonly seconds: number };
    /** Processes whose cost is reported. */
    readonly pids?: readonly number[];
  },
): ReturnType<typeof runGenerator> {
  const { server, place, times, pids = [] } = run;
  const { rule } = load;
  const entries = rule ? LIMIT_ENTRIES[rule] : BENCH_ENTRIES[group.isOverLimit === true ? "over" : "within"];
  const flags = [
    ...["--port", String(server.grpcPort), "--connections", String(load.connections), "--keys", String(load.keys)],
    ...(load.rate === undefined ? ["--in-flight", String(load.inFlight ?? 1)] : ["--rate", String(load.rate)]),
    ...["--warm-up", String(times.warmUpSeconds), "--seconds", String(times.seconds)],
    ...entries.flatMap((entry) => (entry === NEXT_DESCRIPTOR ? ["--descriptor"] : ["--entry", entry])),
    ...(group.isOverLimit === true ? ["--expect", "over"] : []),
    ...(load.hasTraceHeaders === true ? ["--trace-headers"] : []),
    ...(group.isTls === true ? ["--tls-ca", place.certificates.ca] : []),
    ...pids.flatMap((pid) => ["--watch", String(pid)]),
  ];
  const command = ["env", ...place.cores.generator, place.generator];
  return runGenerator(command, flags, `${group.title}, ${load.title}, ${server.contender}`);
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
