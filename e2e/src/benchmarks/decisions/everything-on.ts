// A server that has everything switched on: the settings of each feature that costs something per decision, and the
// receiver of its telemetry. A version that does not know a setting passes over it.
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { STACK_HOST } from "@weir/dev/setup/ports";
import type { Env } from "@weir/harness/processes/programs";

/** Room for all keys that a benchmark puts into the cache of keys over their limit. */
const LOCAL_CACHE_BYTES = 64 * 1024 * 1024;

/**
 * Share of the calls that are traced: what services of this load choose, so that traces stay
 * payable.
 */
const SAMPLING_RATE = "0.01";

/** So short that every measurement holds several flushes. */
const FLUSH_INTERVAL = "1s";

/** Receives telemetry and drops it; without a receiver a server would spend its time on errors. */
export interface TelemetrySink {
  /** Port of OTLP over HTTP. */
  readonly traces: number;
  /** Port of StatsD over UDP. */
  readonly statistics: number;
  stop(): Promise<void>;
}

/** Starts a receiver in this process, which stays on the cores of the generator. */
export async function startTelemetrySink(): Promise<TelemetrySink> {
  // An empty body is an ExportTraceServiceResponse in which everything was accepted.
  const traces = createServer((request, response) => {
    request.resume();
    request.once("end", () => response.writeHead(200, { "Content-Type": "application/x-protobuf" }).end());
  });
  const statistics = createSocket("udp4", () => undefined);
  await Promise.all([
    once(traces.listen(0, STACK_HOST), "listening"),
    once(statistics.bind(0, STACK_HOST), "listening"),
  ]);
  const stop = async (): Promise<void> => {
    traces.close().closeAllConnections();
    statistics.close();
  };
  return { traces: (traces.address() as AddressInfo).port, statistics: statistics.address().port, stop };
}

/**
 * All settings, with a second Redis for counters per second. Not among them is what changes how calls are batched or
 * how rules match: pipeline windows, and flags of single rules.
 */
export function everythingOn(perSecondSocketPath: string, { traces, statistics }: TelemetrySink): Env {
  return {
    // Counting.
    LOCAL_CACHE_SIZE_IN_BYTES: String(LOCAL_CACHE_BYTES),
    STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT: "true",
    CACHE_KEY_PREFIX: "bench:",
    KVSTORE_PERSECOND: "true",
    KVSTORE_PERSECOND_TYPE: "SINGLE",
    KVSTORE_PERSECOND_SOCKET_TYPE: "unix",
    KVSTORE_PERSECOND_URL: perSecondSocketPath,
    KVSTORE_HEALTH_CHECK_ACTIVE_CONNECTION: "true",
    // Answers.
    LIMIT_RESPONSE_HEADERS_ENABLED: "true",
    LIMIT_RULE_HEADER: "x-ratelimit-rule",
    RESPONSE_DYNAMIC_METADATA: "true",
    // Statistics, in addition to the pull endpoint that every measured server has.
    USE_TAGGED_STATS: "true",
    TAGGED_STATS_MOGRIFIERS: "DOMAIN",
    TAGGED_STATS_MOGRIFIERS_DOMAIN_PATTERN: "^ratelimit\\.service\\.rate_limit\\.(.*)\\.(.*)\\.(.*)$",
    TAGGED_STATS_MOGRIFIERS_DOMAIN_NAME: "ratelimit.$3",
    TAGGED_STATS_MOGRIFIERS_DOMAIN_TAGS: "domain:$1,descriptor:$2",
    EXTRA_TAGS: "region:bench",
    STATS_FLUSH_INTERVAL: FLUSH_INTERVAL,
    PUSHSTATS_HOST: STACK_HOST,
    PUSHSTATS_PORT: String(statistics),
    // Traces.
    TRACING_ENABLED: "true",
    TRACING_EXPORTER_PROTOCOL: "http",
    TRACING_SAMPLING_RATE: SAMPLING_RATE,
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://${STACK_HOST}:${traces}`,
  };
}
