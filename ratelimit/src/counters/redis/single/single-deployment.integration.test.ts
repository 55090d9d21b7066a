// The Redis backend against a real redis-server: the common suite, what is stored, and the ways
// to connect.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { inspect } from "node:util";
import { createAuthority } from "@weir/certificates/authority";
import { Secret } from "@weir/common/settings/secret";
import { Redis } from "ioredis";
import { until } from "@weir/harness/processes/eventually";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { startRedis } from "@weir/harness/servers/redis";
import type { StoreServer } from "@weir/harness/servers/store-server";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { check, count, describeCounter } from "../../counter.suite.ts";
import { DEADLINE_MS, PATIENT, serverOptions, SHORT_START, SLACK_MS, TestedCounters } from "../redis-counter.suite.ts";
import type { RedisServerOptions } from "../options.ts";
import { reservePort } from "@weir/harness/processes/reserve-ports";
import { createSingleDeployment } from "./single-deployment.ts";

const counters = new TestedCounters(createSingleDeployment, PATIENT);

/** A counter on a server of its own, for the common suite. */
async function openSuite(urlOf: (server: StoreServer) => string, fields: Partial<RedisServerOptions> = {}) {
  const server = await startRedis();
  const { counter } = new TestedCounters(createSingleDeployment, PATIENT).create(urlOf(server), { server: fields });
  return { counter, close: () => server.stop() };
}

let shared: StoreServer;
beforeAll(async () => {
  shared = await startRedis();
});
afterEach(() => counters.stop());
afterAll(() => shared.stop());

describeCounter("Redis single", () => openSuite((server) => server.address));

describeCounter("Redis single with a pool of three over a unix socket", () =>
  openSuite((server) => server.socketPath, { socketType: "unix", poolSize: 3 }),
);

describe("count() on a server", () => {
  let redis: Redis;
  beforeAll(() => {
    redis = new Redis(shared.port, "127.0.0.1");
  });
  afterAll(() => {
    redis.disconnect();
  });

  it("case 121: count() stores plain numbers that any client can read", async () => {
    const { counter } = await counters.start(shared.address);
    expect(await count(counter, check("plain"))).toEqual([1]);
    expect(await count(counter, check("plain"))).toEqual([2]);
    expect(await redis.get("plain_4000000200")).toBe("2");
  });

  it.each([
    { jitterMax: 3600, draw: 100 / 3600, windowSeconds: 1, ttl: 101 },
    { jitterMax: 0, draw: 0.99, windowSeconds: 1, ttl: 1 },
    { jitterMax: 0, draw: 0.99, windowSeconds: 60, ttl: 60 },
    { jitterMax: 0, draw: 0.99, windowSeconds: 3600, ttl: 3600 },
    { jitterMax: 300, draw: 0.999, windowSeconds: 86_400, ttl: 86_699 },
  ])(
    "case 88: count() lets a key live $ttl s when jitter is below $jitterMax and the window $windowSeconds s",
    async (row) => {
      const { counter } = await counters.start(shared.address, {
        options: { expiryJitterMaxSeconds: row.jitterMax },
        deps: { random: () => row.draw },
      });
      const one = check(`ttl-${row.jitterMax}-${row.windowSeconds}`, 1, 4_000_000_200, row.windowSeconds);
      await count(counter, one);
      const ttlMs = await redis.pttl(one.key);
      expect(ttlMs).toBeGreaterThan(row.ttl * 1000 - SLACK_MS);
      expect(ttlMs).toBeLessThanOrEqual(row.ttl * 1000);
    },
  );

  it("count() sends the expiry once per key, and again when the server has lost the key", async () => {
    const { counter } = await counters.start(shared.address);
    const commands = async (name: string): Promise<number> => {
      const found = new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(await redis.info("commandstats"));
      return Number(found?.[1] ?? 0);
    };
    const before = await commands("expire");
    await count(counter, check("once"));
    await count(counter, check("once"));
    await count(counter, check("once"));
    expect((await commands("expire")) - before).toBe(1);
    await redis.del("once_4000000200");
    expect(await count(counter, check("once"))).toEqual([1]);
    await until(async () => (await redis.ttl("once_4000000200")) > 0, DEADLINE_MS, "the lost key expires again");
    expect((await commands("expire")) - before).toBe(2);
  });

  it("count() sends one INCRBY when calls of one turn share a key", async () => {
    const { counter } = await counters.start(shared.address);
    const monitor = await redis.monitor();
    const seen: string[] = [];
    monitor.on("monitor", (_time: string, args: string[]) => seen.push(args.join(" ")));
    await Promise.all([
      count(counter, check("merge", 2)),
      count(counter, check("merge", 3)),
      count(counter, check("single")),
    ]);
    await redis.get("end-of-test");
    await until(() => seen.some((line) => line.includes("end-of-test")), DEADLINE_MS, "the monitor has seen all");
    monitor.disconnect();
    expect(seen.filter((line) => !line.includes("end-of-test"))).toEqual([
      "incrby merge_4000000200 5",
      "expire merge_4000000200 60",
      "incrby single_4000000200 1",
      "expire single_4000000200 60",
    ]);
  });

  it("case 91: count() uses the per-second server for windows of a second only", async () => {
    const perSecond = await startRedis();
    const other = new Redis(perSecond.port, "127.0.0.1");
    try {
      const { counter } = await counters.start(shared.address, {
        perSecond: serverOptions(perSecond.address),
        options: { expiryJitterMaxSeconds: 300 }, // Or the counter of a second would expire in the test.
        deps: { random: () => 0.9 },
      });
      expect(await count(counter, check("pair-second", 1, 4_000_000_200, 1), check("pair-minute"))).toEqual([1, 1]);
      expect(await other.keys("pair-*")).toEqual(["pair-second_4000000200"]);
      expect(await redis.keys("pair-*")).toEqual(["pair-minute_4000000200"]);
    } finally {
      other.disconnect();
      await perSecond.stop();
    }
  });

  it("count() fails only the calls that touch a key the server refuses", async () => {
    const { counter } = await counters.start(shared.address);
    await redis.set("text_4000000200", "abc");
    const [refused, mixed, fine] = await Promise.allSettled([
      count(counter, check("text")),
      count(counter, check("fine-too"), check("text")),
      count(counter, check("fine")),
    ]);
    for (const result of [refused, mixed]) {
      expect(result).toMatchObject({
        status: "rejected",
        reason: {
          code: "STORE_UNAVAILABLE",
          message: `Cannot count on ${shared.address}: ERR value is not an integer or out of range`,
        },
      });
    }
    expect(fine).toEqual({ status: "fulfilled", value: [1] });
  });

  it("count() counts keys of a megabyte", async () => {
    const { counter } = await counters.start(shared.address);
    const [latin, other] = ["a".repeat(1_000_000), "ä€😀".repeat(120_000)];
    expect(await count(counter, check(latin), check(other), check(latin), check("short"))).toEqual([1, 1, 2, 1]);
    expect(await redis.get(`${other}_4000000200`)).toBe("1");
    expect(await redis.ttl(`${latin}_4000000200`)).toBeGreaterThan(0);
    expect(await count(counter, check(latin, 5))).toEqual([7]);
  });

  it("start() counts its connections", async () => {
    const { counter, statistics, active } = await counters.start(shared.address, { server: { poolSize: 2 } });
    await until(
      () => statistics.gauge("ratelimit.redis_pool.cx_active").value === 2,
      DEADLINE_MS,
      "both connections work",
    );
    expect(statistics.counter("ratelimit.redis_pool.cx_total").value).toBe(2);
    await counter.stop?.();
    expect(statistics.gauge("ratelimit.redis_pool.cx_active").value).toBe(0);
    expect(active.at(-1)).toBe(0);
  });
});

describe("start() with credentials", () => {
  let locked: StoreServer;
  beforeAll(async () => {
    locked = await startRedis(undefined, {
      flags: ["--requirepass", "pass@word", "--user", "weir", "on", ">se:cret", "~*", "+@all"],
    });
  });
  afterAll(() => locked.stop());

  it.each([
    { how: "a password", url: "", auth: "pass@word" },
    { how: "a user and a password with a colon", url: "", auth: "weir:se:cret" },
    { how: "a URL with a password", url: "redis://:pass@word@", auth: undefined },
    {
      how: "a URL with a user, a password and a database",
      url: "redis://weir:se%3Acret@",
      auth: undefined,
      database: "/5",
    },
  ])("case 120: start() succeeds when given $how", async ({ url, auth, database = "" }) => {
    const { counter } = await counters.start(`${url}${locked.address}${database}`, {
      server: { auth: auth === undefined ? undefined : new Secret(auth) },
    });
    expect(await count(counter, check(`login-${auth}`))).toEqual([1]);
  });

  it("start() selects the database of the URL", async () => {
    const { counter } = await counters.start(`redis://:pass%40word@${locked.address}/7`);
    await count(counter, check("selected"));
    const redis = new Redis({ port: locked.port, host: "127.0.0.1", password: "pass@word", db: 7 });
    expect(await redis.get("selected_4000000200")).toBe("1");
    redis.disconnect();
  });

  it.each([
    { how: "none", auth: undefined, text: "NOAUTH Authentication required." },
    { how: "a wrong password", auth: "wrong", text: "WRONGPASS invalid username-password pair or user is disabled." },
  ])("case 120: start() fails with '$text' when given $how", async ({ auth, text }) => {
    const { counter } = counters.create(locked.address, {
      server: { auth: auth === undefined ? undefined : new Secret(auth) },
      options: SHORT_START,
    });
    const error: unknown = await counter.start?.()?.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: `Timed out waiting for the counter store ${locked.address} after ${SHORT_START.startup.maxElapsedMs} ms: Cannot reach the counter store ${locked.address}: ${text}`,
    });
    if (auth !== undefined) expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(`'${auth}'`);
  });
});

describe("start() without a server", () => {
  it("case 119: start() fails naming the refusal when the time for it is over", async () => {
    const port = await reservePort();
    const { counter } = counters.create(`127.0.0.1:${port}`, { options: SHORT_START });
    await expect(counter.start?.()).rejects.toThrow(
      `Timed out waiting for the counter store 127.0.0.1:${port} after ${SHORT_START.startup.maxElapsedMs} ms: Cannot reach the counter store 127.0.0.1:${port}: connection refused`,
    );
  });

  it("start() reaches a server by its name", async () => {
    const { counter } = await counters.start(`localhost:${shared.port}`);
    expect(await count(counter, check("by-name"))).toEqual([1]);
  });

  it("start() waits for a server that comes late", async () => {
    const late = await startRedis();
    await late.kill();
    const { counter } = counters.create(late.address, {
      options: { startup: { initialMs: 20, maxMs: 100, maxElapsedMs: 0 } },
    });
    const started = counter.start?.();
    await late.restart();
    await started;
    expect(await count(counter, check("late"))).toEqual([1]);
    await late.stop();
  });

  it("start() ends immediately when stop() comes meanwhile", async () => {
    const port = await reservePort();
    const { counter } = counters.create(`127.0.0.1:${port}`, {
      options: { startup: { initialMs: 1000, maxMs: 1000, maxElapsedMs: 0 } },
    });
    const started = counter.start?.();
    await counter.stop?.();
    await expect(started).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  });

  it("createRedisCounter() refuses an address it cannot read without showing it", () => {
    expect(() => counters.create("redis://user:secret@host:99999")).toThrow(
      "Cannot use KVSTORE_URL: it must be redis://host:port, redis://user:password@host:port or either with /database",
    );
  });
});

describe("start() over TLS", () => {
  const folder = makeTemporaryFolder();
  let server: StoreServer;
  let ca: Buffer;
  let client: { cert: Buffer; key: Buffer };
  beforeAll(async () => {
    const now = new Date();
    const authority = await createAuthority({ commonName: "test", now, validDays: 1 });
    const pair = await authority.issue({
      commonName: "redis",
      dnsNames: ["localhost"],
      usage: "server",
      now,
      validDays: 1,
    });
    const clientPair = await authority.issue({ commonName: "weir", usage: "client", now, validDays: 1 });
    ca = Buffer.from(authority.certPem);
    client = { cert: Buffer.from(clientPair.certPem), key: Buffer.from(clientPair.keyPem) };
    const files = {
      serverCert: join(folder.path, "cert.pem"),
      serverKey: join(folder.path, "key.pem"),
      ca: join(folder.path, "ca.pem"),
    };
    await writeFile(files.serverCert, pair.certPem);
    await writeFile(files.serverKey, pair.keyPem);
    await writeFile(files.ca, authority.certPem);
    server = await startRedis(folder.path, { tls: files });
  });
  afterAll(async () => {
    await server.stop();
    folder.remove();
  });

  it("start() succeeds when the names and both certificates fit", async () => {
    const { counter } = await counters.start(`localhost:${server.port}`, {
      server: { tls: { material: () => ({ ...client, ca }), skipHostnameVerification: false } },
    });
    expect(await count(counter, check("tls"))).toEqual([1]);
  });

  it("start() fails when the host name does not fit, and succeeds when that is not verified", async () => {
    const tls = { material: () => ({ ...client, ca }), skipHostnameVerification: false };
    await expect(
      counters.create(server.address, { server: { tls }, options: SHORT_START }).counter.start?.(),
    ).rejects.toThrow(/does not match certificate's altnames/);
    const { counter } = await counters.start(server.address, {
      server: { tls: { ...tls, skipHostnameVerification: true } },
    });
    expect(await count(counter, check("tls-skip"))).toEqual([1]);
  });

  it("start() fails naming the reason when the authority is another one, though the name is not verified", async () => {
    const now = new Date();
    const other = Buffer.from((await createAuthority({ commonName: "other", now, validDays: 1 })).certPem);
    for (const material of [client, { ...client, ca: other }]) {
      const tls = { material: () => material, skipHostnameVerification: true };
      await expect(
        counters.create(server.address, { server: { tls }, options: SHORT_START }).counter.start?.(),
      ).rejects.toThrow(
        `Cannot reach the counter store ${server.address}: the authority of its certificate is not trusted (self-signed certificate in certificate chain)`,
      );
    }
  });

  it("count() connects again with the certificates of that moment", async () => {
    let material: { cert?: Buffer; key?: Buffer; ca: Buffer } = { ...client, ca };
    const { counter, active } = await counters.start(`localhost:${server.port}`, {
      server: { tls: { material: () => material, skipHostnameVerification: false } },
    });
    const admin = new Redis({ port: server.port, host: "localhost", tls: { ...client, ca } });
    try {
      material = { ca };
      await admin.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
      await until(() => active.at(-1) === 0, DEADLINE_MS, "the connection is lost");
      const waiting = count(counter, check("tls-reload"));
      material = { ...client, ca };
      expect(await waiting).toEqual([1]);
    } finally {
      admin.disconnect();
    }
  });

  it("start() fails when the server wants a certificate of the client", async () => {
    const tls = { material: () => ({ ca }), skipHostnameVerification: true };
    await expect(
      counters.create(server.address, { server: { tls }, options: SHORT_START }).counter.start?.(),
    ).rejects.toThrow(/certificate required/);
  });

  it("start() fails with a reason when the certificates cannot be read", async () => {
    const tls = {
      material: () => ({ cert: Buffer.from("nonsense"), key: Buffer.from("nonsense") }),
      skipHostnameVerification: true,
    };
    await expect(
      counters.create(server.address, { server: { tls }, options: SHORT_START }).counter.start?.(),
    ).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
    });
  });
});
