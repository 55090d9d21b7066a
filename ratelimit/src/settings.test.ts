import { everyHost } from "@weir/common/settings/listen-hosts";
import { SettingsError, type SettingProblem } from "@weir/common/settings/read-env";
import { describe, expect, it } from "vitest";

import { describeSettings, parseSettings } from "./settings.ts";

function problemsOf(env: Readonly<Record<string, string>>): readonly SettingProblem[] {
  try {
    parseSettings(env);
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
  return [];
}

describe("parseSettings() of the alternative store", () => {
  it("parseSettings() gives its defaults when only nodes are named, and answers what it cannot read", () => {
    expect(
      parseSettings({ BACKEND_TYPE: "memcache", MEMCACHE_HOST_PORT: "mc-1:11211, mc-0:11211,/run/mc.sock" }),
    ).toMatchObject({
      backend: {
        kind: "altstore",
        nodes: { kind: "list", addresses: ["mc-1:11211", "mc-0:11211", "/run/mc.sock"] },
        maxConnections: 2,
        timeoutMs: 500,
        useTls: false,
        tls: { paths: {}, skipHostnameVerification: false },
        expiryJitterMaxSeconds: 300,
        startMaxElapsedMs: 0,
      },
      decide: { failureMode: "allow" },
    });
  });

  it("parseSettings() reads every setting by its primary name", () => {
    const env = {
      BACKEND_TYPE: "altstore",
      BACKEND_FAILURE_MODE: "deny",
      ALTSTORE_SRV: "_memcache._tcp.example.org",
      ALTSTORE_SRV_REFRESH: "30",
      ALTSTORE_MAX_IDLE_CONNS: "5",
      ALTSTORE_TIMEOUT: "50ms",
      ALTSTORE_TLS: "true",
      ALTSTORE_TLS_CLIENT_CERT: "/cert",
      ALTSTORE_TLS_CLIENT_KEY: "/key",
      ALTSTORE_TLS_CACERT: "/ca",
      ALTSTORE_TLS_SKIP_HOSTNAME_VERIFICATION: "true",
    };
    expect(parseSettings(env)).toMatchObject({
      backend: {
        nodes: { kind: "srv", record: "_memcache._tcp.example.org", refreshMs: 30_000 },
        maxConnections: 5,
        timeoutMs: 50,
        useTls: true,
        tls: { paths: { certPath: "/cert", keyPath: "/key", caPath: "/ca" }, skipHostnameVerification: true },
      },
      decide: { failureMode: "deny" },
    });
  });

  it.each([
    { refresh: "1m", refreshMs: 60_000 },
    { refresh: "0", refreshMs: 0 },
  ])(
    "parseSettings() refreshes every $refreshMs ms when MEMCACHE_SRV_REFRESH is $refresh",
    ({ refresh, refreshMs }) => {
      const env = {
        BACKEND_TYPE: "memcache",
        MEMCACHE_SRV: "_a._tcp.b",
        MEMCACHE_SRV_REFRESH: refresh,
        MEMCACHE_MAX_IDLE_CONNS: "-1",
      };
      expect(parseSettings(env).backend).toMatchObject({ nodes: { refreshMs }, maxConnections: 2 });
    },
  );
});

describe("parseSettings", () => {
  it("parseSettings() gives the documented defaults when nothing is set", () => {
    expect(parseSettings({})).toMatchObject({
      server: {
        http: { host: everyHost(), port: 8080 },
        grpc: {
          address: { kind: "tcp", host: everyHost(), port: 8081 },
          tls: undefined,
          connectionAgeMaxMs: 86_400_000,
          connectionAgeGraceMs: 3_600_000,
        },
        debug: { host: everyHost(), port: 6070 },
        health: { withConfig: false, withActiveConnection: false },
        shutdown: { drainMs: 5000, graceMs: 10_000 },
      },
      config: {
        source: {
          kind: "files",
          directory: {
            root: "/srv/runtime_data/current",
            subdirectory: "",
            appDirectory: "config",
            ignoreDotFiles: false,
            watchRoot: true,
          },
        },
        forceStart: false,
        mergeDomains: false,
      },
      backend: {
        kind: "kvstore",
        main: {
          type: "single",
          socketType: "unix",
          auth: undefined,
          sentinelAuth: undefined,
          useTls: false,
          poolSize: 10,
          pipeline: { windowMs: 0, limit: 0 },
          clusterPipelineParallelism: 1,
          connectTimeoutMs: 10_000,
        },
        perSecond: undefined,
        commandTimeoutMs: 1000,
        expiryJitterMaxSeconds: 300,
        startup: { initialMs: 1000, maxMs: 30_000, maxElapsedMs: 0 },
      },
      decide: {
        shadowMode: false,
        quotaMode: false,
        nearLimitRatio: 0.8,
        responseHeaders: undefined,
        ruleHeader: undefined,
        dynamicMetadata: false,
        keyPrefix: "",
        maxDescriptors: 1000,
        maxEntries: 100,
        localCacheSizeBytes: 0,
        stopIncrementsWhenOver: false,
        failureMode: "error",
        unsupportedFields: "ignore",
      },
      statistics: {
        maxDynamicKeys: 100_000,
        pull: undefined,
        push: {
          flushIntervalMs: 10_000,
          statsd: { host: "localhost", port: 8125, protocol: "tcp" },
          tagged: undefined,
        },
        isOutput: false,
      },
      log: { level: "warn", format: "text" },
      tracing: { enabled: false, protocol: "http", serviceName: "RateLimit", serviceNamespace: "", samplingRate: 1 },
    });
  });

  it.each([
    { env: { LOCAL_CACHE_SIZE_IN_BYTES: "1048576" }, bytes: 1_048_576 },
    { env: { LocalCacheSizeInBytes: "1000" }, bytes: 1000 },
    { env: { LOCAL_CACHE_SIZE_IN_BYTES: "10MiB", LocalCacheSizeInBytes: "10MiB" }, bytes: 10_485_760 },
  ])("parseSettings() gives the local cache $bytes bytes when $env is set", ({ env, bytes }) => {
    expect(parseSettings(env).decide.localCacheSizeBytes).toBe(bytes);
  });

  it("parseSettings() reads whether increments stop when a limit is over", () => {
    expect(parseSettings({ STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT: "true" }).decide.stopIncrementsWhenOver).toBe(true);
  });

  it("parseSettings() reads an xDS client with its documented defaults", () => {
    expect(parseSettings({ CONFIG_TYPE: "GRPC_XDS_SOTW" }).config.source).toEqual({
      kind: "xds",
      client: {
        isIncremental: false,
        serverUrl: "localhost:18000",
        nodeId: "default",
        nodeMetadata: new Map(),
        headers: new Map(),
        tls: { paths: {}, serverName: undefined },
        messageMaxBytes: undefined,
        connectRetryMs: 3000,
        backoff: { initialMs: 10_000, maxMs: 60_000, factor: 0.5, jitter: true },
      },
    });
  });

  it("parseSettings() reads everything about an xDS client", () => {
    const { source } = parseSettings({
      CONFIG_TYPE: "GRPC_XDS_DELTA",
      CONFIG_GRPC_XDS_SERVER_URL: "control-plane.weir:18000",
      CONFIG_GRPC_XDS_NODE_ID: "gateway/pod-7",
      CONFIG_GRPC_XDS_NODE_METADATA: "fleet=gateway,pod=pod-7",
      CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL: "1s",
      CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS: "authorization:Bearer x,x-team:a",
      CONFIG_GRPC_XDS_SERVER_USE_TLS: "true",
      CONFIG_GRPC_XDS_CLIENT_TLS_CERT: "/tls/cert.pem",
      CONFIG_GRPC_XDS_CLIENT_TLS_KEY: "/tls/key.pem",
      CONFIG_GRPC_XDS_SERVER_TLS_CACERT: "/tls/ca.pem",
      CONFIG_GRPC_XDS_SERVER_TLS_SAN: "control-plane.example",
      XDS_CLIENT_BACKOFF_INITIAL_INTERVAL: "200ms",
      XDS_CLIENT_BACKOFF_MAX_INTERVAL: "2s",
      XDS_CLIENT_BACKOFF_RANDOM_FACTOR: "1",
      XDS_CLIENT_BACKOFF_JITTER: "false",
      XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES: "1048576",
    }).config;
    expect(source).toEqual({
      kind: "xds",
      client: {
        isIncremental: true,
        serverUrl: "control-plane.weir:18000",
        nodeId: "gateway/pod-7",
        nodeMetadata: new Map([
          ["fleet", "gateway"],
          ["pod", "pod-7"],
        ]),
        headers: new Map([
          ["authorization", "Bearer x"],
          ["x-team", "a"],
        ]),
        tls: {
          paths: { certPath: "/tls/cert.pem", keyPath: "/tls/key.pem", caPath: "/tls/ca.pem" },
          serverName: "control-plane.example",
        },
        messageMaxBytes: 1_048_576,
        connectRetryMs: 1000,
        backoff: { initialMs: 200, maxMs: 2000, factor: 1, jitter: false },
      },
    });
  });

  it.each([
    { CONFIG_TYPE: "GRPC_XDS_SOTW", isIncremental: false },
    { CONFIG_TYPE: "GRPC_XDS_SOTW", CONFIG_GRPC_XDS_DELTA: "false", isIncremental: false },
    { CONFIG_TYPE: "GRPC_XDS_SOTW", CONFIG_GRPC_XDS_DELTA: "true", isIncremental: true },
    { CONFIG_TYPE: "GRPC_XDS_DELTA", isIncremental: true },
    { CONFIG_TYPE: "GRPC_XDS_DELTA", CONFIG_GRPC_XDS_DELTA: "false", isIncremental: true },
  ])(
    "parseSettings() takes the incremental variant from either of two settings: $CONFIG_TYPE, $CONFIG_GRPC_XDS_DELTA",
    (row) => {
      const { isIncremental, ...env } = row;
      expect(parseSettings(env).config.source).toMatchObject({ client: { isIncremental } });
    },
  );

  it("parseSettings() caps the first wait of the xDS client, too, when only the longest one is set, below it", () => {
    const { source } = parseSettings({ CONFIG_TYPE: "GRPC_XDS_SOTW", XDS_CLIENT_BACKOFF_MAX_INTERVAL: "5s" }).config;
    expect(source).toMatchObject({ client: { backoff: { initialMs: 5000, maxMs: 5000 } } });
  });

  it("parseSettings() has no option of the store when counters live in memory", () => {
    expect(parseSettings({ BACKEND_TYPE: "memory", MEMORY_MAX_KEYS: "5" }).backend).toEqual({
      kind: "memory",
      maxKeys: 5,
    });
  });

  it("parseSettings() listens on a unix socket when GRPC_UDS is set", () => {
    expect(parseSettings({ GRPC_UDS: "/run/weir.sock", GRPC_PORT: "1" }).server.grpc.address).toEqual({
      kind: "unix",
      path: "/run/weir.sock",
    });
  });

  it("parseSettings() reads mutual TLS of the gRPC listener", () => {
    const { tls } = parseSettings({
      GRPC_SERVER_USE_TLS: "true",
      GRPC_SERVER_TLS_CERT: "/c",
      GRPC_SERVER_TLS_KEY: "/k",
      GRPC_CLIENT_TLS_CACERT: "/a",
      GRPC_CLIENT_TLS_SAN: "envoy.example",
    }).server.grpc;
    expect(tls).toEqual({ paths: { certPath: "/c", keyPath: "/k", caPath: "/a" }, clientName: "envoy.example" });
  });

  it("parseSettings() reads the names of response headers when they are enabled", () => {
    const { responseHeaders, ruleHeader } = parseSettings({
      LIMIT_RESPONSE_HEADERS_ENABLED: "true",
      LIMIT_RESET_HEADER: "X-Reset",
      LIMIT_RULE_HEADER: "X-Rule",
    }).decide;
    expect(responseHeaders).toEqual({ limit: "RateLimit-Limit", remaining: "RateLimit-Remaining", reset: "X-Reset" });
    expect(ruleHeader).toBe("X-Rule");
  });

  it.each([
    [":9090", { host: everyHost(), port: 9090 }],
    ["127.0.0.1:0", { host: "127.0.0.1", port: 0 }],
    ["[::1]:9090", { host: "::1", port: 9090 }],
  ])("parseSettings() listens for scrapes on %s", (address, expected) => {
    expect(parseSettings({ USE_PROMETHEUS: "true", PROMETHEUS_ADDR: address }).statistics.pull).toMatchObject({
      ...expected,
      path: "/metrics",
    });
  });

  it("parseSettings() takes 22 days for an age that no timer can wait for", () => {
    expect(parseSettings({ GRPC_MAX_CONNECTION_AGE: "876000h" }).server.grpc.connectionAgeMaxMs).toBe(1_900_800_000);
  });

  it("parseSettings() takes 0 for connections without a limit of age, as envoyproxy/ratelimit does", () => {
    const { server } = parseSettings({ GRPC_MAX_CONNECTION_AGE: "0", GRPC_MAX_CONNECTION_AGE_GRACE: "0" });
    expect(server.grpc).toMatchObject({ connectionAgeMaxMs: 0, connectionAgeGraceMs: 0 });
  });

  it.each<[string, Record<string, string>, string, string]>([
    ["a port", { PORT: "70000" }, "PORT", "a port number from 0 to 65535"],
    ["a boolean", { SHADOW_MODE: "maybe" }, "SHADOW_MODE", "true or false"],
    ["a duration without a unit", { GRPC_MAX_CONNECTION_AGE: "30" }, "GRPC_MAX_CONNECTION_AGE", "a duration such as"],
    ["a ratio above 1", { NEAR_LIMIT_RATIO: "1.5" }, "NEAR_LIMIT_RATIO", "a number from 0 to 1"],
    ["a type of configuration", { CONFIG_TYPE: "HTTP" }, "CONFIG_TYPE", "one of FILE, GRPC_XDS_SOTW, GRPC_XDS_DELTA"],
    ["a backend", { BACKEND_TYPE: "sqlite" }, "BACKEND_TYPE", "one of kvstore, redis, altstore, memcache, memory"],
    [
      "no node of memcached",
      { BACKEND_TYPE: "memcache" },
      "ALTSTORE_HOST_PORT",
      "a list of host:port, or ALTSTORE_SRV instead",
    ],
    [
      "a node without a port",
      { BACKEND_TYPE: "altstore", MEMCACHE_HOST_PORT: "mc-0:11211,mc-1" },
      "MEMCACHE_HOST_PORT",
      "a list of host:port and of paths with a /",
    ],
    [
      "nodes and a record (case 138)",
      { BACKEND_TYPE: "altstore", MEMCACHE_HOST_PORT: "mc-0:11211", MEMCACHE_SRV: "_memcache._tcp.example.org" },
      "MEMCACHE_SRV",
      "nothing next to ALTSTORE_HOST_PORT: Both MEMCACHE_HOST_PORT and MEMCACHE_SRV are set",
    ],
    [
      "a record that is none (case 140)",
      { BACKEND_TYPE: "altstore", ALTSTORE_SRV: "example.org" },
      "ALTSTORE_SRV",
      "a name such as _memcache._tcp.example.org: could not parse example.org to SRV parts",
    ],
    [
      "a certificate without its key",
      { MEMCACHE_TLS_CLIENT_CERT: "/cert" },
      "ALTSTORE_TLS_CLIENT_KEY",
      "the path of a file: certificate and key are given together or not at all",
    ],
    [
      "an address of a socket type",
      { KVSTORE_SOCKET_TYPE: "tcp", KVSTORE_URL: "/run/store.sock" },
      "KVSTORE_URL",
      "host:port",
    ],
    [
      "TLS without a certificate",
      { GRPC_SERVER_USE_TLS: "true", GRPC_SERVER_TLS_KEY: "/k" },
      "GRPC_SERVER_TLS_CERT",
      "because GRPC_SERVER_USE_TLS is true",
    ],
    [
      "a client's name without an authority",
      { GRPC_SERVER_USE_TLS: "true", GRPC_SERVER_TLS_CERT: "/c", GRPC_SERVER_TLS_KEY: "/k", GRPC_CLIENT_TLS_SAN: "x" },
      "GRPC_CLIENT_TLS_CACERT",
      "because GRPC_CLIENT_TLS_SAN is set",
    ],
    [
      "a URL for host:port",
      { CONFIG_TYPE: "GRPC_XDS_SOTW", CONFIG_GRPC_XDS_SERVER_URL: "https://x" },
      "CONFIG_GRPC_XDS_SERVER_URL",
      "host:port",
    ],
    [
      "a certificate without a key",
      { CONFIG_TYPE: "GRPC_XDS_SOTW", CONFIG_GRPC_XDS_CLIENT_TLS_CERT: "/c" },
      "CONFIG_GRPC_XDS_CLIENT_TLS_KEY",
      "together",
    ],
    ["a header that HTTP does not allow", { LIMIT_RULE_HEADER: "X Rule" }, "LIMIT_RULE_HEADER", "a header name"],
    [
      "an extra header that gRPC does not allow",
      { CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS: "x y:z" },
      "CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS",
      "header names",
    ],
    ["an address to scrape", { PULLSTATS_ADDR: "9090" }, "PULLSTATS_ADDR", "host:port"],
    ["no time between flushes", { STATS_FLUSH_INTERVAL: "0" }, "STATS_FLUSH_INTERVAL", "a duration"],
    ["a protocol of statistics", { STATSD_PROTOCOL: "unix" }, "STATSD_PROTOCOL", "tcp"],
    ["port 0 of a server", { STATSD_PORT: "0" }, "STATSD_PORT", "from 1 to 65535"],
    ["a path to scrape", { PULLSTATS_PATH: "metrics" }, "PULLSTATS_PATH", "begins with /"],
    [
      "a name and its alias that differ",
      { KVSTORE_POOL_SIZE: "1", REDIS_POOL_SIZE: "2" },
      "KVSTORE_POOL_SIZE",
      "REDIS_POOL_SIZE",
    ],
  ])("parseSettings() refuses %s", (_what, env, name, allowed) => {
    expect(problemsOf(env)).toEqual([expect.objectContaining({ name, allowed: expect.stringContaining(allowed) })]);
  });

  it("parseSettings() reads a key-value store when the type is redis", () => {
    const { backend, server } = parseSettings({
      BACKEND_TYPE: "redis",
      REDIS_SOCKET_TYPE: "tcp",
      REDIS_URL: "store:6379",
      REDIS_HEALTH_CHECK_ACTIVE_CONNECTION: "true",
    });
    expect(backend).toMatchObject({ kind: "kvstore", main: { type: "single", socketType: "tcp" } });
    expect(server.health.withActiveConnection).toBe(true);
  });

  it("parseSettings() is not disturbed by what Kubernetes sets for services named statsd, grpc, debug and redis", () => {
    const env = {
      STATSD_PORT: "tcp://10.0.0.7:8125",
      GRPC_PORT: "tcp://10.0.0.8:8081",
      DEBUG_PORT: "udp://10.0.0.9:6070",
      REDIS_PORT: "tcp://10.0.0.10:6379",
      REDIS_SERVICE_HOST: "10.0.0.10",
    };
    expect(parseSettings(env)).toEqual(parseSettings({}));
  });

  it("parseSettings() lists every problem in one error", () => {
    expect(
      problemsOf({ PORT: "x", GRPC_PORT: "y", BACKEND_TYPE: "z", TRACING_SAMPLING_RATE: "2" }).map(
        (problem) => problem.name,
      ),
    ).toEqual(["PORT", "GRPC_PORT", "BACKEND_TYPE", "TRACING_SAMPLING_RATE"]);
  });
});

describe("describeSettings", () => {
  it("describeSettings() names every setting once, with an effect that is a sentence", () => {
    const rows = describeSettings();
    const names = rows.flatMap((row) => row.names);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toEqual(
      expect.arrayContaining([
        "PORT",
        "REDIS_URL",
        "MEMORY_MAX_KEYS",
        "XDS_CLIENT_BACKOFF_JITTER",
        "LOG_LEVEL",
        "TRACING_ENABLED",
      ]),
    );
    expect(rows.filter((row) => !/^[A-Z].*\.$/s.test(row.effect))).toEqual([]);
  });
});
