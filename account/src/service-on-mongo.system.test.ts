// The whole service on a document database, while its network works and while it does not.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "@weir/harness/processes/eventually";
import { type CuttingProxy, startCuttingProxy } from "@weir/harness/servers/cutting-proxy";
import { mongoUri, startMongo } from "@weir/harness/servers/mongo";
import type { StoreServer } from "@weir/harness/servers/store-server";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { createConnection } from "mongoose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Answer, cookieHeader, type RunningService, startService, USER } from "./running-service.suite.ts";

/** A call must have failed after this time, in milliseconds, on a busy machine too. */
const FAILED_MS = 3500;

const folder = makeTemporaryFolder();
let server: StoreServer;
let proxy: CuttingProxy;
let service: RunningService;

beforeAll(async () => {
  server = await startMongo(folder.path);
  proxy = await startCuttingProxy(server.port);
  service = await startService({ STORE: "mongo", MONGODB_URI: mongoUri(proxy.port) });
});

afterAll(async () => {
  await service.stop();
  await proxy.close();
  await server.stop();
  folder.remove();
});

function post(name: string, cookie: string, replica = service): Promise<Answer> {
  return replica.call({ method: "POST", path: `/api/v1/user/${name}`, headers: { Cookie: cookie } });
}

function currentUser(cookie: string, replica = service): Promise<Answer> {
  return replica.call({ path: "/api/v1/user/current-user", headers: { Cookie: cookie } });
}

describe("a service with STORE=mongo", () => {
  it("accepts one of 30 registrations at a time of one address", async () => {
    const answers = await Promise.all(Array.from({ length: 30 }, () => service.register()));
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([201, ...Array.from({ length: 29 }, () => 409)]);
  });

  it("logs in, keeps the session over a restart, refreshes and logs out", async () => {
    const cookie = await service.session();
    await service.restart();
    expect((await currentUser(cookie)).json["user"]).toMatchObject({ email: USER.email });
    expect((await post("refresh-token", cookie)).status).toBe(200);
    expect((await post("logout", await service.session())).status).toBe(200);
    expect((await currentUser(cookie)).status).toBe(200);
  });

  it("logs one user in many times at a time", async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => service.login()));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  });

  it.each<{ fault: string; begin: () => void }>([
    { fault: "down", begin: () => proxy.block() },
    { fault: "silent", begin: () => proxy.swallow() },
  ])("answers 503 in time and keeps the cookies while the database is $fault, and recovers", async ({ begin }) => {
    const cookie = await service.session();
    begin();
    const startedMs = performance.now();
    const answers = await Promise.all([post("refresh-token", cookie), currentUser(cookie), service.login()]);
    expect(performance.now() - startedMs).toBeLessThan(FAILED_MS);
    for (const { status, json, headers, setCookies } of answers)
      expect([status, json["code"], headers["retry-after"], setCookies]).toEqual([
        503,
        "database_unavailable",
        "2",
        [],
      ]);
    expect((await service.call({ path: "/readyz" })).status).toBe(503);
    expect((await service.call({ path: "/healthz" })).status).toBe(200);
    proxy.restore();
    await eventually("to be ready", async () => expect((await service.call({ path: "/readyz" })).status).toBe(200));
    expect((await currentUser(cookie)).status).toBe(200);
  });

  it("counts failures and openings of the circuit breaker, and logs the failure once", async () => {
    const metrics = async (): Promise<string> => (await fetch(`${service.metricsUrl}/metrics`)).text();
    const before = service.logLines.length;
    proxy.block();
    for (let call = 0; call < 8; call++) await service.login();
    const text = await metrics();
    expect(text).toMatch(/^store_errors_total\{reason="no_answer"\} [1-9]/m);
    expect(text).toMatch(/^store_errors_total\{reason="breaker_open"\} [1-9]/m);
    expect(text).toMatch(/^store_breaker_openings_total [1-9]/m);
    expect(text).toContain("store_breaker_open 1\n");
    proxy.restore();
    await eventually("to be ready", async () => expect((await service.call({ path: "/readyz" })).status).toBe(200));
    expect(await metrics()).toContain("store_breaker_open 0\n");
    const lines = service.logLines.slice(before).map((line) => JSON.parse(line) as Record<string, unknown>);
    const reasons = lines
      .filter((line) => line["@message"] === "The user store does not work")
      .map((line) => line["reason"]);
    expect(reasons).toEqual([...new Set(reasons)]);
    for (const reason of reasons) expect(reason).toMatch(/^no server answers( \([A-Z_]+\))?$/);
    expect(lines.filter(({ level, code }) => level === "error" && code === "database_unavailable")).toEqual([]);
  });

  it("refuses registrations while users share an address, logs others in, and stays ready", async () => {
    const connection = await createConnection(mongoUri(server.port)).asPromise();
    const users = connection.collection<{ _id: string; emailKey: string }>("users");
    await service.register();
    await users.dropIndex("email_key_unique");
    await users.insertMany(["one", "two"].map((_id) => ({ _id, emailKey: "twice@x.com" })));
    const answer = await service.register({ ...USER, email: "new@x.com" });
    expect([answer.status, answer.json["code"]]).toEqual([503, "database_unavailable"]);
    expect(await users.countDocuments({ emailKey: "new@x.com" })).toBe(0);
    expect((await service.login()).status).toBe(200);
    expect((await service.call({ path: "/readyz" })).status).toBe(200);
    await users.deleteOne({ _id: "two" });
    await eventually("a registration", async () =>
      expect((await service.register({ ...USER, email: "new@x.com" })).status).toBe(201),
    );
    await users.deleteOne({ _id: "one" });
    await connection.close();
  });

  it("starts while the database is down, is not ready, says why to operators, and recovers", async () => {
    proxy.block();
    await service.restart();
    expect((await service.call({ path: "/readyz" })).status).toBe(503);
    const reason = await (await fetch(`${service.metricsUrl}/readyz`)).text();
    expect(reason).toMatch(/^not ready: it is not connected: no server answers( \([A-Z_]+\))?\n$/);
    expect((await service.login()).json["code"]).toBe("database_unavailable");
    proxy.restore();
    await eventually("to be ready", async () => expect((await service.call({ path: "/readyz" })).status).toBe(200));
    expect((await service.login()).status).toBe(200);
  });
});

describe("two replicas on one database", () => {
  const replicas: RunningService[] = [];

  afterAll(() => Promise.all(replicas.map((replica) => replica.stop())));

  function keyFile(index: number): string {
    return join(folder.path, `keys-${index}.json`);
  }

  /** The steps of the documented order, as states of the old and the new key. */
  const STEPS = [["sign"], ["sign", "verify"], ["verify", "sign"], ["retired", "sign"]];

  function writeKeys(index: number, states: readonly string[] = []): void {
    const keys = states.flatMap((state, kid) =>
      ["access", "refresh"].map((use) => {
        return { kid: `${use}-${kid}`, use, alg: "HS256", key: `${use}-secret-of-32-bytes-or-more-${kid}`, state };
      }),
    );
    writeFileSync(keyFile(index), JSON.stringify(keys));
  }

  /** Two tabs refresh with one cookie, one on each replica: both get the next cookie. */
  async function refreshInTwoTabs(cookie: string, tabs: readonly RunningService[]): Promise<string> {
    const cookies: string[] = [];
    for (const replica of tabs) cookies.push(cookieHeader(await post("refresh-token", cookie, replica)));
    const [first = "", second = ""] = cookies;
    expect(second.split("; ")[1]).toBe(first.split("; ")[1]); // The refresh token.
    for (const replica of replicas) expect((await currentUser(first, replica)).status).toBe(200);
    return second;
  }

  it("keep two tabs logged in while they change the token keys one after the other", async () => {
    for (const index of [0, 1]) {
      writeKeys(index, STEPS[0]);
      const uri = mongoUri(server.port, "keys");
      replicas.push(await startService({ STORE: "mongo", MONGODB_URI: uri, TOKEN_KEYS_FILE: keyFile(index) }));
    }
    await replicas[0]!.register();
    let cookie = await replicas[0]!.session();
    for (const [step, states] of STEPS.entries()) {
      for (const [index, replica] of replicas.entries()) {
        writeKeys(index, states);
        const reloads = (): unknown => replica.logLines.filter((line) => line.includes("Token keys reloaded")).length;
        await eventually("to have the keys", () => expect(reloads()).toBe(step));
        cookie = await refreshInTwoTabs(cookie, replicas);
        cookie = await refreshInTwoTabs(cookie, replicas.toReversed());
      }
    }
  });
});
