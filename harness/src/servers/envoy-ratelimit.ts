// A running envoyproxy/ratelimit, the Go service that Weir is compared with: what it answers in the
// tests, what it costs in the benchmark.
import { findTool } from "../processes/tools.ts";
import { type ListeningService, startListening } from "./listening-service.ts";
import type { Env } from "../processes/programs.ts";

/** The version that the set-up of tests and benchmark builds. */
export const ENVOY_RATELIMIT_VERSION = "1.4.1-0.20260122083618-3fb702589d36";

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

/** Starts it and resolves when it is healthy. */
export async function startEnvoyRatelimit({
  folder,
  env,
  prefix = [],
  onLine,
}: EnvoyRatelimitOptions): Promise<ListeningService> {
  const [command, ...args] = [...prefix, findEnvoyRatelimit()];
  return await startListening({
    name: "envoyproxy/ratelimit",
    command,
    args,
    env: { RUNTIME_ROOT: folder, RUNTIME_WATCH_ROOT: "false", USE_STATSD: "false", ...env },
    ...(onLine !== undefined && { onLine }),
  });
}

/** The built program. Throws when the set-up has not run. */
export function findEnvoyRatelimit(): string {
  return findTool(`envoyproxy-ratelimit-${ENVOY_RATELIMIT_VERSION}`, "service_cmd");
}
