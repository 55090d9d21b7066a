// Creates the parts of the service in the order in which they start; they stop in reverse order.
import { setTimeout } from "node:timers/promises";

import { Lifecycle } from "@weir/common/lifecycle/lifecycle";
import { createLog, type Log } from "@weir/common/log/log";
import { readDescriptorLimit } from "@weir/common/net/connection-limit";
import type { Tracing } from "@weir/common/tracing/tracing";
import { TurnEnd } from "@weir/common/turn/turn-end";

import type { RateLimitConfigModel } from "@weir/limits/model/model";

import { createLocalCache } from "./decide/local-cache/local-cache.ts";
import { RuleDecider } from "./decide/rule-decider.ts";
import { Health } from "./health/health.ts";
import type { Settings } from "./settings.ts";
import { ActiveRules } from "./startup/active-rules.ts";
import { createConfigSource } from "./startup/config-source.ts";
import { createCounterBackend } from "./startup/counter-backend.ts";
import { createFirstConfigurationWait } from "./startup/first-configuration.ts";
import { openGrpcTls } from "./startup/grpc-tls.ts";
import { withAddressLog } from "./startup/listen-address-log.ts";
import { createStatisticsSinks } from "./startup/statistics-sinks.ts";
import { ReloadedFiles } from "./startup/reloaded-files.ts";
import { createTrafficGate } from "./startup/traffic-gate.ts";
import { createObserver, createTopKeys } from "./startup/observation.ts";
import { LoadStatistics, ServiceStatistics } from "./statistics/service-statistics.ts";
import { StatisticsStore } from "./statistics/statistics-store.ts";
import { DebugListener } from "./transport/debug/debug-listener.ts";
import { JsonTransport } from "./transport/json/json-transport.ts";
import { GrpcTransport } from "./transport/grpc/grpc-transport.ts";
import { ConnectionGateway } from "./workers/connection-gateway.ts";
import { shareOf } from "./workers/shares.ts";
import { StoreHealth } from "./workers/store-health.ts";
import { WorkerPool, type WorkerPoolDeps } from "./workers/worker-pool.ts";

/** Share of the file descriptors of a worker that its gRPC connections may take. */
const CONNECTIONS_SHARE = 7 / 8;

/** Dependencies on the process. `isDrainWanted` is called at the stop. */
export interface ServiceDeps {
  /** Number of worker processes that serve gRPC; 1 = this process does. */
  readonly workers: number;
  readonly tracing: Tracing;
  readonly isDrainWanted: () => boolean;
  readonly log: Log;
}

/** The service, not started yet. */
export interface Service {
  readonly lifecycle: Lifecycle;
  /** Reloads the configuration and the certificates, for SIGHUP. */
  reload(): void;
}

/** Creates the service. Fails with TLS_FILE_INVALID or STATISTICS_MAPPING_INVALID. */
export async function createService(
  { workers, tracing, isDrainWanted, log }: ServiceDeps,
  allSettings: Settings,
): Promise<Service> {
  const settings = workers > 1 ? shareOf(allSettings, workers, "parent") : allSettings;
  // As in envoyproxy/ratelimit the default level, warn, shows where the service listens.
  const addressLog = createLog({ ...settings.log, level: settings.log.level === "warn" ? "info" : settings.log.level });
  const { server } = settings;
  const lifecycle = new Lifecycle({ log }, { stopTimeoutMs: server.shutdown.drainMs + 2 * server.shutdown.graceMs });
  const files = new ReloadedFiles({ log });

  const turn = new TurnEnd();
  const monotonicMs = (): number => turn.monotonicMs();
  const store = new StatisticsStore(settings.statistics);
  const statistics = new ServiceStatistics(store);
  const health = new Health(server.health);
  const storeHealth = new StoreHealth(health);
  const pool = workers > 1 ? createPool({ store, health, storeHealth, log }, workers) : undefined;
  const distribute = pool && ((configs: readonly RateLimitConfigModel[]) => pool.load(configs));
  const counter = await createCounterBackend(settings, {
    ...{ store, statistics, files, tracing, turn, log },
    health: storeHealth,
  });
  const cellsProblem = counter.cellsProblem && (() => counter.cellsProblem?.());
  const rules = new ActiveRules({ store, statistics, health, cellsProblem, distribute }, settings.config);
  const topKeys = createTopKeys(settings, rules.current);
  const { localCacheSizeBytes: sizeBytes } = settings.decide;
  const localCache = createLocalCache({ statistics: store, monotonicMs, log }, { sizeBytes });
  const clock = (): number => turn.nowMs();
  const decider = new RuleDecider(
    { rules: rules.current, counter, statistics, localCache, topKeys, clock, monotonicMs, log },
    settings.decide,
  );
  const observed = createObserver({ store, statistics, rules: rules.current, topKeys, pool, decider, log }, settings);
  const source = await createConfigSource(settings.config, { listener: rules, store, observed, log });
  const debug = new DebugListener(
    { rules: rules.current, statistics: store, extraTags: settings.statistics.extraTags, health, log },
    server.debug,
  );
  const grpcTls = server.grpc.tls && openGrpcTls(server.grpc.tls, files, new LoadStatistics(store, "certs"));
  const grpc =
    pool === undefined
      ? new GrpcTransport(
          { decider, tracing, health, statistics, store, turn, log },
          { ...server.grpc, tls: grpcTls, request: settings.decide },
        )
      : new ConnectionGateway({ pool, log }, server.grpc.address);
  const http = new JsonTransport({ decider, tracing, health, log }, server.http);
  const trafficGate = createTrafficGate(
    { transports: [grpc, http], health, isDrainWanted, sleep, log },
    server.shutdown,
  );

  lifecycle.add({ name: "tracing", stop: () => tracing.stop() });
  // The debug listener comes before parts that may wait for the store or the configuration, so that
  // a waiting process can be inspected.
  lifecycle.add(withAddressLog(debug, "debug", addressLog));
  for (const sink of await createStatisticsSinks(settings.statistics, { store, addressLog, log })) lifecycle.add(sink);
  for (const file of files.all) lifecycle.add(file);
  lifecycle.add(counter);
  for (const part of [pool, observed?.observer, source]) if (part !== undefined) lifecycle.add(part);
  if (!settings.config.forceStart) lifecycle.add(createFirstConfigurationWait({ first: rules.first, log }));
  lifecycle.add(withAddressLog(grpc, "gRPC", addressLog));
  lifecycle.add(withAddressLog(http, "HTTP", addressLog));
  lifecycle.add(trafficGate);
  return {
    lifecycle,
    reload() {
      log.info("Reloading files and certificates");
      source.reload();
      for (const file of files.all) file.reload();
      pool?.reload();
    },
  };
}

async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, signal && { signal });
}

function createPool(deps: WorkerPoolDeps, workers: number): WorkerPool {
  const descriptors = readDescriptorLimit("/proc/self/limits") ?? Infinity;
  return new WorkerPool(deps, { workers, connectionsMax: Math.floor(descriptors * CONNECTIONS_SHARE) });
}
