// Answers of the real program that differ from those of envoyproxy/ratelimit, or that only a whole
// process can show: errors over gRPC and HTTP, the debug page, a store that is gone.
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { status } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "@weir/harness/processes/eventually";
import { startRedis } from "@weir/harness/servers/redis";
import type { StoreServer } from "@weir/harness/servers/store-server";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { STACK_HOST } from "@weir/dev/setup/ports";
import { type RateLimitService, startRateLimitService } from "@weir/harness/weir/rate-limit-service";

const RULES = `
domain: d
descriptors:
  - key: ten
    rate_limit: {unit: day, requests_per_unit: 10}
  - key: none
    rate_limit: {unit: day, requests_per_unit: 0}
  - key: free
    rate_limit: {unlimited: true}
`;

/** Longest time that a busy machine may add to an answer that does not wait, in milliseconds. */
const AT_ONCE_MS = 700;

/** How a call failed, and after how long. */
async function failureOf(
  call: Promise<unknown>,
): Promise<{ readonly code: string; readonly details: string; readonly tookMs: number }> {
  const beganMs = performance.now();
  try {
    await call;
  } catch (error) {
    const { code, details } = error as { readonly code: status; readonly details: string };
    return { code: status[code], details, tookMs: performance.now() - beganMs };
  }
  throw new Error("The call did not fail");
}

describe("the rate limit service", () => {
  const folder = makeTemporaryFolder();
  let service: RateLimitService;

  beforeAll(async () => {
    service = await startRateLimitService(folder.path, { "d.yaml": RULES }, { BACKEND_TYPE: "memory" });
  });

  afterAll(async () => {
    await service.stop();
    folder.remove();
  });

  async function send(
    body: string,
    method = "POST",
  ): Promise<{ readonly status: number; readonly type: string | null; readonly body: unknown }> {
    const response = await fetch(`http://${STACK_HOST}:${service.httpPort}/json`, { method, body });
    return { status: response.status, type: response.headers.get("content-type"), body: await response.json() };
  }

  function question(key: string, further = ""): string {
    return `{"domain":"d","descriptors":[{"entries":[{"key":"${key}","value":"x"}]}]${further}}`;
  }

  it("cases 152 and 153: a request without domain or descriptors is INVALID_ARGUMENT, with its text and counted", async () => {
    const before = await service.statistic("ratelimit.service.call.should_rate_limit.service_error");
    expect(await failureOf(service.ask("", { entries: { ten: "x" } }))).toMatchObject({
      code: "INVALID_ARGUMENT",
      details: "rate limit domain must not be empty",
    });
    expect(await failureOf(service.ask("d"))).toMatchObject({
      code: "INVALID_ARGUMENT",
      details: "rate limit descriptor list must not be empty",
    });
    expect(await service.statistic("ratelimit.service.call.should_rate_limit.service_error")).toBe(before + 2);
  });

  it.each(["", "}"])("case 168: the body '%s' is 400 and says what is wrong", async (body) => {
    expect(await send(body)).toEqual({
      status: 400,
      type: "application/json",
      body: { code: "INVALID_ARGUMENT", message: expect.stringMatching(/\S/) },
    });
  });

  it("case 169: a request that is wrong in what it says is 400 with its text", async () => {
    expect(await send('{"domain":""}')).toEqual({
      status: 400,
      type: "application/json",
      body: { code: "INVALID_ARGUMENT", message: "rate limit domain must not be empty" },
    });
  });

  it("cases 170 and 172: 200 and 429 whatever the method, with no field that is zero", async () => {
    expect(await send(question("other"), "PUT")).toEqual({
      status: 200,
      type: "application/json",
      body: { overallCode: "OK", statuses: [{ code: "OK" }] },
    });
    expect(await send(question("none"))).toEqual({
      status: 429,
      type: "application/json",
      body: {
        overallCode: "OVER_LIMIT",
        statuses: [
          { code: "OVER_LIMIT", currentLimit: { unit: "DAY" }, durationUntilReset: expect.stringMatching(/^\d+s$/) },
        ],
      },
    });
    expect((await send(question("free"))).body).toEqual({
      overallCode: "OK",
      statuses: [{ code: "OK", limitRemaining: 4294967295 }],
    });
  });

  it("case 171: an unknown field is refused, names in snake_case are taken", async () => {
    expect(await send(question("ten", ',"hits":1'))).toMatchObject({ status: 400, body: { code: "INVALID_ARGUMENT" } });
    expect((await send(question("ten", ',"hits_addend":4'))).body).toMatchObject({ statuses: [{ limitRemaining: 6 }] });
  });

  it("case 146: a load that fails keeps the active rules and is counted", async () => {
    const loads = async (): Promise<readonly number[]> => [
      await service.statistic("ratelimit.service.config_load_success"),
      await service.statistic("ratelimit.service.config_load_error"),
    ];
    const [successes = 0, errors = 0] = await loads();
    // In one step: a file that is seen while it is still empty would be another failure.
    writeFileSync(join(folder.path, "e.yaml"), RULES);
    renameSync(join(folder.path, "e.yaml"), join(folder.path, "config", "e.yaml"));
    await eventually("the failed load to be counted", async () => {
      expect((await loads())[1]).toBeGreaterThan(errors);
    });
    expect((await loads())[0]).toBe(successes);
    expect((await service.ask("d", { entries: { none: "x" } })).code).toBe("OVER_LIMIT");
    await eventually("the failed load to be logged", () =>
      expect(service.lines.join("\n")).toContain("duplicate domain 'd' in config file"),
    );
  });

  it("case 178: the debug page lists every path for itself and for any unknown one", async () => {
    const pages = await Promise.all(
      ["/", "/nothing"].map(async (path) => (await fetch(`http://${STACK_HOST}:${service.debugPort}${path}`)).text()),
    );
    const paths = pages[0]?.split("\n").map((line) => line.slice(0, line.indexOf(": ")));
    expect(pages[1]).toBe(pages[0]);
    expect(paths).toEqual(
      expect.arrayContaining(["/debug/pprof/", "/debug/pprof/profile", "/healthcheck", "/rlconfig", "/stats"]),
    );
  });
});

describe("the rate limit service whose Redis is gone", () => {
  const folder = makeTemporaryFolder();
  let redis: StoreServer;
  let service: RateLimitService;

  beforeAll(async () => {
    redis = await startRedis(folder.path);
    const env = {
      BACKEND_TYPE: "redis",
      REDIS_SOCKET_TYPE: "tcp",
      REDIS_URL: redis.address,
      KVSTORE_COMMAND_TIMEOUT: "6s",
    };
    service = await startRateLimitService(folder.path, { "d.yaml": RULES }, env);
  });

  afterAll(async () => {
    await service.stop();
    await redis.stop();
    folder.remove();
  });

  it("case 118: a call ends at its deadline when the store is silent, and before it when that has been away for longer than KVSTORE_COMMAND_TIMEOUT", async () => {
    expect((await service.ask("d", { entries: { ten: "x" } })).code).toBe("OK");
    await redis.pause();
    const silent = await failureOf(service.askWithin(1000, "d", { entries: { ten: "x" } }));
    redis.resume();
    expect(silent.code).toBe("DEADLINE_EXCEEDED");
    expect(silent.tookMs).toBeGreaterThan(900);
    await redis.stop();
    // Two in a row: the first may be the one whose connection was cut.
    await eventually("calls to fail immediately", async () => {
      for (let call = 0; call < 2; call++) {
        const away = await failureOf(service.askWithin(15_000, "d", { entries: { ten: "x" } }));
        expect(away.code).toBe("UNAVAILABLE");
        expect(away.tookMs).toBeLessThan(AT_ONCE_MS);
      }
    });
  });

  it("case 154: the failure names the store and is counted as a store failure, with its hits counted before", async () => {
    const [errors, hits] = [
      "ratelimit.service.call.should_rate_limit.redis_error",
      "ratelimit.service.rate_limit.d.ten.total_hits",
    ] as const;
    const before = [await service.statistic(errors), await service.statistic(hits)] as const;
    const { code, details } = await failureOf(service.ask("d", { entries: { ten: "x" } }));
    expect([code, details]).toEqual(["UNAVAILABLE", expect.stringContaining(redis.address)]);
    expect([await service.statistic(errors), await service.statistic(hits)]).toEqual([before[0] + 1, before[1] + 1]);
  });
});
