// The stores of the benchmark, on unix sockets and the core of the load generator, how many commands they got, and
// what else the servers of a group need.
import { mkdirSync } from "node:fs";
import { startMemcached } from "@weir/harness/servers/memcached";
import { sendCommand, startRedis } from "@weir/harness/servers/redis";
import type { Env } from "@weir/harness/processes/programs";
import { everythingOn, startTelemetrySink } from "./everything-on.ts";
import type { LoadGroup } from "./loads.ts";

/**
 * Long, so that a machine that stalls shows up as latency, which can be read, and not as errors, which
 * end the benchmark.
 */
const STORE_TIMEOUT = "10s";

/** Memory of memcached for items, in MiB: more than a benchmark writes, so that nothing is evicted. */
const MEMCACHED_MEBIBYTES = 256;

/** The stores of a group. */
export interface RunningStores {
  /** Settings that both services read. */
  readonly storeEnv: Env;
  /** Further settings of Weir. */
  readonly weirEnv: Env;
  /** Commands so far; undefined where they are not counted. */
  readonly commands?: () => Promise<number>;
  /** Processor time of the store so far, in milliseconds; undefined where it is not measured. */
  readonly cpuMs?: () => Promise<number>;
  /** Forgets every counter. */
  readonly clear?: () => Promise<unknown>;
}

/** The folder and the core of stores; `onStarted` receives the functions that stop them. */
interface StorePlace {
  readonly folder: string;
  /** Words in front of their command lines. */
  readonly pinned: readonly string[];
  readonly onStarted: (stop: () => Promise<unknown>) => void;
}

/** Starts the stores of `group`. */
export async function startStores(
  { store, isEverythingOn = false }: LoadGroup,
  { folder, pinned, onStarted }: StorePlace,
): Promise<RunningStores> {
  mkdirSync(folder, { recursive: true });
  const options = { pinned, isGroupLeader: true };
  if (store === "memory") return { storeEnv: { BACKEND_TYPE: "memory" }, weirEnv: {} };
  if (store === "memcached") {
    const flags = ["-m", String(MEMCACHED_MEBIBYTES), "-t", "1"];
    const memcached = await startMemcached(folder, { ...options, flags, listensOn: "socket" });
    onStarted(() => memcached.stop());
    const storeEnv = { BACKEND_TYPE: "memcache", MEMCACHE_HOST_PORT: memcached.socketPath };
    return { storeEnv, weirEnv: { ALTSTORE_TIMEOUT: STORE_TIMEOUT } };
  }
  const redis = await startRedis(folder, options);
  onStarted(() => redis.stop());
  return {
    storeEnv: { BACKEND_TYPE: "redis", REDIS_SOCKET_TYPE: "unix", REDIS_URL: redis.socketPath },
    weirEnv: { KVSTORE_COMMAND_TIMEOUT: STORE_TIMEOUT, ...(isEverythingOn ? await startFurther() : {}) },
    commands: async () => {
      const info = await sendCommand(redis, "INFO", "stats");
      return Number(/total_commands_processed:(\d+)/.exec(info)?.[1]);
    },
    cpuMs: async () => {
      const info = await sendCommand(redis, "INFO", "cpu");
      return (
        1000 * (Number(/used_cpu_sys:([\d.]+)/.exec(info)?.[1]) + Number(/used_cpu_user:([\d.]+)/.exec(info)?.[1]))
      );
    },
    clear: () => sendCommand(redis, "FLUSHALL"),
  };

  /** Starts the servers that a service with everything switched on needs, and returns its settings. */
  async function startFurther(): Promise<Env> {
    const perSecond = await startRedis(folder, options);
    onStarted(() => perSecond.stop());
    const sink = await startTelemetrySink();
    onStarted(() => sink.stop());
    return everythingOn(perSecond.socketPath, sink);
  }
}
