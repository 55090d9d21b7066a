// Memory stays flat while the real program answers about a million different descriptors: counters,
// statistics of request values, the cache of keys over their limit and what it remembers of Redis
// are all bounded. A leak of 100 bytes per descriptor would be 48 MiB between the two last looks.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { create, toBinary } from "@bufbuild/protobuf";
import { RateLimitRequestSchema, RateLimitService } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";
import { afterEach, describe, expect, it } from "vitest";
import type { CallTarget } from "../benchmarks/load/call-connection.ts";
import { KEY_MARKER } from "../benchmarks/load/call-connection.ts";
import { eventually } from "@weir/harness/processes/eventually";
import { startListening } from "@weir/harness/servers/listening-service";
import { ROOT } from "@weir/harness/processes/programs";
import { startRedis } from "@weir/harness/servers/redis";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { STACK_HOST } from "@weir/dev/setup/ports";
import { askAboutKeys } from "./counted-calls.suite.ts";
import type { HeldMemory, InspectedHeap } from "./inspected-heap.suite.ts";
import { INSPECTED, inspectorUrlOf, openInspectedHeap } from "./inspected-heap.suite.ts";

/** Descriptors of one call: every second one is over its limit. */
const DESCRIPTORS_PER_CALL = 100;

/**
 * Where the memory is looked at, in descriptors. All bounded tables are full before the last but
 * one.
 */
const LOOKS = [100_000, 500_000, 1_000_000] as const;

/**
 * Most that may be held more after a million descriptors than after half of them, in MiB: a leak of
 * 100 bytes each would be 48.
 */
const HEAP_GROWTH_MAX = 8;

/** The same for resident pages, which the runtime takes and gives back in large pieces. */
const RESIDENT_GROWTH_MAX = 40;

/** Longer than a window of a second: what was counted in the one before the last is gone then. */
const WINDOW_TURN_MS = 1100;

/** Statistics of request values; far fewer than there are values. */
const DYNAMIC_KEYS = 20_000;

/** About 20 s on a machine with nothing else to do. */
const SOAK_TIMEOUT_MS = 900_000;

const closers: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

describe("weir-ratelimit", () => {
  it.each([
    { store: "memory", unit: "second" }, // Counters of a window that ended are dropped.
    { store: "Redis", unit: "hour" }, // Counters are in Redis; of their expiries only some are remembered.
  ] as const)(
    "weir-ratelimit holds no more memory after 1,000,000 descriptors than after 500,000 when counters are in $store",
    async ({ store, unit }) => {
      const folder = makeTemporaryFolder();
      closers.push(() => folder.remove());
      const server = await startServer(
        folder.path,
        unit,
        store === "Redis" ? await startStore(folder.path) : { BACKEND_TYPE: "memory" },
      );
      const looks: { readonly descriptors: number; readonly memory: HeldMemory }[] = [];
      const look = async (descriptors: number): Promise<HeldMemory> => {
        if (unit === "second") await turnWindows(server.target);
        await scrape(server.metricsUrl);
        const memory = await server.heap.look();
        looks.push({ descriptors, memory });
        return memory;
      };
      await look(0);
      let asked = 0;
      const calls = { within: 0, over: 0 };
      for (const end of LOOKS) {
        const { within, over } = await askAboutKeys(server.target, asked, end);
        calls.within += within;
        calls.over += over;
        asked = end;
        await look(end);
      }
      process.stdout.write(`${formatLooks(store, looks)}\n`);
      // Every call had descriptors over their limit, and none failed.
      expect(calls).toEqual({ within: 0, over: 1_000_000 / DESCRIPTORS_PER_CALL });
      const page = await scrape(server.metricsUrl);
      expect(seriesOf(page, "ratelimit_service_rate_limit_total_hits")).toBeGreaterThanOrEqual(DYNAMIC_KEYS);
      expect(seriesOf(page, "ratelimit_service_rate_limit_total_hits")).toBeLessThan(DYNAMIC_KEYS + 10);
      const [half, all] = [looks.at(-2)!.memory, looks.at(-1)!.memory];
      expect(all.heap - half.heap).toBeLessThan(HEAP_GROWTH_MAX);
      expect(all.resident - half.resident).toBeLessThan(RESIDENT_GROWTH_MAX);
    },
    SOAK_TIMEOUT_MS,
  );
});

interface SoakServer {
  readonly target: CallTarget;
  readonly metricsUrl: string;
  readonly heap: InspectedHeap;
}

async function startServer(
  folder: string,
  unit: string,
  backend: Readonly<Record<string, string>>,
): Promise<SoakServer> {
  const rules = join(folder, "rules", "config");
  mkdirSync(rules, { recursive: true });
  writeFileSync(join(rules, "soak.yaml"), rulesOf(unit));
  const env: Record<string, string> = {
    PATH: process.env["PATH"] ?? "",
    ...INSPECTED,
    LOG_LEVEL: "error",
    USE_PUSHSTATS: "false",
    USE_PULLSTATS: "true",
    STATS_MAX_DYNAMIC_KEYS: String(DYNAMIC_KEYS),
    CONFIG_TYPE: "FILE",
    RUNTIME_ROOT: join(folder, "rules"),
    RUNTIME_WATCH_ROOT: "false",
    LOCAL_CACHE_SIZE_IN_BYTES: String(4 * 1024 * 1024),
    RESPONSE_DYNAMIC_METADATA: "true",
    LIMIT_RESPONSE_HEADERS_ENABLED: "true",
    LIMIT_RULE_HEADER: "x-ratelimit-rule",
    SHUTDOWN_DRAIN: "0s",
    ...backend,
  };
  let inspectorUrl: string | undefined;
  const {
    process: program,
    grpcPort,
    metricsPort,
  } = await startListening({
    name: "weir-ratelimit",
    command: join(ROOT, "node_modules", ".bin", "weir-ratelimit"),
    env,
    onLine: (line) => {
      inspectorUrl ??= inspectorUrlOf(line);
    },
  });
  closers.push(async () => {
    await program.stop("SIGTERM", 5000);
  });
  const url = await eventually("the program to say where it can be looked into", () => {
    if (inspectorUrl === undefined) throw new Error(program.lastLines().join("\n"));
    return inspectorUrl;
  });
  const heap = await openInspectedHeap(url, program.pid);
  closers.push(() => heap.close());
  const path = serviceDefinition(RateLimitService).shouldRateLimit.path;
  return {
    target: { host: STACK_HOST, port: grpcPort, path, message: soakRequest() },
    metricsUrl: `http://${STACK_HOST}:${metricsPort}/metrics`,
    heap,
  };
}

async function startStore(folder: string): Promise<Readonly<Record<string, string>>> {
  const redis = await startRedis(folder);
  closers.push(() => redis.stop());
  return {
    BACKEND_TYPE: "kvstore",
    KVSTORE_TYPE: "SINGLE",
    KVSTORE_SOCKET_TYPE: "unix",
    KVSTORE_URL: redis.socketPath,
    KVSTORE_COMMAND_TIMEOUT: "30s",
  };
}

function rulesOf(unit: string): string {
  return `domain: soak
descriptors:
  - key: user
    detailed_metric: true
    rate_limit:
      unit: ${unit}
      requests_per_unit: 1000
  - key: blocked
    rate_limit:
      unit: ${unit}
      requests_per_unit: 0
`;
}

function soakRequest(): Uint8Array {
  const descriptors = Array.from({ length: DESCRIPTORS_PER_CALL }, (_, index) => ({
    entries: [{ key: index % 2 === 0 ? "user" : "blocked", value: KEY_MARKER }],
  }));
  return toBinary(RateLimitRequestSchema, create(RateLimitRequestSchema, { domain: "soak", descriptors }));
}

// A call in each of two windows, about the same keys every time: only the counters of the last two
// windows are held.
async function turnWindows(target: CallTarget): Promise<void> {
  for (let window = 0; window < 2; window++) {
    await delay(WINDOW_TURN_MS);
    await askAboutKeys(target, 0, DESCRIPTORS_PER_CALL);
  }
}

async function scrape(url: string): Promise<string> {
  const response = await fetch(url);
  return response.text();
}

/** How many series a metric has. */
function seriesOf(page: string, metric: string): number {
  return page.split("\n").filter((line) => line.startsWith(`${metric}{`)).length;
}

function formatLooks(
  store: string,
  looks: readonly { readonly descriptors: number; readonly memory: HeldMemory }[],
): string {
  const lines = looks.map(
    ({ descriptors, memory }) =>
      `  after ${String(descriptors).padStart(7)} descriptors: heap and buffers ${memory.heap.toFixed(1)} MiB, resident ${memory.resident.toFixed(0)} MiB`,
  );
  return [`Memory over ${store}:`, ...lines].join("\n");
}
