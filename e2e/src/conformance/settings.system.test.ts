// Settings as an operator sees them: the real program is started with them, and what changes is
// looked at from outside. That every single variable is read as it should be, the service's own
// tests show.
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { eventually } from "@weir/harness/processes/eventually";
import { sendCommand, startRedis } from "@weir/harness/servers/redis";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { STACK_HOST } from "@weir/dev/setup/ports";
import type { Env } from "@weir/harness/processes/programs";
import { type RateLimitService, startRateLimitService } from "@weir/harness/weir/rate-limit-service";

const RULES = `
domain: d
descriptors:
  - key: ten
    rate_limit: {unit: day, requests_per_unit: 10}
  - key: none
    rate_limit: {unit: day, requests_per_unit: 0}
  - key: minutely
    rate_limit: {unit: minute, requests_per_unit: 10}
`;

/** A new folder for each start, and what has to end after it. */
const folders: { remove(): void }[] = [];

afterAll(() => {
  for (const folder of folders) folder.remove();
});

/**
 * Runs `look` on a service that is started with `env`, counting in memory unless that says
 * otherwise, and stops it.
 */
async function withService<T>(env: Env, look: (service: RateLimitService) => Promise<T>): Promise<T> {
  const folder = makeTemporaryFolder();
  folders.push(folder);
  const service = await startRateLimitService(folder.path, { "d.yaml": RULES }, { BACKEND_TYPE: "memory", ...env });
  try {
    return await look(service);
  } finally {
    await service.stop();
  }
}

/** Asks /json about one descriptor per entry. */
async function askJson(
  service: RateLimitService,
  ...descriptors: readonly Env[]
): Promise<{ readonly status: number; readonly body: unknown }> {
  const all = descriptors.map((each) => ({ entries: Object.entries(each).map(([key, value]) => ({ key, value })) }));
  const body = JSON.stringify({ domain: "d", descriptors: all });
  const response = await fetch(`http://${STACK_HOST}:${service.httpPort}/json`, { method: "POST", body });
  return { status: response.status, body: await response.json() };
}

async function textOf(port: number, path: string): Promise<string> {
  const response = await fetch(`http://${STACK_HOST}:${port}${path}`);
  return `${response.status} ${await response.text()}`;
}

describe("settings of decisions", () => {
  it("NEAR_LIMIT_RATIO moves the threshold from which hits count as near", async () => {
    await withService({ NEAR_LIMIT_RATIO: "0.1" }, async (service) => {
      await service.ask("d", { entries: { ten: "x" } });
      expect(await service.statistic("ratelimit.service.rate_limit.d.ten.near_limit")).toBe(0);
      await service.ask("d", { entries: { ten: "x" } });
      expect(await service.statistic("ratelimit.service.rate_limit.d.ten.near_limit")).toBe(1);
    });
  });

  it("SHADOW_MODE answers OK whatever is over, and counts it", async () => {
    await withService({ SHADOW_MODE: "true" }, async (service) => {
      const { code, statuses } = await service.ask("d", { entries: { none: "x" } });
      expect([code, statuses[0]?.code, await service.statistic("ratelimit.service.global_shadow_mode")]).toEqual([
        "OK",
        "OVER_LIMIT",
        1,
      ]);
    });
  });

  it("QUOTA_MODE lets a call pass while one of its limits is not used up", async () => {
    await withService({ QUOTA_MODE: "true" }, async (service) => {
      expect((await service.ask("d", { entries: { none: "x" } }, { entries: { ten: "x" } })).code).toBe("OK");
      expect((await service.ask("d", { entries: { none: "x" } })).code).toBe("OVER_LIMIT");
    });
  });

  it("LIMIT_RESPONSE_HEADERS_ENABLED, the names of the three headers and LIMIT_RULE_HEADER show in the answer", async () => {
    const env = {
      LIMIT_RESPONSE_HEADERS_ENABLED: "true",
      LIMIT_LIMIT_HEADER: "x-l",
      LIMIT_REMAINING_HEADER: "x-r",
      LIMIT_RESET_HEADER: "x-t",
      LIMIT_RULE_HEADER: "x-rule",
    };
    await withService(env, async (service) => {
      const { status, body } = await askJson(service, { none: "x" });
      expect(status).toBe(429);
      expect((body as { responseHeadersToAdd: unknown }).responseHeadersToAdd).toEqual([
        { key: "x-l", value: "0" },
        { key: "x-r", value: "0" },
        { key: "x-t", value: expect.stringMatching(/^\d+$/) },
        { key: "x-rule", value: "d.none" },
      ]);
    });
  });

  it("MAX_DESCRIPTORS_PER_REQUEST and MAX_ENTRIES_PER_DESCRIPTOR refuse what is larger", async () => {
    await withService({ MAX_DESCRIPTORS_PER_REQUEST: "1", MAX_ENTRIES_PER_DESCRIPTOR: "1" }, async (service) => {
      expect((await askJson(service, { ten: "x" })).status).toBe(200);
      expect(await askJson(service, { ten: "x" }, { ten: "y" })).toMatchObject({
        status: 400,
        body: { code: "INVALID_ARGUMENT" },
      });
      expect(await askJson(service, { ten: "x", none: "y" })).toMatchObject({
        status: 400,
        body: { code: "INVALID_ARGUMENT" },
      });
    });
  });
});

describe("settings of counters", () => {
  it("CACHE_KEY_PREFIX, EXPIRATION_JITTER_MAX_SECONDS and REDIS_URL_FILE show in the store", async () => {
    const place = makeTemporaryFolder();
    folders.push(place);
    const redis = await startRedis(place.path);
    try {
      writeFileSync(join(place.path, "url"), `${redis.address}\n`);
      const env = {
        BACKEND_TYPE: "redis",
        REDIS_SOCKET_TYPE: "tcp",
        REDIS_URL_FILE: join(place.path, "url"),
        CACHE_KEY_PREFIX: "edge:",
        EXPIRATION_JITTER_MAX_SECONDS: "0",
      };
      await withService(env, async (service) => {
        await service.ask("d", { entries: { minutely: "x" } });
        const [, key = ""] = /\r\n(edge:d_minutely_x_\d+)\r\n$/.exec(await sendCommand(redis, "KEYS", "*")) ?? [];
        expect(key).toMatch(/^edge:d_minutely_x_\d+$/);
        const seconds = Number((await sendCommand(redis, "TTL", key)).slice(1));
        expect(seconds).toBeGreaterThan(0);
        expect(seconds).toBeLessThanOrEqual(60);
      });
    } finally {
      await redis.stop();
    }
  });

  it("REDIS_STARTUP_MAX_ELAPSED_TIME ends a start that finds no store, and the password is not shown", async () => {
    const env = {
      BACKEND_TYPE: "redis",
      REDIS_SOCKET_TYPE: "tcp",
      REDIS_URL: "redis://user:hunter2@127.0.0.1:1",
      REDIS_STARTUP_MAX_ELAPSED_TIME: "3s",
    };
    const failure = await withService(env, () => Promise.resolve("started")).catch((error: unknown) => String(error));
    expect(failure).toContain("connection refused");
    expect(failure).not.toContain("hunter2");
  });

  it("BACKEND_FAILURE_MODE and KVSTORE_COMMAND_TIMEOUT say what is answered by when, once the store is gone", async () => {
    const place = makeTemporaryFolder();
    folders.push(place);
    const redis = await startRedis(place.path);
    const env = {
      REDIS_SOCKET_TYPE: "unix",
      REDIS_URL: redis.socketPath,
      KVSTORE_COMMAND_TIMEOUT: "6s",
      BACKEND_FAILURE_MODE: "deny",
    };
    await withService({ BACKEND_TYPE: "redis", ...env }, async (service) => {
      expect((await service.ask("d", { entries: { ten: "x" } })).code).toBe("OK");
      await redis.stop();
      await eventually("the store to be missed", async () => {
        const { code, statuses } = await service.ask("d", { entries: { ten: "x" } });
        expect([code, statuses[0]?.remaining]).toEqual(["OVER_LIMIT", 0]);
      });
      expect(await service.statistic("ratelimit.service.backend_failure.deny")).toBeGreaterThan(0);
    });
  });
});

describe("settings of configuration", () => {
  it("RUNTIME_SUBDIRECTORY, RUNTIME_APPDIRECTORY, RUNTIME_IGNOREDOTFILES and MERGE_DOMAIN_CONFIG choose what is loaded", async () => {
    const place = makeTemporaryFolder();
    folders.push(place);
    mkdirSync(join(place.path, "edge", "rules"), { recursive: true });
    const rule = (key: string): string =>
      `domain: chosen\ndescriptors: [{key: ${key}, rate_limit: {unit: hour, requests_per_unit: 7}}]\n`;
    for (const [name, key] of Object.entries({ "a.yaml": "first", "b.yaml": "second", ".c.yaml": "first" })) {
      writeFileSync(join(place.path, "edge", "rules", name), rule(key));
    }
    const env = {
      RUNTIME_ROOT: place.path,
      RUNTIME_SUBDIRECTORY: "edge",
      RUNTIME_APPDIRECTORY: "rules",
      RUNTIME_IGNOREDOTFILES: "true",
      MERGE_DOMAIN_CONFIG: "true",
    };
    await withService(env, async (service) => {
      const dump = await textOf(service.debugPort, "/rlconfig");
      expect(dump.split("\n").filter((line) => line !== "")).toEqual([
        "200 chosen.first: unit=HOUR requests_per_unit=7, shadow_mode: false, quota_mode: false",
        "chosen.second: unit=HOUR requests_per_unit=7, shadow_mode: false, quota_mode: false",
      ]);
    });
  });

  it("FORCE_START_WITHOUT_INITIAL_CONFIG opens without a configuration, and HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED calls that unhealthy", async () => {
    const env = {
      CONFIG_TYPE: "GRPC_XDS_SOTW",
      CONFIG_GRPC_XDS_SERVER_URL: "127.0.0.1:1",
      CONFIG_GRPC_XDS_SERVER_USE_TLS: "false",
      FORCE_START_WITHOUT_INITIAL_CONFIG: "true",
    };
    await withService(env, async (service) => {
      expect((await askJson(service, { ten: "x" })).status).toBe(503);
      expect(await textOf(service.httpPort, "/healthcheck")).toBe("200 OK");
    });
    await withService({ ...env, HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED: "true" }, async (service) => {
      expect(await textOf(service.httpPort, "/healthcheck")).toBe("500 ");
    });
  });
});

describe("settings of statistics and logs", () => {
  it("STATSD_HOST, STATSD_PORT, STATSD_PROTOCOL, STATS_FLUSH_INTERVAL and EXTRA_TAGS show on the wire", async () => {
    const receiver = createSocket("udp4");
    let received = "";
    receiver.on("message", (message) => (received += `${message.toString()}\n`));
    receiver.bind(0, STACK_HOST);
    await once(receiver, "listening");
    const env = {
      USE_STATSD: "true",
      STATSD_HOST: STACK_HOST,
      STATSD_PORT: String(receiver.address().port),
      STATSD_PROTOCOL: "udp",
      STATS_FLUSH_INTERVAL: "100ms",
      EXTRA_TAGS: "zone:b",
    };
    await withService(env, async (service) => {
      await service.ask("d", { entries: { ten: "x" } });
      await eventually("the statistics to arrive", () => {
        expect(received).toMatch(/^ratelimit\.service\.rate_limit\.d\.ten\.total_hits\.__zone=b:1\|c$/m);
      });
    });
    receiver.close();
  });

  it("PROMETHEUS_PATH and PROMETHEUS_RESPONSE_TIME_AS_MILLISECONDS change what is scraped, DISABLE_STATS ends it", async () => {
    const env = { PROMETHEUS_PATH: "/scrape", PROMETHEUS_RESPONSE_TIME_AS_MILLISECONDS: "true" };
    await withService(env, async (service) => {
      await service.ask("d", { entries: { ten: "x" } });
      const page = await textOf(service.statisticsPort, "/scrape");
      expect(page).toContain('ratelimit_service_rate_limit_total_hits{domain="d",key1="ten"} 1\n');
      expect(page).toMatch(/ratelimit_service_response_time_seconds_count\{grpc_method="ShouldRateLimit"\} 1\n/);
    });
    await withService({ DISABLE_STATS: "true" }, (service) => {
      expect(service.statisticsPort).toBe(0);
      return Promise.resolve();
    });
  });

  it("LOG_FORMAT and LOG_LEVEL shape the log", async () => {
    await withService({ LOG_FORMAT: "json", LOG_LEVEL: "info" }, (service) => {
      const lines = service.lines.map((line) => JSON.parse(line) as Record<string, unknown>);
      expect(lines.length).toBeGreaterThan(3);
      for (const line of lines)
        expect(Object.keys(line)).toEqual(expect.arrayContaining(["level", "@timestamp", "@message"]));
      return Promise.resolve();
    });
  });

  it("variables that do nothing are logged at the start, those of Kubernetes services are not", async () => {
    const env = {
      GOMEMLIMIT: "512MiB",
      REDIS_POOLSIZE: "3",
      REDIS_PORT: "tcp://10.0.0.7:6379",
      REDIS_SERVICE_HOST: "10.0.0.7",
      REDIS_PASSWORD: "hunter2",
      STATSD_PORT: "tcp://10.0.0.8:8125",
    };
    await withService(env, (service) => {
      const warnings = service.lines.filter((line) => line.includes("Variable has no effect"));
      expect(warnings.map((line) => /name=(\w+)/.exec(line)?.[1])).toEqual(["GOMEMLIMIT", "REDIS_POOLSIZE"]);
      expect(warnings[1]).toContain("is REDIS_POOL_SIZE meant?");
      expect(service.lines.join("\n")).not.toContain("hunter2");
      return Promise.resolve();
    });
  });
});
