// The stores of the benchmark, on unix sockets and the core of the load generator, and how many
// commands they got.
import { mkdirSync } from "node:fs";
import { STACK_HOST } from "@weir/dev/setup/ports";
import { startMemcached } from "@weir/harness/servers/memcached";
import { sendCommand, startRedis } from "@weir/harness/servers/redis";
import type { Env } from "@weir/harness/processes/programs";
import { everythingOn } from "./everything-on.ts";
import type { LoadGroup } from "./loads.ts";
import type { TelemetryPorts } from "./telemetry-sink.ts";

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
  /** Process groups, for the guard. */
  readonly groups: readonly number[];
  /** Commands so far; undefined where they are not counted. */
  commands(): Promise<number | undefined>;
  /** Forgets every counter. */
  clear(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts the stores of `group`. */
export async function startStores(
  { store, isEverythingOn = false }: LoadGroup,
  place: { readonly folder: string; readonly pinned: readonly string[]; readonly telemetry: TelemetryPorts },
): Promise<RunningStores> {
  const { folder, pinned, telemetry } = place;
  mkdirSync(folder, { recursive: true });
  const options = { pinned, isGroupLeader: true };
  const nothing = { commands: () => Promise.resolve(undefined), clear: () => Promise.resolve() };
  if (store === "memory") {
    const stop = (): Promise<void> => Promise.resolve();
    return { ...nothing, storeEnv: { BACKEND_TYPE: "memory" }, weirEnv: {}, groups: [], stop };
  }
  if (store === "memcached") {
    const flags = ["-m", String(MEMCACHED_MEBIBYTES), "-t", "1"];
    const memcached = await startMemcached(folder, { ...options, flags, listensOn: "socket" });
    const storeEnv = { BACKEND_TYPE: "memcache", MEMCACHE_HOST_PORT: memcached.socketPath };
    const weirEnv = { ALTSTORE_TIMEOUT: STORE_TIMEOUT };
    return { ...nothing, storeEnv, weirEnv, groups: [memcached.pid!], stop: () => memcached.stop() };
  }
  const redis = await startRedis(folder, options);
  const perSecond = isEverythingOn ? await startRedis(folder, options) : undefined;
  const both = perSecond === undefined ? [redis] : [redis, perSecond];
  return {
    storeEnv: { BACKEND_TYPE: "redis", REDIS_SOCKET_TYPE: "unix", REDIS_URL: redis.socketPath },
    weirEnv: {
      KVSTORE_COMMAND_TIMEOUT: STORE_TIMEOUT,
      ...(perSecond !== undefined &&
        everythingOn({ perSecondSocketPath: perSecond.socketPath, host: STACK_HOST, telemetry })),
    },
    groups: both.map(({ pid }) => pid!),
    commands: async () => {
      const info = await sendCommand(redis, "INFO", "stats");
      return Number(/total_commands_processed:(\d+)/.exec(info)?.[1]);
    },
    clear: async () => {
      await sendCommand(redis, "FLUSHALL");
    },
    stop: async () => {
      await Promise.all(both.map((each) => each.stop()));
    },
  };
}
