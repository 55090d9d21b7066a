// The servers of the benchmark: Weir, an earlier commit of it, envoyproxy/ratelimit, and one that decides
// nothing; each the real program, over the same store and rules.
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ProcessGroup } from "@weir/dev/processes/process-group";
import { eventually } from "@weir/harness/processes/eventually";
import type { CertificateFiles } from "@weir/harness/servers/certificate-files";
import { startEnvoyRatelimit } from "@weir/harness/servers/envoy-ratelimit";
import { startListening } from "@weir/harness/servers/listening-service";
import { type Env, ROOT } from "@weir/harness/processes/programs";
import { childrenOf } from "@weir/harness/processes/processes";
import { startProcess } from "@weir/harness/processes/start-process";
import type { Cores } from "../machine.ts";
import type { Bench } from "../run-benchmark.ts";
import { type Contender, type LimitRule, type LoadGroup, RULES_PER_FILE } from "./loads.ts";
import { longestTurnEnv } from "./longest-turn.ts";
import type { RunningStores } from "./stores.ts";

/** Longest time of a program to stop, in milliseconds. */
const STOP_GRACE_MS = 3000;

/**
 * A limit per destination that no benchmark reaches, so that every decision counts and answers alike;
 * and one that every hit exceeds.
 */
const BENCH_RULES = `domain: bench
descriptors:
  - key: source_cluster
    value: proxy
    descriptors:
      - key: destination_cluster
        rate_limit:
          unit: day
          requests_per_unit: 4000000000
  - key: tight
    rate_limit:
      unit: day
      requests_per_unit: 0
`;

/** A rule for each way to count, with limits that no benchmark reaches. */
const LIMIT_RULES = `  - key: fixed
    rate_limit: { unit: day, requests_per_unit: 4000000000 }
  - key: sliding
    rate_limit: { unit: day, requests_per_unit: 4000000000, algorithm: sliding_window }
  - key: bucket
    rate_limit: { unit: day, requests_per_unit: 4000000000, algorithm: token_bucket }
  - key: list
    rate_limits:
      - { name: short, unit: second, unit_multiplier: 30, requests_per_unit: 4000000000 }
      - { name: medium, unit: hour, requests_per_unit: 4000000000 }
      - { name: long, unit: day, requests_per_unit: 4000000000 }
`;

/** Entries of the descriptor that every call is about, as the generator takes them. */
export const BENCH_ENTRIES = {
  within: ["source_cluster=proxy", "destination_cluster=u{key}"],
  over: ["tight=u{key}"],
} as const;

/** Between the entries of two descriptors. */
export const NEXT_DESCRIPTOR = "";

/** The same for calls about a rule of LIMIT_RULES. */
export const LIMIT_ENTRIES: Readonly<Record<LimitRule, readonly string[]>> = {
  fixed: ["fixed=u{key}"],
  sliding: ["sliding=u{key}"],
  bucket: ["bucket=u{key}"],
  list: ["list=u{key}"],
  three: ["fixed=u{key}", NEXT_DESCRIPTOR, "fixed=v{key}", NEXT_DESCRIPTOR, "fixed=w{key}"],
};

/** Room in the local cache for every key that is over its limit. */
const LOCAL_CACHE = { LOCAL_CACHE_SIZE_IN_BYTES: String(16 * 1024 * 1024) } as const;

/** Settings that the results leave out: addresses, folders, and how it is measured. */
const OMITTED_SETTINGS =
  /^(PATH|LD_PRELOAD|LONGEST_TURN_FILE|(GRPC_|DEBUG_)?(HOST|PORT)|PROMETHEUS_ADDR|RUNTIME_ROOT)$/;

/** Everything that the groups of a run share. */
export interface DecisionsPlace extends Bench {
  readonly path: string;
  readonly cores: Cores;
  readonly certificates: CertificateFiles;
  /** Path of the load generator. */
  readonly generator: string;
  /** Path of the library that measures turns of event loops. */
  readonly longestTurn: string;
  readonly times: {
    /** Seconds of load on each server before the first round, and before each measurement. */
    readonly startSeconds: number;
    readonly warmUpSeconds: number;
    readonly seconds: number;
  };
}

/** Everything that the servers of a group share; `folder` is that of the group. */
export interface GroupPlace extends DecisionsPlace, RunningStores {
  readonly group: LoadGroup;
}

/** A running server. */
export interface RunningContender {
  readonly contender: Contender;
  readonly process: ProcessGroup;
  readonly grpcPort: number;
  /** Folder of its rule files; undefined: it has none. */
  readonly rulesFolder?: string;
  /** File of its longest turn; undefined: that is not measured. */
  readonly turnFile?: string;
  /** Its settings, for the results. */
  readonly settings: string;
}

/** Starts a server. */
export async function startContender(contender: Contender, place: GroupPlace): Promise<RunningContender> {
  const started = await start(contender, place);
  place.onStarted(() => started.process.stop("SIGTERM", STOP_GRACE_MS));
  return { contender, ...started };
}

/** Its processes: the one that was started, and those that it started. */
export function processIds({ process: { pid } }: RunningContender): readonly number[] {
  return [pid, ...childrenOf(pid)];
}

type Started = Omit<RunningContender, "contender">;

function start(contender: Contender, place: GroupPlace): Promise<Started> {
  switch (contender) {
    case "nothing":
      return startNothing(place);
    case "envoyproxy/ratelimit":
      return startGo(place);
    case "weir":
      return startWeir(contender, {}, place);
    case "weir, 2 workers":
      return startWeir(contender, { WORKERS: "2" }, place);
    case "earlier":
      return startWeir(contender, {}, place, place.earlier!.root);
  }
}

async function startNothing(place: GroupPlace): Promise<Started> {
  const { serverCert, serverKey } = place.certificates;
  const flags = [
    ...["--serve", "--port", "0"],
    ...(place.group.isOverLimit === true ? ["--expect", "over"] : []),
    ...(place.group.isTls === true ? ["--tls-cert", serverCert, "--tls-key", serverKey] : []),
  ];
  const args = [...place.cores.server, place.generator, ...flags];
  const process = await startProcess({ name: "nothing", command: "env", args, env: { PATH: place.path } });
  // Its first line is its port.
  const grpcPort = await eventually("the server that decides nothing to listen", () => {
    const [first] = process.lastLines();
    if (first === undefined) throw new Error("it has written nothing");
    return Number(first);
  });
  return { process, grpcPort, settings: "" };
}

function settingsOf({ group, storeEnv, certificates, path }: GroupPlace): Env {
  return {
    PATH: path,
    LOG_LEVEL: "error",
    USE_STATSD: "false",
    USE_PROMETHEUS: "true",
    ...storeEnv,
    ...(group.isOverLimit === true && LOCAL_CACHE),
    ...(group.isTls === true && {
      GRPC_SERVER_USE_TLS: "true",
      GRPC_SERVER_TLS_CERT: certificates.serverCert,
      GRPC_SERVER_TLS_KEY: certificates.serverKey,
    }),
  };
}

async function startGo(place: GroupPlace): Promise<Started> {
  const folder = writeRules(place, "envoy");
  const env = { ...settingsOf(place), GOMAXPROCS: "1" };
  const { process, grpcPort, env: whole } = await startEnvoyRatelimit({ folder, env, prefix: place.cores.server });
  return { process, grpcPort, settings: formatSettings(whole) };
}

async function startWeir(contender: Contender, own: Env, place: GroupPlace, root = ROOT): Promise<Started> {
  const pinned = place.group.usesBothCores === true ? place.cores.both : place.cores.server;
  const folder = writeRules(place, contender.replaceAll(/\W+/g, "-"));
  const turnFile = place.group.ruleFiles === undefined ? undefined : join(folder, "longest-turn");
  const service = await startListening({
    name: contender,
    command: "env",
    args: [...pinned, join(root, "ratelimit", "bin", "weir-ratelimit")],
    env: {
      RUNTIME_ROOT: folder,
      RUNTIME_WATCH_ROOT: "false",
      SHUTDOWN_DRAIN: "0s",
      ...settingsOf(place),
      ...place.weirEnv,
      ...own,
      ...(turnFile !== undefined && longestTurnEnv(place.longestTurn, turnFile)),
    },
  });
  return {
    ...service,
    rulesFolder: join(folder, "config"),
    ...(turnFile !== undefined && { turnFile }),
    settings: formatSettings(service.env),
  };
}

function writeRules(place: GroupPlace, name: string): string {
  const folder = join(place.folder, name);
  mkdirSync(join(folder, "config"), { recursive: true });
  const rules = place.group.hasLimits === true ? BENCH_RULES + LIMIT_RULES : BENCH_RULES;
  writeFileSync(join(folder, "config", "bench.yaml"), rules);
  for (let file = 0; file < (place.group.ruleFiles ?? 0); file++) writeOtherRules(join(folder, "config"), file, 1);
  return folder;
}

/** Writes the rules of a domain without requests; a rename makes them appear whole. */
export function writeOtherRules(folder: string, file: number, limit: number): void {
  const rule = (index: number): string =>
    `  - key: user\n    value: user-${index}\n    rate_limit: { unit: hour, requests_per_unit: ${limit} }\n`;
  const rules = Array.from({ length: RULES_PER_FILE }, (_, index) => rule(index)).join("");
  const draft = join(folder, `..draft-${file}`);
  writeFileSync(draft, `domain: domain-${file}\ndescriptors:\n${rules}`);
  renameSync(draft, join(folder, `domain-${file}.yaml`));
}

function formatSettings(env: Env): string {
  return Object.entries(env)
    .filter(([name]) => !OMITTED_SETTINGS.test(name))
    .map(([name, value]) => `${name}=${value.includes("/") ? `…/${value.split("/").at(-1) ?? ""}` : value}`)
    .join(" ");
}
