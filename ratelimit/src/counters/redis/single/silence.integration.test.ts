// The Redis backend when a real redis-server is silent for the time limit of a call: further calls
// fail immediately, until a probe is answered.
import { once } from "node:events";
import { connect } from "node:net";
import { setImmediate, setTimeout } from "node:timers/promises";
import { createLog } from "@weir/common/log/log";
import { until } from "@weir/harness/processes/eventually";
import { type CuttingProxy, startCuttingProxy } from "@weir/harness/servers/cutting-proxy";
import { startRedis } from "@weir/harness/servers/redis";
import type { StoreServer } from "@weir/harness/servers/store-server";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { check, count, WaitingBatch } from "../../counter.suite.ts";
import type { Counter } from "../../counter.ts";
import { COMMAND_TIMEOUT_MS, DEADLINE_MS, TestedCounters, timeFailure } from "../redis-counter.suite.ts";
import { createSingleDeployment } from "./single-deployment.ts";

/** Wait between two looks, in milliseconds. */
const POLL_MS = 20;

const counters = new TestedCounters(createSingleDeployment);
let server: StoreServer;
let proxy: CuttingProxy;
/** The pieces that clients sent through the proxy. */
const pieces: string[] = [];
beforeAll(async () => {
  server = await startRedis();
  proxy = await startCuttingProxy(server.port);
  proxy.onRequest((chunk) => pieces.push(chunk.toString()));
});
afterEach(() => counters.stop());
afterAll(async () => {
  await proxy.close();
  await server.stop();
});

/** Sends a command of the inline kind, and returns the first piece of the answer. */
async function ask(port: number, command: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.write(`${command}\r\n`);
  const [reply] = (await once(socket, "data")) as [Buffer];
  socket.destroy();
  return reply.toString();
}

function writes(): WaitingBatch {
  return new WaitingBatch([check("writes")]);
}

/** Why a call fails; empty when it does not. */
function reasonOf(counter: Counter): Promise<string> {
  return count(counter, check("reason")).then(() => "", String);
}

/** The error of a call that fails before `count` returns; undefined when it waits. */
async function immediateFailure(counter: Counter): Promise<unknown> {
  const call = new WaitingBatch([check("immediate")]);
  counter.count(call);
  return call.isAnswered ? await call.counts.catch((error: unknown) => error) : undefined;
}

describe("count() when the server is silent", () => {
  it.each([{ poolSize: 1 }, { poolSize: 3 }])(
    "count() fails immediately from the first time limit on while the server is paused, with $poolSize connections, and counts when it resumes",
    async ({ poolSize }) => {
      const lines: string[] = [];
      const log = createLog({ level: "info", format: "json", write: (line) => lines.push(line) });
      const { counter, statistics, active } = await counters.start(server.address, {
        server: { poolSize },
        deps: { log },
      });
      await until(() => active.at(-1) === poolSize, DEADLINE_MS, "all connections work");
      const logged = (text: string): number => lines.filter((line) => line.includes(text)).length;
      await server.pause();
      try {
        expect((await timeFailure(counter)).error).toMatchObject({ code: "STORE_TIMEOUT" });
        for (let calls = 0; calls < 5; calls++) {
          expect(await immediateFailure(counter)).toMatchObject({
            code: "STORE_UNAVAILABLE",
            message: `Cannot reach the counter store ${server.address}: no answer for ${COMMAND_TIMEOUT_MS} ms, asking every 100 ms`,
            transient: true,
          });
        }
        expect(statistics.counter("ratelimit.redis_pool.calls_failed_fast").value).toBe(5);
        expect(logged("The counter store is silent, failing calls immediately")).toBe(1);
      } finally {
        server.resume();
      }
      await until(
        () => count(counter, check("resumed")).then(Boolean, () => false),
        DEADLINE_MS,
        "counting works again",
      );
      // Once per silence; a busy machine may cause another one.
      expect(logged("The counter store answers again")).toBe(
        logged("The counter store is silent, failing calls immediately"),
      );
    },
  );

  it("count() fails immediately while the server answers PING and pauses writes, and counts when it resumes", async () => {
    const lines: string[] = [];
    const log = createLog({ level: "info", format: "json", write: (line) => lines.push(line) });
    const { counter } = await counters.start(server.address, { deps: { log } });
    await count(counter, check("writes"));
    await ask(server.port, "CLIENT PAUSE 60000 WRITE");
    try {
      expect((await timeFailure(counter, writes())).error).toMatchObject({ code: "STORE_TIMEOUT" });
      // A connection was made again, which alone is no sign of life.
      await until(
        () => lines.filter((line) => line.includes("Connected to the counter store")).length > 1,
        DEADLINE_MS,
        "another connection",
      );
      const beganMs = performance.now();
      while (performance.now() - beganMs < 3 * COMMAND_TIMEOUT_MS) {
        expect(await immediateFailure(counter)).toMatchObject({ code: "STORE_UNAVAILABLE" });
        await setTimeout(POLL_MS);
      }
    } finally {
      await ask(server.port, "CLIENT UNPAUSE");
    }
    await until(() => count(counter, check("others")).then(Boolean, () => false), DEADLINE_MS, "counting works again");
    // Calls that failed were not counted later: Redis drops the commands of a connection that has ended.
    expect(await count(counter, check("writes", 0))).toEqual([1]);
    const logged = (text: string): number => lines.filter((line) => line.includes(text)).length;
    expect(logged("The counter store answers again")).toBe(
      logged("The counter store is silent, failing calls immediately"),
    );
  });

  it("count() ends the silence of a server that refuses the probe", async () => {
    const { counter } = await counters.start(server.address);
    await ask(server.port, "CLIENT PAUSE 60000 WRITE");
    expect((await timeFailure(counter)).error).toMatchObject({ code: "STORE_TIMEOUT" });
    await ask(server.port, "CONFIG SET requirepass secret");
    try {
      // The connections of the pool are refused, too, with the reason.
      await until(() => reasonOf(counter).then((reason) => reason.includes("NOAUTH")), DEADLINE_MS, "the reason");
    } finally {
      await ask(server.port, 'AUTH secret\r\nCONFIG SET requirepass ""\r\nCLIENT UNPAUSE');
    }
  });

  it("count() works again soon after the way to the server was cut, though nothing that was sent meanwhile arrives", async () => {
    // The connections of the pool would wait for their own time limit.
    const { counter } = await counters.start(proxy.address, { server: { connectTimeoutMs: 600_000 } });
    const pings = (): number => pieces.filter((piece) => piece.includes("PING")).length;
    proxy.swallow();
    expect((await timeFailure(counter)).error).toMatchObject({ code: "STORE_TIMEOUT" });
    const before = pings();
    await until(() => pings() > before + 5, DEADLINE_MS, "probes on several connections");
    expect(await immediateFailure(counter)).toMatchObject({ code: "STORE_UNAVAILABLE" });
    proxy.restore();
    await until(() => count(counter, check("cut")).then(Boolean, () => false), DEADLINE_MS, "counting works again");
  });

  it("count() has its counts after the process itself was paused for longer than the time limit", async () => {
    const { counter, statistics } = await counters.start(server.address);
    const counts = count(counter, check("paused"));
    await setImmediate(); // The command is written.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * COMMAND_TIMEOUT_MS);
    expect(await counts).toEqual([1]);
    expect(statistics.counter("ratelimit.redis_pool.cx_local_close").value).toBe(0);
  });

  it("stop() ends the probes", async () => {
    const { counter } = await counters.start(proxy.address);
    proxy.swallow();
    await timeFailure(counter);
    await counter.stop?.();
    await until(() => proxy.openConnections === 0, DEADLINE_MS, "all connections are closed");
    proxy.restore();
  });
});
