// Puts the parts of the service together, in the order in which they start; they stop in reverse.
// What a backend or a source needs is loaded only when the settings ask for it.
import { resolveSrv } from "node:dns/promises";
import { setTimeout } from "node:timers/promises";

import { createLifecycle, type Lifecycle } from "@weir/common/lifecycle/lifecycle";
import { createLog, type Log } from "@weir/common/log/log";
import type { Tracing } from "@weir/common/tracing/tracing";

import { altstoreOptions } from "./altstore-options.ts";
import { announced } from "./announce.ts";
import type { ConfigListener, ConfigSource } from "./config/config-source.ts";
import { countLoads } from "./counted-loads.ts";
import type { Counter } from "./counters/counter.ts";
import { createMemoryCounter } from "./counters/memory/memory-counter.ts";
import { traceCounter } from "./counters/traced-counter.ts";
import { createLocalCache } from "./decide/local-cache.ts";
import { createDecider } from "./decide/rule-decider.ts";
import { createFirstConfigurationWait } from "./first-configuration.ts";
import { createHealth, type Health } from "./health/health.ts";
import { kvstoreOptions } from "./kvstore-options.ts";
import { createRulesInForce } from "./rules-in-force.ts";
import { createServing } from "./serving.ts";
import type { Settings } from "./settings.ts";
import { createStatisticsSinks } from "./statistics-sinks.ts";
import { createLoadStatistics } from "./statistics/load-statistics.ts";
import { createServiceStatistics, type ServiceStatistics } from "./statistics/service-statistics.ts";
import { createStatisticsStore, type StatisticsStore } from "./statistics/statistics-store.ts";
import type { ListenerTls } from "./transport/connection-listener.ts";
import { createDebugListener } from "./transport/debug/debug-listener.ts";
import { createGrpcJsTransport } from "./transport/grpc-js/grpc-js-transport.ts";
import { createJsonTransport } from "./transport/json/json-transport.ts";
import { createTlsFileSets, type TlsFileSets } from "./tls-file-sets.ts";

/** What the service needs of its process. `isDrainWanted` is asked at the stop. */
export interface ServiceDeps {
  readonly tracing: Tracing;
  readonly isDrainWanted: () => boolean;
  readonly log: Log;
}

/** The service, not started yet. */
export interface Service {
  readonly lifecycle: Lifecycle;
  /** Brings the configuration and the certificates again, for SIGHUP. */
  reload(): void;
}

/** Makes the service. Fails with the error of a file that cannot be used. */
export async function createService(
  { tracing, isDrainWanted, log }: ServiceDeps,
  settings: Settings,
): Promise<Service> {
  // Where it listens is told at the default level too, as the reference does; only a log that wants
  // nothing but errors is spared.
  const startLog = createLog({ ...settings.log, level: settings.log.level === "warn" ? "info" : settings.log.level });
  const { server } = settings;
  const lifecycle = createLifecycle({ log }, { stopTimeoutMs: server.shutdown.drainMs + 2 * server.shutdown.graceMs });
  const tls = createTlsFileSets({ log });

  const store = createStatisticsStore(settings.statistics);
  const statistics = createServiceStatistics(store);
  const health = createHealth(server.health);
  const rules = createRulesInForce({ store, statistics, health }, settings.config);
  const counter = traced(await createCounter(settings, { store, statistics, health, tls, log }), tracing, settings);
  const source = await createConfigSource(settings, { listener: rules, store, log });
  const localCache = createLocalCache({ statistics: store, log }, { sizeBytes: settings.decide.localCacheSizeBytes });
  const decider = createDecider(
    { rules: rules.current, counter, statistics, localCache, clock: Date.now, log },
    settings.decide,
  );
  const debug = createDebugListener(
    { rules: rules.current, statistics: store, extraTags: settings.statistics.extraTags, health, log },
    server.debug,
  );
  const grpc = createGrpcJsTransport(
    { decider, tracing, health, statistics, nowMs: () => performance.now(), log },
    { ...server.grpc, tls: server.grpc.tls && openGrpcTls(server.grpc.tls, tls, store) },
  );
  const http = createJsonTransport({ decider, tracing, health, log }, server.http);
  const serving = createServing({ transports: [grpc, http], health, isDrainWanted, sleep, log }, server.shutdown);

  lifecycle.add({ name: "tracing", stop: () => tracing.stop() });
  // Debug before what may take time, so that a process which waits for its store or its
  // configuration can be looked into.
  lifecycle.add(announced(debug, "debug", startLog));
  for (const sink of await createStatisticsSinks(settings.statistics, { store, startLog, log })) lifecycle.add(sink);
  for (const files of tls.all()) lifecycle.add(files);
  lifecycle.add(counter);
  lifecycle.add(source);
  if (!settings.config.forceStart) lifecycle.add(createFirstConfigurationWait({ first: rules.first, log }));
  lifecycle.add(announced(grpc, "gRPC", startLog));
  lifecycle.add(announced(http, "HTTP", startLog));
  lifecycle.add(serving);
  return {
    lifecycle,
    reload() {
      log.info("reloading files and certificates");
      source.reload();
      for (const files of tls.all()) files.reload();
    },
  };
}

async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, signal && { signal });
}

async function createCounter(
  { backend, decide }: Settings,
  deps: {
    readonly store: StatisticsStore;
    readonly statistics: ServiceStatistics;
    readonly health: Health;
    readonly tls: TlsFileSets;
    readonly log: Log;
  },
): Promise<Counter> {
  switch (backend.kind) {
    case "memory":
      return createMemoryCounter(backend);
    case "kvstore": {
      const { createKvstoreBackend } = await import("./kvstore-backend.ts");
      return await createKvstoreBackend(
        {
          log: deps.log,
          statistics: deps.store,
          clock: Date.now,
          random: Math.random,
          connections: (active) => deps.health.set("cache", active > 0),
        },
        kvstoreOptions(backend, deps.tls.open(backend.tls.paths)),
      );
    }
    case "altstore": {
      const { createAltstoreCounter } = await import("./counters/altstore/altstore-counter.ts");
      return createAltstoreCounter(
        {
          log: deps.log,
          statistics: deps.store,
          allowedFailures: deps.statistics.backendFailures.allow,
          clock: Date.now,
          random: Math.random,
          resolveSrv,
          reachable: (nodes) => deps.health.set("cache", nodes > 0),
        },
        altstoreOptions(backend, decide.failureMode, deps.tls.open(backend.tls.paths)),
      );
    }
  }
}

/** The counter with spans around its work, when they are wanted and it has any. */
function traced(counter: Counter, tracing: Tracing, { backend }: Settings): Counter {
  if (tracing.tracer === undefined || backend.kind === "memory") return counter;
  const { kind } = backend;
  return traceCounter(
    counter,
    tracing,
    kind === "kvstore" ? { kind, hasPerSecond: backend.perSecond !== undefined } : { kind },
  );
}

/** The certificate of the gRPC listener, whose loads are counted. */
function openGrpcTls(
  { paths, clientName }: NonNullable<Settings["server"]["grpc"]["tls"]>,
  tls: TlsFileSets,
  store: StatisticsStore,
): ListenerTls {
  return { files: tls.open(paths, createLoadStatistics(store, "certs")), clientName };
}

async function createConfigSource(
  { config }: Settings,
  deps: { readonly listener: ConfigListener; readonly store: StatisticsStore; readonly log: Log },
): Promise<ConfigSource> {
  switch (config.source.kind) {
    case "files": {
      const { FileSource } = await import("./config/files/file-source.ts");
      const listener = countLoads(deps.listener, createLoadStatistics(deps.store, "runtime"));
      return new FileSource({ ...deps, listener }, config.source.directory);
    }
    case "xds": {
      const { createXdsSource } = await import("./config/xds/xds-source.ts");
      return createXdsSource({ ...deps, random: Math.random }, config.source.client);
    }
  }
}
