// The store on a real server of the MongoDB wire protocol, and on a network that fails.
import { randomUUID } from "node:crypto";
import { Secret } from "@weir/common/settings/secret";
import { createLog, silentLog } from "@weir/common/log/log";
import { eventually } from "@weir/harness/processes/eventually";
import { reservePort } from "@weir/harness/processes/reserve-ports";
import { type CuttingProxy, startCuttingProxy } from "@weir/harness/servers/cutting-proxy";
import { mongoUri, startMongo, withDatabase } from "@weir/harness/servers/mongo";
import type { StoreServer } from "@weir/harness/servers/store-server";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { createConnection, mongo } from "mongoose";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { describeUserStore, USER } from "../user-store.suite.ts";
import { MongoUserStore } from "./mongo-user-store.ts";
import { UserCollection } from "./user-collection.ts";

/** A call must have failed after this time, in milliseconds, on a busy machine too. */
const FAILED_MS = 4000;

/** How a request for the users begins, after its kind. */
const ON_USERS = "\0\u0006\0\0\0users\0";

/** The server that people run, in place of our own. */
const GIVEN_URI = process.env["TEST_MONGODB_URI"];

const folder = makeTemporaryFolder();
let server: StoreServer;

beforeAll(async () => {
  server = await startMongo(folder.path);
});

afterAll(async () => {
  await server.stop();
  folder.remove();
});

function storeAt(uri: string): MongoUserStore {
  return new MongoUserStore({ log: silentLog() }, { uri: new Secret(uri) });
}

describeUserStore("new MongoUserStore()", () => {
  const name = `weir-${randomUUID()}`;
  const uri = (): string => withDatabase(GIVEN_URI ?? mongoUri(server.port), name);
  return {
    async open() {
      const store = storeAt(uri());
      await store.start();
      return store;
    },
    async remove() {
      const connection = await createConnection(uri()).asPromise();
      await connection.dropDatabase();
      await connection.close();
    },
  };
});

describe("new MongoUserStore()", () => {
  let proxy: CuttingProxy;
  let store: MongoUserStore;
  const further: MongoUserStore[] = [];

  beforeEach(async () => {
    proxy = await startCuttingProxy(server.port);
    const database = `weir-${randomUUID()}`;
    store = storeAt(mongoUri(proxy.port, database));
    await store.start();
  });

  afterEach(async () => {
    vi.restoreAllMocks();
    for (const each of [store, ...further.splice(0)]) await each.stop();
    await proxy.close();
  });

  /** Asserts that every call fails in time with `database_unavailable`. */
  async function expectUnavailable(): Promise<void> {
    const startedMs = performance.now();
    const calls = [
      store.ping(),
      store.findById(USER.id),
      store.findByEmailKey(USER.emailKey),
      store.update(USER.id, 0, { name: "Ada", updatedAtMs: 1 }),
      store.insert({ ...USER, id: "other", emailKey: "b@x.com" }),
      store.remove("unknown"),
    ];
    const codes = (await Promise.allSettled(calls)).map((result) =>
      result.status === "rejected" ? (result.reason as { code: string }).code : "answered",
    );
    expect(codes).toEqual(calls.map(() => "database_unavailable"));
    expect(performance.now() - startedMs).toBeLessThan(FAILED_MS);
  }

  it.each<{ fault: string; begin: () => void }>([
    { fault: "refuses connections", begin: () => proxy.block() },
    { fault: "takes connections and does not answer", begin: () => proxy.hold() },
    { fault: "falls silent", begin: () => proxy.swallow() },
    { fault: "answers too slowly", begin: () => proxy.delay(5000) },
  ])("fails in time while the server $fault, and recovers", async ({ begin }) => {
    await store.insert(USER);
    begin();
    await expectUnavailable();
    await expectUnavailable();
    proxy.restore();
    await eventually("the store to recover", () => store.ping());
    expect(await store.findById(USER.id)).toMatchObject({ emailKey: USER.emailKey });
  });

  it("answers or fails in time when more calls wait than its connections can carry", async () => {
    await store.insert(USER);
    proxy.delay(300);
    const startedMs = performance.now();
    const results = await Promise.allSettled(Array.from({ length: 300 }, () => store.findById(USER.id)));
    expect(performance.now() - startedMs).toBeLessThan(FAILED_MS);
    for (const result of results)
      if (result.status === "rejected") expect(result.reason).toMatchObject({ code: "database_unavailable" });
    expect(results.some(({ status }) => status === "fulfilled")).toBe(true);
    proxy.restore();
    await eventually("the store to recover", () => store.findById(USER.id));
  });

  it("answers through short cuts", async () => {
    await store.insert(USER);
    for (let cut = 0; cut < 5; cut++) {
      proxy.cut();
      await eventually("an answer", async () => expect(await store.findById(USER.id)).toEqual(USER));
    }
  });

  it("fails immediately after five failures, and asks one call at a time two seconds later", async () => {
    proxy.block();
    await Promise.allSettled(Array.from({ length: 5 }, () => store.findById(USER.id)));
    const startedMs = performance.now();
    await expect(store.findById(USER.id)).rejects.toMatchObject({ outcome: "not_applied" });
    expect(performance.now() - startedMs).toBeLessThan(500);
    proxy.restore();
    await eventually("the breaker to close", () => store.findById(USER.id));
  });

  it.each([1, 2])("insert() knows that a user was stored when %s of its answers are lost", async (count) => {
    proxy.loseAnswers(`insert${ON_USERS}`, count);
    // After one, the driver asks again; after two, the store reads back.
    expect(await store.insert(USER)).toBe("inserted");
    expect(proxy.lostAnswers).toBe(count);
    expect(await store.findById(USER.id)).toEqual(USER);
    expect(await store.insert({ ...USER, id: "other" })).toBe("email_taken");
  });

  it.each([1, 2])("update() knows that a change was stored when %s of its answers are lost", async (count) => {
    await store.insert(USER);
    proxy.loseAnswers(`update${ON_USERS}`, count);
    expect(await store.update(USER.id, 0, { name: "changed", updatedAtMs: 1 })).toBe("updated");
    expect(proxy.lostAnswers).toBe(count);
    expect(await store.findById(USER.id)).toMatchObject({ name: "changed", revision: 1 });
  });

  it("update() reports a conflict when its answer is lost and another call had written", async () => {
    await store.insert(USER);
    await store.update(USER.id, 0, { name: "first", updatedAtMs: 1 });
    proxy.loseAnswers(`update${ON_USERS}`, 1);
    const result = await store
      .update(USER.id, 0, { name: "second", updatedAtMs: 1 })
      .catch((error: unknown) => (error as { outcome: string }).outcome);
    expect(["conflict", "unknown"]).toContain(result);
    expect(await store.findById(USER.id)).toMatchObject({ name: "first", revision: 1 });
  });

  it("insert() does not conclude anything when its answer is lost and no server is reached after that", async () => {
    proxy.loseAnswers(`insert${ON_USERS}`, 1, () => proxy.block());
    await expect(store.insert(USER)).rejects.toMatchObject({ outcome: "unknown" });
    proxy.restore();
    await eventually("the store to recover", async () => expect(await store.findById(USER.id)).toEqual(USER));
  });

  it("insert() does not conclude anything when it cannot read back", async () => {
    proxy.loseAnswers(`insert${ON_USERS}`, 1, () => proxy.swallow());
    await expect(store.insert(USER)).rejects.toMatchObject({ outcome: "unknown", reason: "no_answer" });
  });

  // FerretDB names neither the key nor the index.
  it("insert() finds the taken key by reading back, not in the words of the server", async () => {
    const insert = UserCollection.prototype.insert;
    vi.spyOn(UserCollection.prototype, "insert").mockImplementation(function (this: UserCollection, user) {
      return insert.call(this, user).catch(() => {
        throw new mongo.MongoServerError({ ok: 0, code: 11_000, errmsg: "E11000 duplicate key" });
      });
    });
    await store.insert(USER);
    expect(await store.insert({ ...USER, id: "other" })).toBe("email_taken");
    await expect(store.insert({ ...USER, emailKey: "b@x.com" })).rejects.toMatchObject({ outcome: "not_applied" });
  });

  it("starts without a server, and works when it comes", async () => {
    const port = await reservePort();
    const lines: string[] = [];
    const log = createLog({ level: "info", format: "json", write: (line) => lines.push(line) });
    const late = new MongoUserStore({ log }, { uri: new Secret(mongoUri(port)) });
    further.push(late);
    await late.start();
    await expect(late.ping()).rejects.toMatchObject({ code: "database_unavailable", outcome: "not_applied" });
    const ownFolder = makeTemporaryFolder();
    const lateServer = await startMongo(ownFolder.path, { port });
    await eventually("the store to work", () => late.ping());
    expect(await late.insert(USER)).toBe("inserted");
    await lateServer.kill();
    await expect(late.findById(USER.id)).rejects.toMatchObject({ code: "database_unavailable" });
    lateServer.start();
    await eventually("the store to work again", async () => expect(await late.findById(USER.id)).toEqual(USER));
    await late.stop();
    await lateServer.stop();
    ownFolder.remove();
    expect(lines.filter((line) => line.includes("Cannot connect to the user store")).length).toBeGreaterThan(0);
  });

  it("looks for texts as they are, never for what they could mean in a query", async () => {
    await store.insert(USER);
    for (const hostile of [{ $ne: null }, { $gt: "" }, { $regex: "^a" }, ["ada@example.com"]])
      expect(await store.findByEmailKey(hostile as unknown as string).catch(() => undefined)).toBeUndefined();
  });

  it("asks for a majority and the journal with each write", async () => {
    const requests: string[] = [];
    proxy.onRequest((chunk) => requests.push(chunk.toString("latin1")));
    await store.insert(USER);
    await store.update(USER.id, 0, { name: "changed", updatedAtMs: 1 });
    await store.remove(USER.id);
    for (const kind of ["insert", "update", "delete"]) {
      const request = requests.find((text) => text.includes(`${kind}${ON_USERS}`));
      // Of the document writeConcern: w is a text of 9 bytes with its end, j is true.
      expect(request).toContain("writeConcern\0");
      expect(request).toContain("\u0002w\0\u0009\0\0\0majority\0");
      expect(request).toContain("\u0008j\0\u0001");
    }
  });
});
