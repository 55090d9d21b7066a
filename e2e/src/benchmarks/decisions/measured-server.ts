// The rate limit service of the benchmarks: the real program of this or an earlier version, over
// memory, Redis or memcached on unix sockets, with default settings or everything switched on.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "@weir/testing/eventually";
import { startMemcached } from "@weir/testing/servers/memcached";
import { startRedis } from "@weir/testing/servers/redis";
import { reservePorts } from "@weir/testing/reserve-ports";
import { STACK_HOST } from "@weir/dev/setup/ports";
import { startProcess } from "@weir/dev/processes/process-group";
import { everythingOn } from "./everything-on.ts";
import type { Cores } from "../machine.ts";
import type { TelemetryPorts } from "./telemetry-sink.ts";
import { BENCH_RULES } from "./workload.ts";

/** Longest wait for the program to be ready, in milliseconds. */
const READY_TIMEOUT_MS = 15_000;

/**
 * So long that a machine that stalls shows up as latency, which can be read, and not as errors,
 * which end the benchmark.
 */
const STORE_TIMEOUT = "10s";

/** Memory of memcached for items, in MiB: more than a benchmark writes, so that nothing is evicted. */
const MEMCACHED_MEBIBYTES = 256;

/** A server to start. */
export interface ServerPlan {
  /** Unique among those of a run; also the name of its folder. */
  readonly name: string;
  /** Root of the built checkout whose program it is. */
  readonly root: string;
  readonly store: "memory" | "redis" | "memcached";
  readonly isEverythingOn: boolean;
}

/** What all servers of a run share. */
export interface BenchPlace {
  readonly folder: string;
  readonly path: string;
  readonly cores: Cores;
  readonly telemetry: TelemetryPorts;
}

/** A running server to measure. */
export interface MeasuredServer {
  readonly name: string;
  readonly grpcPort: number;
  readonly pid: number;
  /** Its process group and those of its stores, for the guard. */
  readonly groups: readonly number[];
  stop(): Promise<unknown>;
}

/** A store or another program of a server. */
interface Companion {
  readonly groups: readonly number[];
  readonly env: Readonly<Record<string, string>>;
  stop(): Promise<unknown>;
}

/** Starts the server that decides nothing; see ceiling-server.ts. */
export async function startCeilingServer(place: Pick<BenchPlace, "path" | "cores">): Promise<MeasuredServer> {
  const args = [...place.cores.server, process.execPath, join(import.meta.dirname, "ceiling-server.js")];
  const program = await startProcess({ name: "ceiling-server", command: "env", args, env: { PATH: place.path } });
  // It prints its port.
  const port = await eventually("the ceiling server to listen", () => {
    const [first] = program.lastLines();
    if (first === undefined) throw new Error("it has written nothing");
    return Number(first);
  });
  return {
    name: "ceiling",
    grpcPort: port,
    pid: program.pid,
    groups: [program.pid],
    stop: () => program.stop("SIGTERM", 1000),
  };
}

/** Starts the service and its store. */
export async function startMeasuredServer(plan: ServerPlan, place: BenchPlace): Promise<MeasuredServer> {
  const folder = join(place.folder, plan.name);
  const rules = join(folder, "rules", "config");
  mkdirSync(rules, { recursive: true });
  writeFileSync(join(rules, "bench.yaml"), BENCH_RULES);
  const companions: Companion[] = [];
  const stopCompanions = async (): Promise<void> => {
    await Promise.all(companions.map((each) => each.stop()));
  };
  try {
    companions.push(await startStore(plan.store, folder, place.cores.generator));
    if (plan.isEverythingOn) companions.push(await startEverything(folder, place));
    const [httpPort = 0, grpcPort = 0, debugPort = 0, metricsPort = 0] = await reservePorts(4);
    const env: Record<string, string> = {
      PATH: place.path,
      LOG_LEVEL: "error",
      HOST: STACK_HOST,
      PORT: String(httpPort),
      GRPC_HOST: STACK_HOST,
      GRPC_PORT: String(grpcPort),
      DEBUG_HOST: STACK_HOST,
      DEBUG_PORT: String(debugPort),
      USE_PUSHSTATS: "false",
      USE_PULLSTATS: "true",
      PULLSTATS_ADDR: `${STACK_HOST}:${metricsPort}`,
      CONFIG_TYPE: "FILE",
      RUNTIME_ROOT: join(folder, "rules"),
      RUNTIME_WATCH_ROOT: "false",
      SHUTDOWN_DRAIN: "0s",
      ...Object.assign({}, ...companions.map((each) => each.env)),
    };
    const args = [...place.cores.server, join(plan.root, "ratelimit", "bin", "weir-ratelimit")];
    const program = await startProcess({ name: `weir-ratelimit (${plan.name})`, command: "env", args, env });
    companions.unshift({ groups: [program.pid], env: {}, stop: () => program.stop("SIGTERM", 3000) });
    await program.waitUntilReady(`http://${STACK_HOST}:${httpPort}/healthcheck`, READY_TIMEOUT_MS);
    return {
      name: plan.name,
      grpcPort,
      pid: program.pid,
      groups: companions.flatMap((each) => each.groups),
      stop: stopCompanions,
    };
  } catch (error) {
    await stopCompanions();
    throw error;
  }
}

async function startStore(store: ServerPlan["store"], folder: string, pinned: readonly string[]): Promise<Companion> {
  const options = { pinned, isGroupLeader: true };
  switch (store) {
    case "memory":
      return { groups: [], env: { BACKEND_TYPE: "memory" }, stop: () => Promise.resolve() };
    case "redis": {
      const redis = await startRedis(folder, options);
      const env = {
        BACKEND_TYPE: "kvstore",
        KVSTORE_TYPE: "SINGLE",
        KVSTORE_SOCKET_TYPE: "unix",
        KVSTORE_URL: redis.socketPath,
        KVSTORE_COMMAND_TIMEOUT: STORE_TIMEOUT,
      };
      return { groups: [redis.pid!], env, stop: () => redis.stop() };
    }
    case "memcached": {
      const flags = ["-m", String(MEMCACHED_MEBIBYTES), "-t", "1"];
      const memcached = await startMemcached(folder, { ...options, flags, listensOn: "socket" });
      const env = {
        BACKEND_TYPE: "altstore",
        ALTSTORE_HOST_PORT: memcached.socketPath,
        ALTSTORE_TIMEOUT: STORE_TIMEOUT,
      };
      return { groups: [memcached.pid!], env, stop: () => memcached.stop() };
    }
  }
}

async function startEverything(folder: string, place: BenchPlace): Promise<Companion> {
  const own = join(folder, "per-second");
  mkdirSync(own);
  const redis = await startRedis(own, { pinned: place.cores.generator, isGroupLeader: true });
  const env = everythingOn({ perSecondSocketPath: redis.socketPath, host: STACK_HOST, telemetry: place.telemetry });
  return { groups: [redis.pid!], env, stop: () => redis.stop() };
}
