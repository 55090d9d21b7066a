// The two services of a configuration, started over the same rules, each over a Redis server of its
// own, and everything of both that can be compared.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { STACK_HOST } from "@weir/dev/setup/ports";
import { eventually } from "@weir/harness/processes/eventually";
import type { StoreServer } from "@weir/harness/servers/store-server";
import { startEnvoyRatelimit } from "@weir/harness/servers/envoy-ratelimit";
import type { ListeningService } from "@weir/harness/servers/listening-service";
import type { Env } from "@weir/harness/processes/programs";
import { type RateLimitService, startRateLimitService } from "@weir/harness/weir/rate-limit-service";
import { ComparedService } from "./compared-service.ts";
import { byRule, isComparedSeries, isComparedStatistic } from "./exceptions.ts";
import type { RandomConfiguration } from "./random-configuration.ts";
import { readSeries } from "./metrics-page.ts";
import { StatisticsLines } from "./statistics-lines.ts";

/** Interval at which envoyproxy/ratelimit flushes its statistics. */
const FLUSH_INTERVAL = "100ms";

/** Longest wait after the calls for both to have the same statistics, in milliseconds. */
const STATISTICS_TIMEOUT_MS = 3_000;

/** Statistics by name, of both. */
export interface BothStatistics {
  readonly theirs: ReadonlyMap<string, number>;
  readonly ours: ReadonlyMap<string, number>;
}

/** The Redis servers of a pair. */
export interface BothStores {
  readonly theirs: StoreServer;
  readonly ours: StoreServer;
}

/** Two running services. */
export class ServicePair {
  readonly theirs: ComparedService;
  readonly ours: ComparedService;
  readonly #envoy: ListeningService;
  readonly #weir: RateLimitService;
  readonly #lines: StatisticsLines;
  readonly #sink: RandomConfiguration["sink"];

  private constructor(
    services: { readonly envoy: ListeningService; readonly weir: RateLimitService },
    stores: BothStores,
    statistics: { readonly lines: StatisticsLines; readonly sink: RandomConfiguration["sink"] },
  ) {
    const { envoy, weir } = services;
    this.#envoy = envoy;
    this.#weir = weir;
    this.#lines = statistics.lines;
    this.#sink = statistics.sink;
    this.theirs = new ComparedService({ ...envoy, redis: stores.theirs });
    this.ours = new ComparedService({ grpcPort: weir.grpcPort, debugPort: weir.debugPort, redis: stores.ours });
  }

  /** Starts both in folders below `folder` and resolves when they serve. */
  static async start(folder: string, configuration: RandomConfiguration, stores: BothStores): Promise<ServicePair> {
    const lines = new StatisticsLines();
    const envoyFolder = join(folder, "envoy");
    mkdirSync(join(envoyFolder, "config"), { recursive: true });
    for (const [name, text] of Object.entries(configuration.files))
      writeFileSync(join(envoyFolder, "config", name), text);
    const [envoy, weir] = await Promise.allSettled([
      startEnvoyRatelimit({
        folder: envoyFolder,
        env: {
          ...storeEnv(stores.theirs),
          ...configuration.env,
          STATS_FLUSH_INTERVAL: FLUSH_INTERVAL,
          LOG_LEVEL: "error",
        },
        onLine: (line) => lines.add(line),
      }),
      startRateLimitService(
        join(folder, "weir"),
        configuration.files,
        { USE_PROMETHEUS: "false", KVSTORE_COMMAND_TIMEOUT: "20s", ...storeEnv(stores.ours), ...configuration.env },
        { isBuilt: true },
      ),
    ]);
    if (envoy.status === "fulfilled" && weir.status === "fulfilled")
      return new ServicePair({ envoy: envoy.value, weir: weir.value }, stores, { lines, sink: configuration.sink });
    if (envoy.status === "fulfilled") envoy.value.process.kill();
    if (weir.status === "fulfilled") weir.value.process.kill();
    throw (envoy.status === "rejected" ? envoy.reason : weir.status === "rejected" ? weir.reason : undefined) as Error;
  }

  /** Every statistic of both that is compared, after all calls. */
  statistics(): Promise<BothStatistics> {
    return this.#sink === "prometheus" ? this.#series() : this.#counters();
  }

  /** Ends both. */
  async stop(): Promise<void> {
    this.theirs.close();
    this.ours.close();
    this.#envoy.process.kill();
    this.#weir.process.kill();
    await Promise.all([this.#envoy.process.exited, this.#weir.process.exited]);
  }

  async #counters(): Promise<BothStatistics> {
    // A flush that began after this moment has everything; the next one to end may have begun before.
    const flushes = this.#lines.flushes;
    await eventually("envoyproxy/ratelimit to flush its statistics", () => {
      if (this.#lines.flushes < flushes + 2) throw new Error(`${this.#lines.flushes} flushes`);
    });
    const ours = Object.entries(await this.#weir.statistics()).map(([name, value]) => [name, Number(value)] as const);
    return { theirs: pickGrown(this.#lines.totals, isComparedStatistic), ours: pickGrown(ours, isComparedStatistic) };
  }

  async #series(): Promise<BothStatistics> {
    const page = async (port: number): Promise<string> => (await fetch(`http://${STACK_HOST}:${port}/metrics`)).text();
    const read = async (): Promise<BothStatistics> => ({
      theirs: pickGrown(readSeries(await page(this.#envoy.metricsPort)), isComparedSeries),
      ours: pickGrown(readSeries(await page(this.#weir.statisticsPort)), isComparedSeries),
    });
    // Their page has what was flushed, and only grows: what is still different then stays so.
    const flushed = async (): Promise<BothStatistics> => {
      const both = await read();
      if (sum(both.theirs) < sum(both.ours)) throw new Error("their page has less");
      return both;
    };
    return eventually("envoyproxy/ratelimit to flush its statistics", flushed, STATISTICS_TIMEOUT_MS).catch(read);
  }
}

function storeEnv({ address }: StoreServer): Env {
  return { BACKEND_TYPE: "redis", REDIS_SOCKET_TYPE: "tcp", REDIS_URL: address };
}

function pickGrown(
  statistics: Iterable<readonly [string, number]>,
  isCompared: (name: string) => boolean,
): ReadonlyMap<string, number> {
  return byRule([...statistics].filter(([name, value]) => value !== 0 && isCompared(name)));
}

function sum(statistics: ReadonlyMap<string, number>): number {
  return [...statistics.values()].reduce((total, value) => total + value, 0);
}
