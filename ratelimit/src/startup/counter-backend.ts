// Creates the counter backend that BACKEND_TYPE selects. A client library is loaded only when it is
// selected.
import { resolveSrv } from "node:dns/promises";

import type { Log } from "@weir/common/log/log";
import type { TlsFiles } from "@weir/common/tls/tls-files";
import type { Tracing } from "@weir/common/tracing/tracing";
import type { TurnEnd } from "@weir/common/turn/turn-end";

import type { Counter } from "../counters/counter.ts";
import type { CreateDeployment, DeploymentDeps } from "../counters/redis/deployment.ts";
import type { RedisCounterOptions, RedisServerOptions } from "../counters/redis/options.ts";
import { MemoryCounter } from "../counters/memory/memory-counter.ts";
import { TracedCounter } from "../counters/traced-counter.ts";
import type { Health } from "../health/health.ts";
import type { Settings } from "../settings.ts";
import type { MemcachedBackendSettings } from "../settings/memcached-settings.ts";
import type { RedisBackendSettings, RedisServerSettings } from "../settings/redis-settings.ts";
import type { ServiceStatistics } from "../statistics/service-statistics.ts";
import type { StatisticsStore } from "../statistics/statistics-store.ts";
import type { ReloadedFiles } from "./reloaded-files.ts";

export interface CounterBackendDeps {
  readonly store: StatisticsStore;
  readonly statistics: ServiceStatistics;
  /** Receives whether there is a connection to the store, as "cache". */
  readonly health: Pick<Health, "set">;
  readonly files: ReloadedFiles;
  readonly tracing: Tracing;
  readonly turn: TurnEnd;
  readonly log: Log;
}

/** Creates the backend, with spans around its work where tracing is on and a store is asked. */
export async function createCounterBackend(settings: Settings, deps: CounterBackendDeps): Promise<Counter> {
  const { backend } = settings;
  if (backend.kind === "memory") return new MemoryCounter(backend);
  const counter = await createStoreBackend(backend, settings, deps);
  if (deps.tracing.tracer === undefined) return counter;
  const { kind } = backend;
  return new TracedCounter(
    counter,
    deps.tracing,
    kind === "kvstore" ? { kind, hasPerSecond: backend.perSecond !== undefined } : { kind },
  );
}

async function createStoreBackend(
  backend: RedisBackendSettings | MemcachedBackendSettings,
  { decide }: Settings,
  { store, statistics, health, files, turn, log }: CounterBackendDeps,
): Promise<Counter> {
  const shared = { log, statistics: store, monotonicMs: () => performance.now(), random: Math.random };
  const reportConnections = (active: number): void => health.set("cache", active > 0);
  const storeTls = storeTlsOf(backend.tls, files.openTls(backend.tls.paths));
  if (backend.kind === "kvstore") {
    const server = ({ useTls, ...options }: RedisServerSettings): RedisServerOptions => ({
      ...options,
      url: files.openSecret(options.url),
      auth: options.auth && files.openSecret(options.auth),
      sentinelAuth: options.sentinelAuth && files.openSecret(options.sentinelAuth),
      tls: useTls ? storeTls : undefined,
    });
    return await createRedisBackend(
      { ...shared, turn, connections: reportConnections },
      { ...backend, main: server(backend.main), perSecond: backend.perSecond && server(backend.perSecond) },
    );
  }
  const { MemcachedCounter } = await import("../counters/memcached/memcached-counter.ts");
  return new MemcachedCounter(
    {
      ...shared,
      clock: Date.now,
      allowedFailures: statistics.backendFailures.allow,
      resolveSrv,
      reachable: reportConnections,
    },
    {
      ...backend,
      // With "allow" a count that cannot be read is zero, as in envoyproxy/ratelimit.
      unread: decide.failureMode === "allow" ? "zero" : "failure",
      tls: backend.useTls ? storeTls : undefined,
    },
  );
}

/** TLS with the files as they are at each connect. */
function storeTlsOf(
  { skipHostnameVerification }: RedisBackendSettings["tls"],
  files: TlsFiles,
): NonNullable<RedisServerOptions["tls"]> {
  return {
    material: () => files.current(),
    onChange: (listener) => files.onChange(listener),
    skipHostnameVerification,
  };
}

/**
 * Creates the Redis backend; each deployment type is loaded only when the settings name it. Fails
 * with STORE_ADDRESS_INVALID when an address does not parse.
 */
export async function createRedisBackend(deps: DeploymentDeps, options: RedisCounterOptions): Promise<Counter> {
  const { createRedisCounter } = await import("../counters/redis/redis-counter.ts");
  const createMain = await loadDeployment(options.main.type);
  const createPerSecond = options.perSecond && (await loadDeployment(options.perSecond.type));
  const createDeployment: CreateDeployment = (shared, deployment) => {
    const create = deployment.server === options.perSecond ? createPerSecond : createMain;
    return (create ?? createMain)(shared, deployment);
  };
  return createRedisCounter({ ...deps, createDeployment }, options);
}

async function loadDeployment(type: RedisServerOptions["type"]): Promise<CreateDeployment> {
  switch (type) {
    case "single":
      return (await import("../counters/redis/single/single-deployment.ts")).createSingleDeployment;
    case "sentinel":
      return (await import("../counters/redis/sentinel/sentinel-deployment.ts")).createSentinelDeployment;
    case "cluster":
      return (await import("../counters/redis/cluster/cluster-deployment.ts")).createClusterDeployment;
  }
}
