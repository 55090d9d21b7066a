// Settings of the Redis backend: both names of each, invalid values, and passwords, which no
// message may show.
import { EnvReader, type SettingProblem, SettingsError } from "@weir/common/settings/read-env";
import { describe, expect, it } from "vitest";

import { type RedisBackendSettings, readRedis } from "./redis-settings.ts";

function read(env: Readonly<Record<string, string>>): RedisBackendSettings {
  const reader = new EnvReader(env);
  const settings = readRedis(reader, true);
  reader.done();
  return settings;
}

function problemsOf(env: Readonly<Record<string, string>>): readonly SettingProblem[] {
  try {
    read(env);
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
  return [];
}

describe("readRedis()", () => {
  it.each([
    ["Weir", "KVSTORE"],
    ["envoyproxy/ratelimit", "REDIS"],
  ])("readRedis() reads a store under the names of %s", (_what, prefix) => {
    const backend = read({
      [`${prefix}_SOCKET_TYPE`]: "tcp",
      [`${prefix}_TYPE`]: "SINGLE",
      [`${prefix}_URL`]: "store:6379",
      [`${prefix}_AUTH`]: "secret",
      [`${prefix}_POOL_SIZE`]: "3",
      [`${prefix}_TIMEOUT`]: "2s",
      [`${prefix}_TLS`]: "true",
      [`${prefix}_TLS_CACERT`]: "/ca.pem",
      [`${prefix}_TLS_SKIP_HOSTNAME_VERIFICATION`]: "true",
      [`${prefix}_PIPELINE_WINDOW`]: "150us",
      [`${prefix}_PIPELINE_LIMIT`]: "8",
      [`${prefix}_CLUSTER_PIPELINE_PARALLELISM`]: "0",
      [`${prefix}_PERSECOND`]: "true",
      [`${prefix}_PERSECOND_TYPE`]: "Sentinel",
      [`${prefix}_PERSECOND_SOCKET_TYPE`]: "tcp",
      [`${prefix}_PERSECOND_URL`]: "mymaster,store2:26379",
      [`${prefix}_PERSECOND_SENTINEL_AUTH`]: "sesame",
      [`${prefix}_PERSECOND_PIPELINE_WINDOW`]: "2ms",
      [`${prefix}_PERSECOND_PIPELINE_LIMIT`]: "9",
      [`${prefix}_PERSECOND_CLUSTER_PIPELINE_PARALLELISM`]: "4",
      [`${prefix}_STARTUP_MAX_ELAPSED_TIME`]: "1m",
    });
    expect(backend).toMatchObject({
      kind: "kvstore",
      main: {
        type: "single",
        socketType: "tcp",
        poolSize: 3,
        useTls: true,
        connectTimeoutMs: 2000,
        pipeline: { windowMs: 0.15, limit: 8 },
        clusterPipelineParallelism: 0,
      },
      perSecond: {
        type: "sentinel",
        socketType: "tcp",
        useTls: false,
        pipeline: { windowMs: 2, limit: 9 },
        clusterPipelineParallelism: 4,
      },
      tls: { paths: { caPath: "/ca.pem" }, skipHostnameVerification: true },
      startup: { maxElapsedMs: 60_000 },
    });
    const { main, perSecond } = backend;
    expect([main.url, main.auth, perSecond?.url, perSecond?.sentinelAuth].map((secret) => secret?.reveal())).toEqual([
      "store:6379",
      "secret",
      "mymaster,store2:26379",
      "sesame",
    ]);
  });

  it.each<[string, Record<string, string>, string, string]>([
    [
      "an unknown type of store",
      { KVSTORE_PERSECOND_TYPE: "ring" },
      "KVSTORE_PERSECOND_TYPE",
      "one of single, sentinel, cluster",
    ],
    [
      "less than no parallelism (case 124)",
      { REDIS_CLUSTER_PIPELINE_PARALLELISM: "-1" },
      "REDIS_CLUSTER_PIPELINE_PARALLELISM",
      "a whole number of at least 0",
    ],
    [
      "sentinels without the name of the primary (case 123)",
      { KVSTORE_TYPE: "SENTINEL", KVSTORE_URL: "mymaster" },
      "KVSTORE_URL",
      "Expected master name and a list of urls for the sentinels, in the format: <redis master name>,<sentinel1>,...,<sentineln>",
    ],
    [
      "a list of nodes with a hole",
      { KVSTORE_TYPE: "cluster", KVSTORE_URL: "a:1,,b:1" },
      "KVSTORE_URL",
      "number 2 is not",
    ],
  ])("readRedis() refuses %s", (_what, env, name, allowed) => {
    expect(problemsOf(env)).toEqual([expect.objectContaining({ name, allowed: expect.stringContaining(allowed) })]);
  });

  it.each(["single", "SINGLE", "Single", "sentinel", "SENTINEL", "cluster", "CLUSTER"])(
    "readRedis() takes the type %s",
    (type) => {
      expect(
        read({
          KVSTORE_TYPE: type,
          KVSTORE_SOCKET_TYPE: "tcp",
          KVSTORE_URL: type.length === 8 ? "mymaster,a:1" : "a:1",
        }).main.type,
      ).toBe(type.toLowerCase());
    },
  );

  it.each(["CREATE", "create", "ERROR", "error"])(
    "case 122: readRedis() refuses %s as the behaviour of an empty pool",
    (behavior) => {
      for (const name of ["KVSTORE_POOL_ON_EMPTY_BEHAVIOR", "KVSTORE_PERSECOND_POOL_ON_EMPTY_BEHAVIOR"]) {
        expect(problemsOf({ [name]: behavior })).toEqual([
          {
            name,
            value: behavior,
            allowed: "WAIT: connections are shared, so a call neither opens one of its own nor fails without one",
          },
        ]);
      }
    },
  );

  it.each(["", "WAIT", "wait", "UNKNOWN_BEHAVIOR"])(
    "case 122: readRedis() takes '%s' as the behaviour of an empty pool",
    (behavior) => {
      expect(
        problemsOf({ REDIS_POOL_ON_EMPTY_BEHAVIOR: behavior, REDIS_PERSECOND_POOL_ON_EMPTY_BEHAVIOR: behavior }),
      ).toEqual([]);
    },
  );

  it.each([
    { type: "single", socket: "tcp", url: "redis://user:hunter2@a b:1" },
    { type: "single", socket: "tcp", url: "redis://user:hunter@2@redis:66000" },
    { type: "single", socket: "tcp", url: "user:hunter2@redis:6379" },
    { type: "single", socket: "unix", url: "user:hunter2@redis" },
    { type: "single", socket: "unix", url: "REDIS://user:hunter2@redis:x" },
    { type: "sentinel", socket: "tcp", url: "redis://user:hunter2@redis:6379,redis://user:hunter2@redis2:6379" },
    { type: "sentinel", socket: "tcp", url: "mymaster,redis://user:hunter2@redis:x" },
    { type: "cluster", socket: "tcp", url: "redis://user:hunter2@redis:6379,redis://user:hunter2@redis:x" },
  ])("case 127: readRedis() shows no password when it refuses $url of the type $type", ({ type, socket, url }) => {
    const problems = problemsOf({ KVSTORE_TYPE: type, KVSTORE_SOCKET_TYPE: socket, KVSTORE_URL: url });
    expect(problems.map((problem) => problem.name)).toEqual(["KVSTORE_URL"]);
    expect(JSON.stringify(problems)).not.toContain("hunter");
  });
});
