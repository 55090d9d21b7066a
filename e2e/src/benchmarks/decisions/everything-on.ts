// The settings with which the benchmarks run a server that has everything switched on: each feature
// that costs something per decision. A version that does not know a setting passes over it, so an
// earlier one runs with those of the features that it has.
import type { TelemetryPorts } from "./telemetry-sink.ts";

/** Room for all keys that a benchmark puts into the cache of keys over their limit. */
const LOCAL_CACHE_BYTES = 64 * 1024 * 1024;

/**
 * Share of the calls that are traced: what services of this load choose, so that traces stay
 * payable.
 */
const SAMPLING_RATE = "0.01";

/** So short that every measurement holds several flushes. */
const FLUSH_INTERVAL = "1s";

/**
 * All of it. `perSecondSocketPath` leads to a second Redis for counters per second; `host` is where
 * the telemetry sink listens. Not among them is what changes how calls are batched or how rules
 * match: pipeline windows, and flags of single rules.
 */
export function everythingOn(options: {
  readonly perSecondSocketPath: string;
  readonly host: string;
  readonly telemetry: TelemetryPorts;
}): Readonly<Record<string, string>> {
  const { perSecondSocketPath, host, telemetry } = options;
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
    PUSHSTATS_HOST: host,
    PUSHSTATS_PORT: String(telemetry.statistics),
    // Traces.
    TRACING_ENABLED: "true",
    TRACING_EXPORTER_PROTOCOL: "http",
    TRACING_SAMPLING_RATE: SAMPLING_RATE,
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://${host}:${telemetry.traces}`,
  };
}
