// Memory stays flat while the real program answers about a million different descriptors: counters,
// statistics of request values, the cache of keys over their limit and what it remembers of Redis
// are all bounded. A leak of 100 bytes per descriptor would be 48 MiB between the two last looks.
import { setTimeout as delay } from "node:timers/promises";
import { STACK_HOST } from "@weir/dev/setup/ports";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { startRedis } from "@weir/harness/servers/redis";
import { type Decision, Traffic } from "@weir/harness/weir/traffic";
import { afterEach, describe, expect, it } from "vitest";
import { type RateLimitService, startRateLimitService } from "@weir/harness/weir/rate-limit-service";
import type { HeldMemory, InspectedHeap } from "./inspected-heap.suite.ts";
import { INSPECTED, inspectorUrlOf, openInspectedHeap } from "./inspected-heap.suite.ts";

/** Calls at a time: enough to keep the server busy. */
const LANES = 16;

/** Descriptors of one call: every second one is over its limit. */
const DESCRIPTORS_PER_CALL = 100;

/**
 * Numbers of descriptors after which the memory is looked at. All bounded tables are full before the
 * last but one.
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
        if (unit === "second") await turnWindows(server.service);
        await scrape(server.service);
        const memory = await server.heap.look();
        looks.push({ descriptors, memory });
        return memory;
      };
      await look(0);
      let calls = 0;
      for (const end of LOOKS) {
        const traffic = new Traffic(
          Array.from({ length: LANES }, () => ({ ask: () => askAboutKeys(server.service, calls++), right: "limited" })),
          { periodMs: 0, waitingMax: 1 },
        );
        await traffic.answers(end / DESCRIPTORS_PER_CALL - calls, SOAK_TIMEOUT_MS);
        await traffic.stop();
        // Every call had descriptors over their limit, and none failed.
        expect(traffic.take()).toMatchObject({ failed: 0, wronglyAllowed: 0 });
        await look(calls * DESCRIPTORS_PER_CALL);
      }
      process.stdout.write(`${formatLooks(store, looks)}\n`);
      const page = await scrape(server.service);
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
  readonly service: RateLimitService;
  readonly heap: InspectedHeap;
}

async function startServer(
  folder: string,
  unit: string,
  backend: Readonly<Record<string, string>>,
): Promise<SoakServer> {
  const env = {
    PATH: process.env["PATH"] ?? "",
    ...INSPECTED,
    LOG_LEVEL: "warn", // The listeners are in the log.
    USE_PUSHSTATS: "false",
    STATS_MAX_DYNAMIC_KEYS: String(DYNAMIC_KEYS),
    LOCAL_CACHE_SIZE_IN_BYTES: String(4 * 1024 * 1024),
    RESPONSE_DYNAMIC_METADATA: "true",
    LIMIT_RESPONSE_HEADERS_ENABLED: "true",
    LIMIT_RULE_HEADER: "x-ratelimit-rule",
    ...backend,
  };
  const service = await startRateLimitService(folder, { "soak.yaml": rulesOf(unit) }, env, { isBuilt: true });
  closers.push(async () => {
    await service.stop();
  });
  const url = service.lines.map(inspectorUrlOf).find((each) => each !== undefined);
  const heap = await openInspectedHeap(url ?? "", service.process.pid);
  closers.push(() => heap.close());
  return { service, heap };
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

/** Asks about a hundred descriptors that no other call asks about. */
async function askAboutKeys(service: RateLimitService, call: number): Promise<Decision> {
  const questions = Array.from({ length: DESCRIPTORS_PER_CALL }, (_, index) => ({
    entries: { [index % 2 === 0 ? "user" : "blocked"]: String(call * DESCRIPTORS_PER_CALL + index).padStart(8, "0") },
  }));
  const { code } = await service.ask("soak", ...questions);
  return { code: code === "OK" ? "allowed" : "limited" };
}

// A call in each of two windows, about the same keys every time: only the counters of the last two
// windows are held.
async function turnWindows(service: RateLimitService): Promise<void> {
  for (let window = 0; window < 2; window++) {
    await delay(WINDOW_TURN_MS);
    await askAboutKeys(service, 0);
  }
}

async function scrape({ statisticsPort }: RateLimitService): Promise<string> {
  const response = await fetch(`http://${STACK_HOST}:${statisticsPort}/metrics`);
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
