// The Redis backend behind real sentinels: the common suite, fail-overs in the test, sentinels
// that are away, credentials and TLS.
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { createAuthority } from "@weir/certificates/authority";
import { Secret } from "@weir/common/settings/secret";
import { Redis } from "ioredis";
import { until } from "@weir/harness/processes/eventually";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { startRedis } from "@weir/harness/servers/redis";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { CellRule } from "@weir/limits/cell/cell";
import type { StoreServer } from "@weir/harness/servers/store-server";
import { cellRule, countCell, type CountedCellOnce } from "../../cells.suite.ts";
import type { Counter } from "../../counter.ts";
import { check, count, describeCounter } from "../../counter.suite.ts";
import {
  COMMAND_TIMEOUT_MS,
  PATIENT,
  serverOptions,
  SHORT_START,
  SLACK_MS,
  TestedCounters,
  timeFailure,
} from "../redis-counter.suite.ts";
import { addUser, expectNoLoss, MountedCredentials } from "../credentials-change.suite.ts";
import { reservePort } from "@weir/harness/processes/reserve-ports";
import { createSentinelDeployment } from "./sentinel-deployment.ts";
import { PRIMARY_NAME, type SentinelServers, startSentinelServers } from "./sentinel-servers.suite.ts";

/** Longest wait for a fail-over on a busy machine, in milliseconds. */
const FAIL_OVER_MS = 60_000;

/** Longest time of a test with a fail-over. */
const TEST_MS = 300_000;

const counters = new TestedCounters(createSentinelDeployment);
afterEach(() => counters.stop());

/** Counts a key again and again, one call at a time, until it is stopped. */
class Counting {
  succeeded = 0;
  failed = 0;
  slowestMs = 0;
  #isOver = false;
  readonly #done: Promise<void>;

  constructor(counter: Counter, name: string) {
    this.#done = this.#run(counter, name);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#done;
  }

  async #run(counter: Counter, name: string): Promise<void> {
    while (!this.#isOver) {
      const beganMs = performance.now();
      if (await count(counter, check(name)).then(Boolean, () => false)) this.succeeded += 1;
      else this.failed += 1;
      this.slowestMs = Math.max(this.slowestMs, performance.now() - beganMs);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }
}

/** Has the sentinels make another server the primary, and waits until the old one follows it. */
async function failOver(stack: SentinelServers, before: StoreServer): Promise<void> {
  const [sentinel] = stack.sentinels;
  if (sentinel === undefined) throw new Error("no sentinel");
  await until(
    () => stack.ask(sentinel, "FAILOVER", PRIMARY_NAME).then(Boolean, () => false),
    FAIL_OVER_MS,
    "the sentinel begins a fail-over",
  );
  await until(async () => (await stack.roleOf(before)) === "slave", FAIL_OVER_MS, "the old primary is a replica");
}

const DAY_SECONDS = 86_400;

/** Cells of which a test forgets no whole hit, also when it meets the end of a window. */
const CELLS = {
  window: cellRule(10, DAY_SECONDS, "sliding_window"),
  bucket: cellRule(10, DAY_SECONDS, "token_bucket"),
  list: cellRule(10, DAY_SECONDS, "sliding_window", "token_bucket"),
};

/** Resolves to true if a cell of another key can be counted in. */
async function asked(counter: Counter): Promise<boolean> {
  const call = countCell(counter, CELLS.bucket, { key: "asked", nowMs: Date.now(), hits: 0 });
  return await call.then(
    ({ passes }) => passes,
    () => false,
  );
}

/**
 * A sentinel that answers everything with one text, instead of its reply to the question for
 * the primary.
 */
async function startScriptedSentinel(
  reply: (command: string) => string,
): Promise<{ readonly url: string; readonly server: Server }> {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.on("data", (data) => {
      for (const command of data.toString().split(/(?=\*\d+\r\n)/))
        socket.write(/ping/i.test(command) ? "+PONG\r\n" : reply(command));
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return { url: `${PRIMARY_NAME},127.0.0.1:${address.port}`, server };
}

/** The answer of a sentinel that knows the primary there. */
function namesPrimary(port: number): string {
  const text = String(port);
  return `*2\r\n$9\r\n127.0.0.1\r\n$${text.length}\r\n${text}\r\n`;
}

describe("SentinelDeployment", () => {
  let stack: SentinelServers;
  beforeAll(async () => {
    stack = await startSentinelServers();
  }, TEST_MS);
  afterAll(() => stack.close());

  describeCounter("Redis sentinel", () => {
    const { counter } = new TestedCounters(createSentinelDeployment).create(stack.url, {
      server: { poolSize: 2 },
      options: PATIENT,
    });
    return Promise.resolve({ counter, close: () => Promise.resolve() });
  });

  it("start() is not held up by a first sentinel that is silent", async () => {
    const silent = await startRedis();
    await silent.pause();
    try {
      // The silent sentinel stays silent: the start succeeds without its answer.
      const { counter } = await counters.start(stack.url.replace(",", `,${silent.address},`), { options: PATIENT });
      expect(await count(counter, check("silent-first"))).toEqual([1]);
    } finally {
      silent.resume();
      await silent.stop();
    }
  });

  it("count() continues while all sentinels are away", { timeout: TEST_MS }, async () => {
    const { counter, active } = await counters.start(stack.url, { options: PATIENT });
    const run = new Counting(counter, "no-sentinels");
    try {
      for (const sentinel of stack.sentinels) await sentinel.kill();
      const before = run.succeeded;
      await until(() => run.succeeded > before + 200, FAIL_OVER_MS, "counting continues");
    } finally {
      await run.stop();
      for (const sentinel of stack.sentinels) await sentinel.restart();
    }
    expect(run.failed).toBe(0);
    expect(active).toEqual([1]);
    await stack.agree();
  });

  it(
    "count() follows a planned fail-over without a failed call but those that were on their way",
    { timeout: TEST_MS },
    async () => {
      const { counter } = await counters.start(stack.url, { options: PATIENT });
      const before = await stack.primary();
      const run = new Counting(counter, "planned");
      await until(() => run.succeeded > 10, FAIL_OVER_MS, "counting has begun");
      await failOver(stack, before);
      const switched = run.succeeded;
      await until(() => run.succeeded > switched + 50, FAIL_OVER_MS, "counting continues");
      await run.stop();
      // One call is on its way at a time, and its connection is cut at most once by each side.
      expect(run.failed).toBeLessThanOrEqual(2);
      const client = stack.client(await stack.primary());
      const stored = Number(await client.get("planned_4000000200"));
      client.disconnect();
      // Nothing was counted twice; what the old primary had not yet passed on is lost.
      expect(stored).toBeLessThanOrEqual(run.succeeded + run.failed);
      await stack.agree();
    },
  );

  it(
    "count() keeps counting cells at the new primary, which is sent the script again",
    { timeout: TEST_MS },
    async () => {
      const { counter } = await counters.start(stack.url, { options: PATIENT });
      const nowMs = Date.now();
      const count = (rule: CellRule, hits: number): Promise<CountedCellOnce> =>
        countCell(counter, rule, { key: "cells", nowMs, hits });
      for (const [name, rule] of Object.entries(CELLS)) expect((await count(rule, 6)).passes, name).toBe(true);
      const before = await stack.primary();
      const old = stack.client(before);
      await until(async () => (await old.wait(2, 1000)) === 2, FAIL_OVER_MS, "the replicas have the cells");
      old.disconnect();
      await failOver(stack, before);
      const primary = stack.client(await stack.primary());
      await until(() => asked(counter), FAIL_OVER_MS, "the new primary counts");
      await primary.script("FLUSH");
      await primary.config("RESETSTAT");
      for (const [name, rule] of Object.entries(CELLS)) {
        expect((await count(rule, 5)).passes, name).toBe(false);
        expect((await count(rule, 4)).passes, name).toBe(true);
        expect((await count(rule, 1)).passes, name).toBe(false);
      }
      // The digest was refused once, and the text followed.
      const statistics = await primary.info("commandstats");
      expect(statistics).toMatch(/cmdstat_eval:calls=1,/);
      expect(statistics).toMatch(/cmdstat_evalsha:calls=\d+,.*failed_calls=1\b/);
      primary.disconnect();
      await stack.agree();
    },
  );

  it("count() continues at the new primary when the primary is killed", { timeout: TEST_MS }, async () => {
    const { counter, active, statistics } = await counters.start(stack.url);
    const killed = await stack.primary();
    const run = new Counting(counter, "killed");
    await until(() => run.succeeded > 10, FAIL_OVER_MS, "counting has begun");
    await killed.kill();
    await until(() => active.at(-1) === 0, FAIL_OVER_MS, "the loss is reported");
    expect(statistics.gauge("ratelimit.redis_pool.cx_active").value).toBe(0);
    await stack.primary();
    const promotedMs = performance.now();
    const before = run.succeeded;
    await until(() => run.succeeded > before, FAIL_OVER_MS, "counting continues");
    expect(performance.now() - promotedMs).toBeLessThan(1000 + SLACK_MS);
    await until(() => run.succeeded > before + 20, FAIL_OVER_MS, "counting continues");
    await run.stop();
    expect(run.slowestMs).toBeLessThan(COMMAND_TIMEOUT_MS + SLACK_MS);
    expect(active.at(-1)).toBe(1);
    expect(statistics.gauge("ratelimit.redis_pool.cx_active").value).toBe(1);
    expect(statistics.counter("ratelimit.redis_pool.cx_total").value).toBe(2);
    const client = stack.client(await stack.primary());
    const stored = Number(await client.get("killed_4000000200"));
    client.disconnect();
    expect(stored).toBeLessThanOrEqual(run.succeeded + run.failed);
    expect(stored).toBeGreaterThanOrEqual(20);
  });
});

describe("SentinelDeployment with credentials and TLS", () => {
  let stack: SentinelServers;
  const folder = makeTemporaryFolder();
  let ca: Buffer;
  beforeAll(async () => {
    const now = new Date();
    const authority = await createAuthority({ commonName: "test", now, validDays: 1 });
    const pair = await authority.issue({
      commonName: "redis",
      dnsNames: ["redis.example.org"],
      usage: "server",
      now,
      validDays: 1,
    });
    ca = Buffer.from(authority.certPem);
    const files = {
      serverCert: join(folder.path, "cert.pem"),
      serverKey: join(folder.path, "key.pem"),
      ca: join(folder.path, "ca.pem"),
    };
    await writeFile(files.serverCert, pair.certPem);
    await writeFile(files.serverKey, pair.keyPem);
    await writeFile(files.ca, authority.certPem);
    stack = await startSentinelServers({ password: "pass:word", sentinelPassword: "sesame", tls: files });
  }, TEST_MS);
  afterAll(async () => {
    await stack.close();
    folder.remove();
  });

  const tls = () => ({ material: () => ({ ca }), skipHostnameVerification: true });

  it.each([
    { auth: "default:pass:word", sentinelAuth: "sesame" },
    { auth: "default:pass:word", sentinelAuth: "default:sesame" },
  ])(
    "case 123: start() takes $sentinelAuth for the sentinels and $auth for the store",
    async ({ auth, sentinelAuth }) => {
      const { counter } = await counters.start(stack.url, {
        server: { auth: new Secret(auth), sentinelAuth: new Secret(sentinelAuth), tls: tls() },
        options: PATIENT,
      });
      expect(await count(counter, check(`login-${sentinelAuth}`))).toEqual([1]);
    },
  );

  it("moves all connections to the new user without losing a call when the file changes", async () => {
    const admins = stack.servers.map((server) => stack.client(server));
    await addUser(admins, "first", "pass:one");
    const credentials = new MountedCredentials("first:pass:one");
    const { counter } = await counters.start(stack.url, {
      server: { auth: credentials.secret, sentinelAuth: new Secret("sesame"), tls: tls() },
      options: PATIENT,
    });
    await expectNoLoss(counter, { admins, credentials });
    credentials.close();
    for (const admin of admins) admin.disconnect();
  });

  it.each([
    {
      what: "no password for the sentinels",
      sentinelAuth: undefined,
      auth: "default:pass:word",
      text: /NOAUTH Authentication required/,
    },
    { what: "a wrong one for the sentinels", sentinelAuth: "open", auth: "default:pass:word", text: /WRONGPASS/ },
    { what: "none for the store", sentinelAuth: "sesame", auth: undefined, text: /NOAUTH Authentication required/ },
  ])("case 123: start() fails when given $what", async ({ sentinelAuth, auth, text }) => {
    const { counter } = counters.create(stack.url, {
      server: {
        auth: auth === undefined ? undefined : new Secret(auth),
        sentinelAuth: sentinelAuth === undefined ? undefined : new Secret(sentinelAuth),
        tls: tls(),
      },
      options: SHORT_START,
    });
    await expect(counter.start?.()).rejects.toThrow(text);
  });

  it("start() fails when the names in the certificates are verified and do not fit", async () => {
    const { counter } = counters.create(stack.url, {
      server: {
        auth: new Secret("default:pass:word"),
        sentinelAuth: new Secret("sesame"),
        tls: { ...tls(), skipHostnameVerification: false },
      },
      options: SHORT_START,
    });
    await expect(counter.start?.()).rejects.toThrow(/does not match certificate's altnames/);
  });
});

describe("SentinelDeployment and sentinels that are of no use", () => {
  it("case 123: start() fails within its time when no sentinel can be reached", async () => {
    const port = await reservePort();
    const { counter } = counters.create(`mymaster,127.0.0.1:${port}`, { options: SHORT_START });
    await expect(counter.start?.()).rejects.toThrow(
      `Timed out waiting for the counter store mymaster,127.0.0.1:${port} after ${SHORT_START.startup.maxElapsedMs} ms: ` +
        `Cannot reach the counter store 127.0.0.1:${port}: connection refused`,
    );
  });

  it("case 123: createSentinelDeployment() fails when there is no sentinel in the address", () => {
    expect(() => counters.create("mymaster")).toThrow(
      "Cannot use KVSTORE_URL: Expected master name and a list of urls for the sentinels, in the format: <redis master name>,<sentinel1>,...,<sentineln>",
    );
  });

  it.each([
    { what: "does not know the primary", reply: "*-1\r\n", text: "the sentinel knows no primary of the name mymaster" },
    {
      what: "answers nonsense",
      reply: "*2\r\n$0\r\n\r\n$1\r\nx\r\n",
      text: "the sentinel's answer is not the address of a primary",
    },
    { what: "answers with an error", reply: "-ERR busy\r\n", text: "ERR busy" },
  ])("start() fails with '$text' when the sentinel $what", async ({ reply, text }) => {
    const { url, server } = await startScriptedSentinel(() => reply);
    const { counter } = counters.create(url, { options: SHORT_START });
    await expect(counter.start?.()).rejects.toThrow(text);
    server.close();
  });

  it("start() refuses a replica that a sentinel takes for the primary, and takes it when it is the primary", async () => {
    const replica = await startRedis(undefined, { flags: ["--replicaof", "127.0.0.1", `${await reservePort()}`] });
    const { url, server } = await startScriptedSentinel(() => namesPrimary(replica.port));
    try {
      const refused = counters.create(url, { options: SHORT_START });
      await expect(refused.counter.start?.()).rejects.toThrow(
        `Cannot reach the counter store ${replica.address}: the server is not a primary, its role is slave`,
      );
      const { counter } = counters.create(url, { options: PATIENT });
      const started = counter.start?.();
      const client = new Redis(replica.port, "127.0.0.1");
      await client.replicaof("NO", "ONE");
      client.disconnect();
      await started;
      expect(await count(counter, check("promoted"))).toEqual([1]);
    } finally {
      server.close();
      await replica.stop();
    }
  });

  it("count() sends increments that a demoted primary refused to the new one, once", async () => {
    const [first, second] = [await startRedis(), await startRedis()];
    let named = first;
    const { url, server } = await startScriptedSentinel(() => namesPrimary(named.port));
    const client = new Redis(first.port, "127.0.0.1");
    try {
      const { counter, active } = await counters.start(url, { server: { poolSize: 3 }, options: PATIENT });
      expect(await count(counter, check("moved", 2))).toEqual([2]);
      await client.replicaof("127.0.0.1", `${await reservePort()}`);
      const waiting = [count(counter, check("moved", 3)), count(counter, check("moved", 4), check("other"))];
      // Calls whose refusal is still on its way when the primary changes fail instead: they may have
      // been counted. A connection is closed after a refusal.
      await until(() => active.at(-1) === 0, FAIL_OVER_MS, "all connections have received refusals");
      named = second;
      expect(await Promise.all(waiting)).toEqual([[3], [7, 1]]);
      const other = new Redis(second.port, "127.0.0.1");
      expect(await other.get("moved_4000000200")).toBe("7");
      await until(async () => (await other.ttl("moved_4000000200")) > 0, FAIL_OVER_MS, "the key expires");
      other.disconnect();
    } finally {
      client.disconnect();
      server.close();
      await first.stop();
      await second.stop();
    }
  });

  it("count() answers within the time limit when the demoted primary has no successor", async () => {
    const only = await startRedis();
    const { url, server } = await startScriptedSentinel(() => namesPrimary(only.port));
    const client = new Redis(only.port, "127.0.0.1");
    try {
      const { counter } = await counters.start(url);
      await client.replicaof("127.0.0.1", `${await reservePort()}`);
      const { error, tookMs } = await timeFailure(counter);
      expect(error).toMatchObject({ code: "STORE_UNAVAILABLE" });
      expect(tookMs).toBeLessThan(COMMAND_TIMEOUT_MS + SLACK_MS);
      await client.replicaof("NO", "ONE");
      await until(() => count(counter, check("back")).then(Boolean, () => false), FAIL_OVER_MS, "counting works again");
    } finally {
      client.disconnect();
      server.close();
      await only.stop();
    }
  });

  it("count() keeps the connections of both deployments apart when sentinels name both primaries", async () => {
    const server = await startRedis();
    const scripted = await startScriptedSentinel(() => namesPrimary(server.port));
    try {
      const { counter, statistics } = await counters.start(scripted.url, {
        perSecond: serverOptions(scripted.url, { poolSize: 2 }),
        options: PATIENT,
      });
      expect(await count(counter, check("pair", 1, 4_000_000_200, 1), check("pair"))).toEqual([1, 2]);
      await until(
        () => statistics.gauge("ratelimit.redis_per_second_pool.cx_active").value === 2,
        FAIL_OVER_MS,
        "both connections work",
      );
      expect(statistics.gauge("ratelimit.redis_pool.cx_active").value).toBe(1);
    } finally {
      scripted.server.close();
      await server.stop();
    }
  });
});
