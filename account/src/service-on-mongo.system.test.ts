// The whole service on a document database, while its network works and while it does not.
import { eventually } from "@weir/harness/processes/eventually";
import { type CuttingProxy, startCuttingProxy } from "@weir/harness/servers/cutting-proxy";
import { mongoUri, startMongo } from "@weir/harness/servers/mongo";
import type { StoreServer } from "@weir/harness/servers/store-server";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Answer, type RunningService, startService, USER } from "./running-service.suite.ts";

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

function post(name: string, cookie: string): Promise<Answer> {
  return service.call({ method: "POST", path: `/api/v1/user/${name}`, headers: { Cookie: cookie } });
}

function currentUser(cookie: string): Promise<Answer> {
  return service.call({ path: "/api/v1/user/current-user", headers: { Cookie: cookie } });
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

  it("starts while the database is down, is not ready, says why to operators, and recovers", async () => {
    proxy.block();
    await service.restart();
    expect((await service.call({ path: "/readyz" })).status).toBe(503);
    const reason = await (await fetch(`${service.metricsUrl}/readyz`)).text();
    expect(reason).toMatch(/^not ready: it is not connected: /);
    expect((await service.login()).json["code"]).toBe("database_unavailable");
    proxy.restore();
    await eventually("to be ready", async () => expect((await service.call({ path: "/readyz" })).status).toBe(200));
    expect((await service.login()).status).toBe(200);
  });
});
