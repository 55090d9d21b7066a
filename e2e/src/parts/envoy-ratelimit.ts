// A running envoyproxy/ratelimit, the Go service that Weir is compared with: what it answers in the
// tests, what it costs in the benchmark.
import type { ProcessGroup } from "@weir/dev/processes/process-group";
import { STACK_HOST } from "@weir/dev/setup/ports";
import { reservePorts } from "@weir/testing/reserve-ports";
import { findTool } from "@weir/testing/tools";
import type { Env } from "./programs.ts";
import { startProcess } from "./start-process.ts";

/** The version that the set-up of tests and benchmark builds. */
export const ENVOY_RATELIMIT_VERSION = "1.4.1-0.20260122083618-3fb702589d36";

/** Longest wait for it to serve, in milliseconds, on a busy machine. */
const READY_TIMEOUT_MS = 40_000;

/** Folder, settings and command line of a start. */
export interface EnvoyRatelimitOptions {
  /** The folder whose `config` folder has the rule files. */
  readonly folder: string;
  /** Its store and further settings. */
  readonly env: Env;
  /** Words in front of the command line, for example `taskset -c 0`. */
  readonly prefix?: readonly string[];
  readonly onLine?: (line: string) => void;
}

/** A running envoyproxy/ratelimit. */
export interface EnvoyRatelimit {
  readonly process: ProcessGroup;
  readonly grpcPort: number;
  readonly debugPort: number;
  /** Port of the metrics; nothing listens on it without USE_PROMETHEUS. */
  readonly statisticsPort: number;
  /** Its whole environment. */
  readonly env: Env;
}

/** Starts it on free ports of this machine and resolves when it is healthy. */
export async function startEnvoyRatelimit(options: EnvoyRatelimitOptions): Promise<EnvoyRatelimit> {
  const [httpPort = 0, grpcPort = 0, debugPort = 0, statisticsPort = 0] = await reservePorts(4);
  const env = {
    HOST: STACK_HOST,
    PORT: String(httpPort),
    GRPC_HOST: STACK_HOST,
    GRPC_PORT: String(grpcPort),
    DEBUG_HOST: STACK_HOST,
    DEBUG_PORT: String(debugPort),
    PROMETHEUS_ADDR: `${STACK_HOST}:${statisticsPort}`,
    RUNTIME_ROOT: options.folder,
    RUNTIME_WATCH_ROOT: "false",
    USE_STATSD: "false",
    ...options.env,
  };
  const program = findEnvoyRatelimit();
  const [command, ...args] = [...(options.prefix ?? []), program];
  const { onLine } = options;
  const process = await startProcess({
    name: "envoyproxy/ratelimit",
    command,
    args,
    env,
    ...(onLine !== undefined && { onLine }),
  });
  try {
    await process.waitUntilReady(`http://${STACK_HOST}:${httpPort}/healthcheck`, READY_TIMEOUT_MS);
  } catch (error) {
    process.kill();
    throw error;
  }
  return { process, grpcPort, debugPort, statisticsPort, env };
}

/** The built program. Throws when the set-up has not run. */
export function findEnvoyRatelimit(): string {
  return findTool(`envoyproxy-ratelimit-${ENVOY_RATELIMIT_VERSION}`, "service_cmd");
}
