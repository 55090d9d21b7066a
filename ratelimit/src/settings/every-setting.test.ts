// Sets every variable, under every spelling, to another value than its default: the property that it is
// for changes to the expected value.
import { Secret } from "@weir/common/settings/secret";
import { describe, expect, it } from "vitest";

import { describeSettings, parseSettings } from "../settings.ts";

type Variables = Readonly<Record<string, string>>;

/** One setting. */
interface Row {
  /** All spellings, the primary one first. */
  readonly names: string;
  readonly value: string;
  /** The path of the parsed setting that changes. */
  readonly path: string;
  readonly expected: unknown;
  /** The variables that must be set in addition for it to have an effect. */
  readonly others?: Variables;
}

const MEMORY = { BACKEND_TYPE: "memory" };
const ALTSTORE = { BACKEND_TYPE: "memcache", MEMCACHE_HOST_PORT: "mc:11211" };
const RECORD = { BACKEND_TYPE: "altstore", ALTSTORE_SRV: "_mc._tcp.example.org" };
const PER_SECOND = { KVSTORE_PERSECOND: "true" };
const XDS = { CONFIG_TYPE: "GRPC_XDS_SOTW" };
const GRPC_TLS = { GRPC_SERVER_USE_TLS: "true", GRPC_SERVER_TLS_CERT: "/c", GRPC_SERVER_TLS_KEY: "/k" };
const GRPC_MTLS = { ...GRPC_TLS, GRPC_CLIENT_TLS_CACERT: "/a" };
const HEADERS = { LIMIT_RESPONSE_HEADERS_ENABLED: "true" };
const PULL = { USE_PULLSTATS: "true" };
const TAGGED = { USE_TAGGED_STATS: "true" };
const MOGRIFIER = {
  ...TAGGED,
  TAGGED_STATS_MOGRIFIERS: "one",
  TAGGED_STATS_MOGRIFIERS_ONE_PATTERN: "a",
  TAGGED_STATS_MOGRIFIERS_ONE_NAME: "b",
};

/** Both spellings of a setting of a store. */
const kvstore = (suffix: string): string => `KVSTORE_${suffix} REDIS_${suffix}`;
const altstore = (suffix: string): string => `ALTSTORE_${suffix} MEMCACHE_${suffix}`;

const LISTENERS: readonly Row[] = [
  { names: "HOST", value: "127.0.0.1", path: "server.http.host", expected: "127.0.0.1" },
  { names: "PORT", value: "1", path: "server.http.port", expected: 1 },
  { names: "DEBUG_HOST", value: "::1", path: "server.debug.host", expected: "::1" },
  { names: "DEBUG_PORT", value: "2", path: "server.debug.port", expected: 2 },
  { names: "DEBUG_PROFILING", value: "true", path: "server.debug.profiling.forEveryone", expected: true },
  { names: "GRPC_HOST", value: "::1", path: "server.grpc.address.host", expected: "::1" },
  { names: "GRPC_PORT", value: "3", path: "server.grpc.address.port", expected: 3 },
  { names: "GRPC_UDS", value: "/run/s", path: "server.grpc.address", expected: { kind: "unix", path: "/run/s" } },
  { names: "GRPC_MAX_CONNECTION_AGE", value: "90s", path: "server.grpc.connectionAgeMaxMs", expected: 90_000 },
  { names: "GRPC_MAX_CONNECTION_AGE_GRACE", value: "2s", path: "server.grpc.connectionAgeGraceMs", expected: 2000 },
  {
    names: "GRPC_SERVER_USE_TLS",
    value: "true",
    path: "server.grpc.tls",
    expected: { paths: { certPath: "/c", keyPath: "/k" }, clientName: undefined },
    others: { GRPC_SERVER_TLS_CERT: "/c", GRPC_SERVER_TLS_KEY: "/k" },
  },
  {
    names: "GRPC_SERVER_TLS_CERT",
    value: "/x",
    path: "server.grpc.tls.paths.certPath",
    expected: "/x",
    others: GRPC_TLS,
  },
  {
    names: "GRPC_SERVER_TLS_KEY",
    value: "/x",
    path: "server.grpc.tls.paths.keyPath",
    expected: "/x",
    others: GRPC_TLS,
  },
  {
    names: "GRPC_CLIENT_TLS_CACERT",
    value: "/x",
    path: "server.grpc.tls.paths.caPath",
    expected: "/x",
    others: GRPC_TLS,
  },
  {
    names: "GRPC_CLIENT_TLS_SAN",
    value: "envoy",
    path: "server.grpc.tls.clientName",
    expected: "envoy",
    others: GRPC_MTLS,
  },
  { names: "HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED", value: "1", path: "server.health.withConfig", expected: true },
  {
    names: kvstore("HEALTH_CHECK_ACTIVE_CONNECTION"),
    value: "t",
    path: "server.health.withActiveConnection",
    expected: true,
  },
  { names: "WORKERS", value: "3", path: "server.workers", expected: 3 },
  { names: "SHUTDOWN_DRAIN", value: "1s", path: "server.shutdown.drainMs", expected: 1000 },
  { names: "SHUTDOWN_GRACE", value: "2s", path: "server.shutdown.graceMs", expected: 2000 },
  { names: "LOG_LEVEL", value: "Debug", path: "log.level", expected: "debug" },
  { names: "LOG_FORMAT", value: "JSON", path: "log.format", expected: "json" },
];

const CONFIGURATION: readonly Row[] = [
  { names: "CONFIG_TYPE", value: "GRPC_XDS_SOTW", path: "config.source.kind", expected: "xds" },
  { names: "FORCE_START_WITHOUT_INITIAL_CONFIG", value: "true", path: "config.forceStart", expected: true },
  { names: "MERGE_DOMAIN_CONFIG", value: "true", path: "config.mergeDomains", expected: true },
  { names: "RUNTIME_ROOT", value: "/r", path: "config.source.directory.root", expected: "/r" },
  { names: "RUNTIME_SUBDIRECTORY", value: "s", path: "config.source.directory.subdirectory", expected: "s" },
  { names: "RUNTIME_APPDIRECTORY", value: "a", path: "config.source.directory.appDirectory", expected: "a" },
  { names: "RUNTIME_IGNOREDOTFILES", value: "true", path: "config.source.directory.ignoreDotFiles", expected: true },
  { names: "RUNTIME_WATCH_ROOT", value: "false", path: "config.source.directory.watchRoot", expected: false },
  { names: "CONFIG_GRPC_XDS_NODE_ID", value: "n", path: "config.source.client.nodeId", expected: "n", others: XDS },
  {
    names: "CONFIG_GRPC_XDS_DELTA",
    value: "true",
    path: "config.source.client.isIncremental",
    expected: true,
    others: XDS,
  },
  {
    names: "CONFIG_GRPC_XDS_NODE_METADATA",
    value: "a=b,c=d:e",
    path: "config.source.client.nodeMetadata",
    expected: { a: "b", c: "d:e" },
    others: XDS,
  },
  {
    names: "CONFIG_GRPC_XDS_SERVER_URL",
    value: "x:1",
    path: "config.source.client.serverUrl",
    expected: "x:1",
    others: XDS,
  },
  {
    names: "CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL",
    value: "1s",
    path: "config.source.client.connectRetryMs",
    expected: 1000,
    others: XDS,
  },
  {
    names: "CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS",
    value: "x-a:b,x-c:d",
    path: "config.source.client.headers",
    expected: { "x-a": "b", "x-c": "d" },
    others: XDS,
  },
  {
    names: "CONFIG_GRPC_XDS_SERVER_USE_TLS",
    value: "false",
    path: "config.source.client.tls",
    expected: undefined,
    others: XDS,
  },
  {
    names: "CONFIG_GRPC_XDS_CLIENT_TLS_CERT",
    value: "/x",
    path: "config.source.client.tls.paths.certPath",
    expected: "/x",
    others: { ...XDS, CONFIG_GRPC_XDS_CLIENT_TLS_CERT: "/c", CONFIG_GRPC_XDS_CLIENT_TLS_KEY: "/k" },
  },
  {
    names: "CONFIG_GRPC_XDS_CLIENT_TLS_KEY",
    value: "/x",
    path: "config.source.client.tls.paths.keyPath",
    expected: "/x",
    others: { ...XDS, CONFIG_GRPC_XDS_CLIENT_TLS_CERT: "/c", CONFIG_GRPC_XDS_CLIENT_TLS_KEY: "/k" },
  },
  {
    names: "CONFIG_GRPC_XDS_SERVER_TLS_CACERT",
    value: "/a",
    path: "config.source.client.tls.paths.caPath",
    expected: "/a",
    others: XDS,
  },
  {
    names: "CONFIG_GRPC_XDS_SERVER_TLS_SAN",
    value: "s",
    path: "config.source.client.tls.serverName",
    expected: "s",
    others: XDS,
  },
  {
    names: "XDS_CLIENT_BACKOFF_INITIAL_INTERVAL",
    value: "1s",
    path: "config.source.client.backoff.initialMs",
    expected: 1000,
    others: XDS,
  },
  {
    names: "XDS_CLIENT_BACKOFF_MAX_INTERVAL",
    value: "20s",
    path: "config.source.client.backoff.maxMs",
    expected: 20_000,
    others: XDS,
  },
  {
    names: "XDS_CLIENT_BACKOFF_RANDOM_FACTOR",
    value: "2",
    path: "config.source.client.backoff.factor",
    expected: 2,
    others: XDS,
  },
  {
    names: "XDS_CLIENT_BACKOFF_JITTER",
    value: "false",
    path: "config.source.client.backoff.jitter",
    expected: false,
    others: XDS,
  },
  {
    names: "XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES",
    value: "65536",
    path: "config.source.client.messageMaxBytes",
    expected: 65_536,
    others: XDS,
  },
];

/**
 * The settings of one of the two deployments: those of the second have a word more in their names.
 */
const deployment = (word: "" | "PERSECOND_", at: string, others: Variables): readonly Row[] => {
  const row = (suffix: string, value: string, field: string, expected: unknown, further: Variables = {}): Row => ({
    names: kvstore(`${word}${suffix}`),
    value,
    path: `${at}.${field}`,
    expected,
    others: { ...others, ...further },
  });
  return [
    row("SOCKET_TYPE", "tcp", "socketType", "tcp", { [`KVSTORE_${word}URL`]: "redis://a:1" }),
    row("TYPE", "CLUSTER", "type", "cluster", { [`KVSTORE_${word}URL`]: "a:1" }),
    row("URL", "/run/other.sock", "url", "/run/other.sock"),
    row("AUTH", "user:pass", "auth", "user:pass"),
    row("SENTINEL_AUTH", "pass", "sentinelAuth", "pass"),
    row("TLS", "true", "useTls", true),
    row("POOL_SIZE", "3", "poolSize", 3),
    row("TIMEOUT", "2s", "connectTimeoutMs", 2000),
    row("PIPELINE_WINDOW", "150us", "pipeline.windowMs", 0.15),
    row("PIPELINE_LIMIT", "8", "pipeline.limit", 8),
    row("CLUSTER_PIPELINE_PARALLELISM", "4", "clusterPipelineParallelism", 4),
  ];
};

const COUNTERS: readonly Row[] = [
  { names: "BACKEND_TYPE", value: "memory", path: "backend.kind", expected: "memory" },
  { names: "MEMORY_MAX_KEYS", value: "7", path: "backend.maxKeys", expected: 7, others: MEMORY },
  ...deployment("", "backend.main", {}),
  {
    names: kvstore("PERSECOND"),
    value: "true",
    path: "backend.perSecond.url",
    expected: "/var/run/nutcracker/ratelimitpersecond.sock",
  },
  ...deployment("PERSECOND_", "backend.perSecond", PER_SECOND),
  {
    names: kvstore("TLS_CLIENT_CERT"),
    value: "/x",
    path: "backend.tls.paths.certPath",
    expected: "/x",
    others: { KVSTORE_TLS_CLIENT_CERT: "/c", KVSTORE_TLS_CLIENT_KEY: "/k" },
  },
  {
    names: kvstore("TLS_CLIENT_KEY"),
    value: "/x",
    path: "backend.tls.paths.keyPath",
    expected: "/x",
    others: { KVSTORE_TLS_CLIENT_CERT: "/c", KVSTORE_TLS_CLIENT_KEY: "/k" },
  },
  { names: kvstore("TLS_CACERT"), value: "/x", path: "backend.tls.paths.caPath", expected: "/x" },
  {
    names: kvstore("TLS_SKIP_HOSTNAME_VERIFICATION"),
    value: "true",
    path: "backend.tls.skipHostnameVerification",
    expected: true,
  },
  { names: "KVSTORE_COMMAND_TIMEOUT", value: "2s", path: "backend.commandTimeoutMs", expected: 2000 },
  { names: "LIMIT_SCRIPTS", value: "off", path: "backend.usesScripts", expected: false },
  { names: kvstore("STARTUP_INITIAL_INTERVAL"), value: "2s", path: "backend.startup.initialMs", expected: 2000 },
  { names: kvstore("STARTUP_MAX_INTERVAL"), value: "20s", path: "backend.startup.maxMs", expected: 20_000 },
  { names: kvstore("STARTUP_MAX_ELAPSED_TIME"), value: "1m", path: "backend.startup.maxElapsedMs", expected: 60_000 },
  { names: "EXPIRATION_JITTER_MAX_SECONDS", value: "0", path: "backend.expiryJitterMaxSeconds", expected: 0 },
  {
    names: altstore("HOST_PORT"),
    value: "a:1,b:2",
    path: "backend.nodes.addresses",
    expected: ["a:1", "b:2"],
    others: ALTSTORE,
  },
  {
    names: altstore("SRV"),
    value: "_mc._tcp.example.org",
    path: "backend.nodes",
    expected: { kind: "srv", record: "_mc._tcp.example.org", refreshMs: 0 },
    others: { ...RECORD, ALTSTORE_SRV: "_mc._udp.example.org" },
  },
  { names: altstore("SRV_REFRESH"), value: "1m", path: "backend.nodes.refreshMs", expected: 60_000, others: RECORD },
  { names: altstore("MAX_IDLE_CONNS"), value: "5", path: "backend.maxConnections", expected: 5, others: ALTSTORE },
  { names: "ALTSTORE_TIMEOUT", value: "50ms", path: "backend.timeoutMs", expected: 50, others: ALTSTORE },
  { names: altstore("TLS"), value: "true", path: "backend.useTls", expected: true, others: ALTSTORE },
  {
    names: altstore("TLS_CLIENT_CERT"),
    value: "/x",
    path: "backend.tls.paths.certPath",
    expected: "/x",
    others: { ...ALTSTORE, ALTSTORE_TLS_CLIENT_CERT: "/c", ALTSTORE_TLS_CLIENT_KEY: "/k" },
  },
  {
    names: altstore("TLS_CLIENT_KEY"),
    value: "/x",
    path: "backend.tls.paths.keyPath",
    expected: "/x",
    others: { ...ALTSTORE, ALTSTORE_TLS_CLIENT_CERT: "/c", ALTSTORE_TLS_CLIENT_KEY: "/k" },
  },
  { names: altstore("TLS_CACERT"), value: "/x", path: "backend.tls.paths.caPath", expected: "/x", others: ALTSTORE },
  {
    names: altstore("TLS_SKIP_HOSTNAME_VERIFICATION"),
    value: "true",
    path: "backend.tls.skipHostnameVerification",
    expected: true,
    others: ALTSTORE,
  },
  {
    names: "LOCAL_CACHE_SIZE_IN_BYTES LocalCacheSizeInBytes",
    value: "1000",
    path: "decide.localCacheSizeBytes",
    expected: 1000,
  },
  {
    names: "STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT",
    value: "true",
    path: "decide.stopIncrementsWhenOver",
    expected: true,
  },
  { names: "USE_CALENDAR_MONTH_RATE_LIMIT", value: "true", path: "decide.calendarMonths", expected: true },
  { names: "CACHE_KEY_PREFIX", value: "p:", path: "decide.keyPrefix", expected: "p:" },
  { names: "BACKEND_FAILURE_MODE", value: "deny", path: "decide.failureMode", expected: "deny" },
  { names: "UNSUPPORTED_FIELDS", value: "error", path: "decide.unsupportedFields", expected: "error" },
];

const DECISIONS: readonly Row[] = [
  { names: "SHADOW_MODE", value: "true", path: "decide.shadowMode", expected: true },
  { names: "QUOTA_MODE", value: "true", path: "decide.quotaMode", expected: true },
  { names: "NEAR_LIMIT_RATIO", value: "0.5", path: "decide.nearLimitRatio", expected: 0.5 },
  { names: "RESPONSE_DYNAMIC_METADATA", value: "true", path: "decide.dynamicMetadata", expected: true },
  { names: "MAX_DESCRIPTORS_PER_REQUEST", value: "4", path: "decide.maxDescriptors", expected: 4 },
  { names: "MAX_ENTRIES_PER_DESCRIPTOR", value: "5", path: "decide.maxEntries", expected: 5 },
  { names: "LIMIT_RULE_HEADER", value: "x-rule", path: "decide.ruleHeader", expected: "x-rule" },
  {
    names: "LIMIT_RESPONSE_HEADERS_ENABLED",
    value: "true",
    path: "decide.responseHeaders",
    expected: { limit: "RateLimit-Limit", remaining: "RateLimit-Remaining", reset: "RateLimit-Reset" },
  },
  { names: "LIMIT_LIMIT_HEADER", value: "x-a", path: "decide.responseHeaders.limit", expected: "x-a", others: HEADERS },
  {
    names: "LIMIT_REMAINING_HEADER",
    value: "x-b",
    path: "decide.responseHeaders.remaining",
    expected: "x-b",
    others: HEADERS,
  },
  { names: "LIMIT_RESET_HEADER", value: "x-c", path: "decide.responseHeaders.reset", expected: "x-c", others: HEADERS },
];

const PUSH = "statistics.push";

/** The spellings of a setting of a mogrifier. */
const mogrifier = (setting: string): string =>
  ["TAGGED_STATS_MOGRIFIERS", "TAGGED_STATS_MOGRIFIER", "DOG_STATSD_MOGRIFIERS", "DOG_STATSD_MOGRIFIER"]
    .map((prefix) => `${prefix}_<NAME>_${setting}`)
    .join(" ");

/** MOGRIFIER without one of its settings, which is then set under each spelling. */
const mogrifierWithout = (setting: string): Variables =>
  Object.fromEntries(Object.entries(MOGRIFIER).filter(([name]) => name !== `TAGGED_STATS_MOGRIFIERS_ONE_${setting}`));

const STATISTICS: readonly Row[] = [
  { names: "STATS_MAX_DYNAMIC_KEYS", value: "6", path: "statistics.maxDynamicKeys", expected: 6 },
  { names: "TOP_KEYS", value: "7", path: "observe.topKeys", expected: 7 },
  { names: "TOP_KEYS_VALUES", value: "clear", path: "observe.keyValues", expected: "clear" },
  { names: "EXTRA_TAGS", value: "a:b,c:d", path: "statistics.extraTags", expected: { a: "b", c: "d" } },
  { names: "DISABLE_STATS", value: "true", path: `${PUSH}.statsd`, expected: undefined },
  { names: "STATS_FLUSH_INTERVAL", value: "1s", path: `${PUSH}.flushIntervalMs`, expected: 1000 },
  { names: "USE_PUSHSTATS USE_STATSD", value: "false", path: `${PUSH}.statsd`, expected: undefined },
  { names: "PUSHSTATS_HOST STATSD_HOST", value: "h", path: `${PUSH}.statsd.host`, expected: "h" },
  { names: "PUSHSTATS_PORT STATSD_PORT", value: "9125", path: `${PUSH}.statsd.port`, expected: 9125 },
  { names: "PUSHSTATS_PROTOCOL STATSD_PROTOCOL", value: "udp", path: `${PUSH}.statsd.protocol`, expected: "udp" },
  { names: "USE_TAGGED_STATS USE_DOG_STATSD", value: "true", path: `${PUSH}.tagged.port`, expected: 8125 },
  {
    names: "TAGGED_STATS_MOGRIFIERS USE_TAGGED_STATS_MOGRIFIERS USE_DOG_STATSD_MOGRIFIERS",
    value: "one",
    path: `${PUSH}.tagged.mogrifiers.0.name`,
    expected: "b",
    others: { ...TAGGED, DOG_STATSD_MOGRIFIER_ONE_PATTERN: "a", DOG_STATSD_MOGRIFIER_ONE_NAME: "b" },
  },
  {
    names: mogrifier("PATTERN"),
    value: "x",
    path: `${PUSH}.tagged.mogrifiers.0.pattern.patternInput`,
    expected: "x",
    others: mogrifierWithout("PATTERN"),
  },
  {
    names: mogrifier("NAME"),
    value: "x",
    path: `${PUSH}.tagged.mogrifiers.0.name`,
    expected: "x",
    others: mogrifierWithout("NAME"),
  },
  {
    names: mogrifier("TAGS"),
    value: "k:v",
    path: `${PUSH}.tagged.mogrifiers.0.tags`,
    expected: [["k", "v"]],
    others: MOGRIFIER,
  },
  {
    names: "DD_ENTITY_ID",
    value: "e",
    path: `${PUSH}.tagged.globalTags`,
    expected: ["dd.internal.entity_id:e"],
    others: TAGGED,
  },
  { names: "DD_ENV", value: "e", path: `${PUSH}.tagged.globalTags`, expected: ["env:e"], others: TAGGED },
  { names: "DD_SERVICE", value: "e", path: `${PUSH}.tagged.globalTags`, expected: ["service:e"], others: TAGGED },
  { names: "DD_VERSION", value: "e", path: `${PUSH}.tagged.globalTags`, expected: ["version:e"], others: TAGGED },
  { names: "USE_PULLSTATS USE_PROMETHEUS", value: "true", path: "statistics.pull.port", expected: 9090 },
  { names: "PULLSTATS_ADDR PROMETHEUS_ADDR", value: ":1", path: "statistics.pull.port", expected: 1, others: PULL },
  { names: "PULLSTATS_PATH PROMETHEUS_PATH", value: "/m", path: "statistics.pull.path", expected: "/m", others: PULL },
  {
    names: "PULLSTATS_MAPPER_YAML PROMETHEUS_MAPPER_YAML",
    value: "/y",
    path: "statistics.pull.mappingPath",
    expected: "/y",
    others: PULL,
  },
  {
    names: "PULLSTATS_RESPONSE_TIME_AS_MILLISECONDS PROMETHEUS_RESPONSE_TIME_AS_MILLISECONDS",
    value: "true",
    path: "statistics.pull.responseTimeAsMilliseconds",
    expected: true,
    others: PULL,
  },
  { names: "TRACING_ENABLED", value: "true", path: "tracing.enabled", expected: true },
  { names: "TRACING_EXPORTER_PROTOCOL", value: "grpc", path: "tracing.protocol", expected: "grpc" },
  { names: "TRACING_SERVICE_NAME", value: "s", path: "tracing.serviceName", expected: "s" },
  { names: "TRACING_SERVICE_NAMESPACE", value: "n", path: "tracing.serviceNamespace", expected: "n" },
  { names: "TRACING_SERVICE_INSTANCE_ID", value: "i", path: "tracing.serviceInstanceId", expected: "i" },
  { names: "TRACING_SAMPLING_RATE", value: "0.25", path: "tracing.samplingRate", expected: 0.25 },
];

/**
 * Taken, checked and without a field of its own: calls share connections, so there is nothing to
 * choose.
 */
const CHECKED_ONLY = ["KVSTORE", "REDIS"].flatMap((store) => [
  `${store}_POOL_ON_EMPTY_BEHAVIOR`,
  `${store}_PERSECOND_POOL_ON_EMPTY_BEHAVIOR`,
]);

const ROWS = [...LISTENERS, ...CONFIGURATION, ...COUNTERS, ...DECISIONS, ...STATISTICS];

describe("parseSettings()", () => {
  it.each(ROWS.flatMap((row) => row.names.split(" ").map((name) => ({ ...row, name }))))(
    "parseSettings() makes $path $expected when $name is $value",
    ({ name, value, path, expected, names, others = {} }) => {
      const spellings = names.split(" ");
      // The other settings may give it another value, under its primary name, so that
      // it has one before.
      const rest = Object.fromEntries(Object.entries(others).filter(([other]) => !spellings.includes(other)));
      const variable = name.replace("<NAME>", "ONE");
      expect(at(plain(parseSettings({ ...rest, [variable]: value })), path)).toEqual(expected);
      const before = parseSettingsOrNothing(others);
      if (before !== undefined) expect(at(plain(before), path)).not.toEqual(expected);
    },
  );

  it("parseSettings() knows no setting that is not shown to have its effect, and every one of these", () => {
    const shown = [...ROWS.flatMap(({ names }) => names.split(" ")), ...CHECKED_ONLY];
    const known = describeSettings().flatMap(({ names }) => names);
    expect(shown.toSorted()).toEqual(known.toSorted());
  });
});

describe("describeSettings()", () => {
  it("describeSettings() shows the default that applies when nothing is set", () => {
    const shown = describeSettings().map(({ names: [name = ""], default: value }) => [name, value] as const);
    const defaults = shown.filter(([name, value]) => value !== "" && !name.includes("<"));
    expect(plain(parseSettings(Object.fromEntries(defaults)))).toEqual(plain(parseSettings({})));
  });
});

function parseSettingsOrNothing(env: Variables): unknown {
  try {
    return parseSettings(env);
  } catch {
    return undefined; // Beside the setting there may be too little to start: then there is no value before.
  }
}

/** The settings as plain data: secrets revealed, maps as objects. */
function plain(value: unknown): unknown {
  if (value instanceof Secret) return value.reveal();
  if (value instanceof Map) return Object.fromEntries(value as ReadonlyMap<string, unknown>);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plain(each)]));
}

function at(value: unknown, path: string): unknown {
  return path
    .split(".")
    .reduce((found, part) => (found as Readonly<Record<string, unknown>> | undefined)?.[part], value);
}
