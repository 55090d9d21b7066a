// A real Redis whose password changes, in a file that is swapped as in a mounted Secret.
import { createLog } from "@weir/common/log/log";
import { Redis } from "ioredis";
import { until } from "@weir/harness/processes/eventually";
import { startRedis } from "@weir/harness/servers/redis";
import type { StoreServer } from "@weir/harness/servers/store-server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import {
  addUser,
  CALLS,
  connectionsOf,
  expectNoLoss,
  MountedCredentials,
  startCounting,
} from "../credentials-change.suite.ts";
import { DEADLINE_MS, PATIENT, TestedCounters } from "../redis-counter.suite.ts";
import { createSingleDeployment } from "./single-deployment.ts";

const POOL_SIZE = 3;

describe("a single server whose credentials change", () => {
  const counters = new TestedCounters(createSingleDeployment, PATIENT);
  let server: StoreServer;
  let admin: Redis;
  let credentials: MountedCredentials;

  beforeEach(async () => {
    server = await startRedis(undefined, { flags: ["--requirepass", "one"] });
    admin = new Redis(server.port, "127.0.0.1", { username: "default", password: "one" });
    await addUser([admin], "first", "pass:one");
  });
  afterEach(async () => {
    await counters.stop();
    credentials.close();
    admin.disconnect();
    await server.stop();
  });

  async function start(auth: string, deps = {}) {
    credentials = new MountedCredentials(auth);
    const choices = { server: { auth: credentials.secret, poolSize: POOL_SIZE }, deps };
    const started = await counters.start(server.address, choices);
    await until(() => started.active.at(-1) === POOL_SIZE, DEADLINE_MS, "all connections work");
    return started;
  }

  it("moves all connections to the new user without losing a call", async () => {
    const { counter, statistics } = await start("first:pass:one");
    await expectNoLoss(counter, { admins: [admin], credentials });
    expect(await connectionsOf(admin, "second")).toHaveLength(POOL_SIZE);
    expect(statistics.gauge("ratelimit.redis_pool.cx_active").value).toBe(POOL_SIZE);
    expect(statistics.counter("ratelimit.redis_pool.cx_total").value).toBe(2 * POOL_SIZE);
  });

  it("connects with the new password when the server has changed it first", async () => {
    const { counter } = await start("one");
    const traffic = startCounting(counter);
    await traffic.answers(CALLS);
    const before = await connectionsOf(admin, "default");
    await admin.config("SET", "requirepass", "two");
    credentials.mounted.replace({ auth: "two" });
    const areNew = async (): Promise<boolean> => {
      const after = await connectionsOf(admin, "default");
      return after.length === before.length && after.filter((id) => before.includes(id)).length === 1; // The test's own.
    };
    await until(areNew, DEADLINE_MS, "all connections are new");
    expect(await traffic.stop()).toEqual({});
  });

  it("keeps its connections while the server refuses the new password, and moves when it accepts it", async () => {
    const lines: string[] = [];
    const log = createLog({ level: "info", format: "text", write: (line) => void lines.push(line) });
    const { counter } = await start("first:pass:one", { log });
    const traffic = startCounting(counter);
    await traffic.answers(CALLS);
    credentials.mounted.replace({ auth: "second:pass:two" });
    await until(() => lines.some((line) => line.includes("WRONGPASS")), DEADLINE_MS, "the new password is refused");
    expect(lines.join("")).toContain("keeping the connections");
    expect(lines.join("")).not.toContain("pass:two");
    await addUser([admin], "second", "pass:two");
    const haveMoved = async (): Promise<boolean> => (await connectionsOf(admin, "first")).length === 0;
    await until(haveMoved, DEADLINE_MS, "all connections have moved");
    expect(await traffic.stop()).toEqual({});
  });

  it("opens lost connections with the new credentials", async () => {
    const { counter } = await start("first:pass:one");
    await addUser([admin], "second", "pass:two");
    await admin.call("ACL", "DELUSER", "first"); // Closes the connections, and refuses new ones.
    await until(async () => (await connectionsOf(admin, "first")).length === 0, DEADLINE_MS, "they are closed");
    credentials.mounted.replace({ auth: "second:pass:two" });
    await until(async () => (await connectionsOf(admin, "second")).length > 0, DEADLINE_MS, "new ones are open");
    const traffic = startCounting(counter);
    await traffic.answers(CALLS);
    expect(await traffic.stop()).toEqual({});
  });
});
