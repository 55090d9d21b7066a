// The rate limit service as the benchmarks run it: the real program with one rule, over memory or over a real redis-server on a
// unix socket, with statistics on and nothing else, so that what is measured is what people run.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { create, toBinary } from "@bufbuild/protobuf";
import { RateLimitRequestSchema } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { eventually } from "../parts/eventually.ts";
import { startRedis } from "../parts/redis.ts";
import { STACK_HOST, findFreePort } from "../stack/ports.ts";
import type { ProcessGroup } from "../stack/process-group.ts";
import { startProcess } from "../stack/process-group.ts";
import { waitUntilReady } from "../stack/ready.ts";
import { KEY_MARKER } from "./call-connection.ts";

/** Longest wait for the program to be ready, in milliseconds. */
const READY_TIMEOUT_MS = 15_000;

/** So long that a machine that stalls shows up as latency, which can be read, and not as errors, which end the benchmark. */
const STORE_TIMEOUT = "10s";

/** A limit that no benchmark reaches, per day so that no window ends: every decision counts and answers alike. */
const RULES = `domain: bench
descriptors:
  - key: user
    rate_limit:
      unit: day
      requests_per_unit: 4000000000
`;

/** What is measured: the service with its counters in memory or in Redis, or a server that decides nothing. */
export type Variant = "memory" | "redis" | "ceiling";

/** A running server to measure. */
export interface MeasuredServer {
  readonly variant: Variant;
  readonly grpcPort: number;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts the server that decides nothing; see ceiling-server.ts. */
export async function startCeilingServer(options: { readonly path: string; readonly pinned: readonly string[] }): Promise<MeasuredServer> {
  const args = [...options.pinned, process.execPath, join(import.meta.dirname, "ceiling-server.js")];
  const program = await startProcess({ name: "ceiling", command: "env", args, env: { PATH: options.path } });
  const grpcPort = await eventually("the ceiling server to listen", () => {
    const [line] = program.lastLines();
    if (line === undefined) throw new Error("it has written nothing");
    return Number(line);
  });
  const stop = async (): Promise<void> => {
    await program.stop("SIGTERM", 1000);
  };
  return { variant: "ceiling", grpcPort, pid: program.pid, stop };
}

/** Starts the service with its files in `folder`. `pinned` goes in front of its command line, for example to give it one core, and `pinnedOther` in front of the store's. */
export async function startMeasuredServer(
  variant: Exclude<Variant, "ceiling">,
  options: {
    readonly folder: string;
    readonly root: string;
    readonly path: string;
    readonly pinned: readonly string[];
    readonly pinnedOther: readonly string[];
  },
): Promise<MeasuredServer> {
  const rules = join(options.folder, "rules", "config");
  mkdirSync(rules, { recursive: true });
  writeFileSync(join(rules, "bench.yaml"), RULES);
  const redis = variant === "redis" ? await startRedis(options.folder, options.pinnedOther) : undefined;
  const [httpPort, grpcPort, debugPort, metricsPort] = [
    await findFreePort(),
    await findFreePort(),
    await findFreePort(),
    await findFreePort(),
  ];
  const env: Record<string, string> = {
    PATH: options.path,
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
    RUNTIME_ROOT: join(options.folder, "rules"),
    RUNTIME_WATCH_ROOT: "false",
    SHUTDOWN_DRAIN: "0s",
    ...(redis === undefined
      ? { BACKEND_TYPE: "memory" }
      : {
          BACKEND_TYPE: "kvstore",
          KVSTORE_TYPE: "SINGLE",
          KVSTORE_SOCKET_TYPE: "unix",
          KVSTORE_URL: redis.socketPath,
          KVSTORE_COMMAND_TIMEOUT: STORE_TIMEOUT,
        }),
  };
  const args = [...options.pinned, join(options.root, "node_modules", ".bin", "weir-ratelimit")];
  const program: ProcessGroup = await startProcess({ name: `weir-ratelimit (${variant})`, command: "env", args, env });
  const stop = async (): Promise<void> => {
    await program.stop("SIGTERM", 3000);
    await redis?.stop();
  };
  try {
    await waitUntilReady(program, `http://${STACK_HOST}:${httpPort}/healthcheck`, READY_TIMEOUT_MS);
  } catch (error) {
    await stop();
    throw error;
  }
  return { variant, grpcPort, pid: program.pid, stop };
}

/** The request every call sends, but for the number of the key. */
export function benchmarkRequest(): Uint8Array {
  return toBinary(
    RateLimitRequestSchema,
    create(RateLimitRequestSchema, { domain: "bench", descriptors: [{ entries: [{ key: "user", value: KEY_MARKER }] }] }),
  );
}
