// weir-ratelimit: the rate limit service. Settings, then the parts in the order in which they start; they stop in reverse.
import { setTimeout } from "node:timers/promises";

import { createLifecycle, runUntilAborted } from "@weir/common/lifecycle/lifecycle";
import { type ProgramContext, runProgram } from "@weir/common/lifecycle/program";
import { createLog, type Log } from "@weir/common/log/log";
import { startTracing } from "@weir/common/tracing/tracing";

import { announced } from "./announce.ts";
import type { ConfigListener, ConfigSource } from "./config/config-source.ts";
import { createFileSource } from "./config/files/file-source.ts";
import { createXdsSource } from "./config/xds/xds-source.ts";
import type { Counter } from "./counters/counter.ts";
import { createKvstoreCounter } from "./counters/kvstore/single/kvstore-counter.ts";
import { createMemoryCounter } from "./counters/memory/memory-counter.ts";
import { createDecider } from "./decide/rule-decider.ts";
import { createFirstConfigurationWait } from "./first-configuration.ts";
import { createHealth, type Health } from "./health/health.ts";
import { kvstoreOptions } from "./kvstore-options.ts";
import { createRulesInForce } from "./rules-in-force.ts";
import { createServing } from "./serving.ts";
import { describeSettings, parseSettings, type Settings } from "./settings.ts";
import type { PullSettings } from "./settings/statistics-settings.ts";
import { loadMapping } from "./statistics-mapping.ts";
import { createPullSink } from "./statistics/pull/pull-sink.ts";
import { createServiceStatistics } from "./statistics/service-statistics.ts";
import type { StatisticsSink } from "./statistics/statistics-sink.ts";
import { createStatisticsStore, type StatisticsStore } from "./statistics/statistics-store.ts";
import { createDebugListener } from "./transport/debug/debug-listener.ts";
import { createGrpcJsTransport } from "./transport/grpc-js/grpc-js-transport.ts";
import { createJsonTransport } from "./transport/json/json-transport.ts";
import { createTlsFileSets, type TlsFileSets } from "./tls-file-sets.ts";

runProgram(
  {
    name: "weir-ratelimit",
    summary: "Decides, over gRPC and HTTP, whether requests are within the configured rate limits.",
    settings: describeSettings,
  },
  main,
);

async function main(context: ProgramContext): Promise<void> {
  const settings = parseSettings(context.env);
  const log = createLog(settings.log);
  context.useLog(log);
  // Where it listens is told at the default level too, as the reference does; only a log that wants nothing but errors is spared.
  const startLog = createLog({ ...settings.log, level: settings.log.level === "warn" ? "info" : settings.log.level });
  const { server } = settings;
  const lifecycle = createLifecycle({ log }, { stopTimeoutMs: server.shutdown.drainMs + 2 * server.shutdown.graceMs });
  const tls = createTlsFileSets({ log });

  const tracing = await startTracing(settings.tracing, { log });
  const store = createStatisticsStore(settings.statistics);
  const statistics = createServiceStatistics(store);
  const health = createHealth(server.health);
  const rules = createRulesInForce({ store, statistics, health }, settings.config);
  const counter = createCounter(settings, { store, health, tls, log });
  const source = createConfigSource(settings, { listener: rules, log });
  const decider = createDecider({ rules: rules.current, counter, statistics, clock: Date.now, log }, settings.decide);
  const debug = createDebugListener({ rules: rules.current, statistics: store, health, log }, server.debug);
  const grpc = createGrpcJsTransport(
    { decider, tracing, health, statistics, nowMs: () => performance.now(), log },
    { ...server.grpc, tls: server.grpc.tls && { files: tls.open(server.grpc.tls.paths), clientName: server.grpc.tls.clientName } },
  );
  const http = createJsonTransport({ decider, tracing, health, log }, server.http);
  const serving = createServing(
    { transports: [grpc, http], health, isDrainWanted: () => context.signalName() === "SIGTERM", sleep, log },
    server.shutdown,
  );

  lifecycle.add({ name: "tracing", stop: () => tracing.stop() });
  // Debug before what may take time, so that a process which waits for its store or its configuration can be looked into.
  lifecycle.add(announced(debug, "debug", startLog));
  if (settings.statistics.pull !== undefined) {
    lifecycle.add(announced(createStatisticsSink(settings.statistics.pull, settings, { store, log }), "statistics", startLog));
  }
  for (const files of tls.all()) lifecycle.add(files);
  lifecycle.add(counter);
  lifecycle.add(source);
  if (!settings.config.forceStart) lifecycle.add(createFirstConfigurationWait({ first: rules.first, log }));
  lifecycle.add(announced(grpc, "gRPC", startLog));
  lifecycle.add(announced(http, "HTTP", startLog));
  lifecycle.add(serving);
  context.onHangup(() => {
    log.info("reloading files and certificates");
    source.reload();
    for (const files of tls.all()) files.reload();
  });
  await runUntilAborted(lifecycle, context.signal);
}

async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, signal && { signal });
}

function createCounter(
  { backend }: Settings,
  deps: { readonly store: StatisticsStore; readonly health: Health; readonly tls: TlsFileSets; readonly log: Log },
): Counter {
  switch (backend.kind) {
    case "memory":
      return createMemoryCounter(backend);
    case "kvstore":
      return createKvstoreCounter(
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
}

function createStatisticsSink(
  pull: PullSettings,
  { statistics }: Settings,
  deps: { readonly store: StatisticsStore; readonly log: Log },
): StatisticsSink {
  return createPullSink({ ...deps, mapping: loadMapping(pull) }, { ...pull, extraTags: statistics.extraTags });
}

function createConfigSource({ config }: Settings, deps: { readonly listener: ConfigListener; readonly log: Log }): ConfigSource {
  switch (config.source.kind) {
    case "files":
      return createFileSource(deps, config.source.directory);
    case "xds":
      return createXdsSource({ ...deps, random: Math.random }, config.source.client);
  }
}
