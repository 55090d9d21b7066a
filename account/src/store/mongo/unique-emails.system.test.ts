// The unique index of addresses while operators drop it, and while users share an address, on a real
// server of the MongoDB wire protocol (docs/account.md#mongo).
import { randomUUID } from "node:crypto";
import { createLog } from "@weir/common/log/log";
import { Secret } from "@weir/common/settings/secret";
import { eventually } from "@weir/harness/processes/eventually";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { mongoUri, startMongo, withDatabase } from "@weir/harness/servers/mongo";
import type { StoreServer } from "@weir/harness/servers/store-server";
import { type Connection, createConnection } from "mongoose";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { Programs } from "../../program.suite.ts";
import { SESSION, USER } from "../user-store.suite.ts";
import type { UserRecord } from "../user-store.ts";
import { MongoUserStore } from "./mongo-user-store.ts";
import { UserCollection } from "./user-collection.ts";

const REFUSED = { code: "database_unavailable", outcome: "not_applied", reason: "index_missing" };

/** The server that people run, in place of our own. */
const GIVEN_URI = process.env["TEST_MONGODB_URI"];

const folder = makeTemporaryFolder();
const programs = new Programs();
let server: StoreServer;
let uri: string;
let store: MongoUserStore;
let connection: Connection;
let lines: string[];

beforeAll(async () => {
  server = await startMongo(folder.path);
});

afterAll(async () => {
  await programs.stop();
  await server.stop();
  folder.remove();
});

beforeEach(async () => {
  uri = withDatabase(GIVEN_URI ?? mongoUri(server.port), `weir-${randomUUID()}`);
  connection = await createConnection(uri).asPromise();
  lines = [];
  const log = createLog({ level: "debug", format: "json", write: (line) => lines.push(line) });
  store = new MongoUserStore({ log }, { uri: new Secret(uri) });
  await store.start();
  await eventually("the index", async () => expect(await uniqueIndexes()).toEqual(["email_key_unique"]));
});

afterEach(async () => {
  vi.restoreAllMocks();
  await store.stop();
  await connection.dropDatabase();
  await connection.close();
});

async function uniqueIndexes(): Promise<readonly (string | undefined)[]> {
  const indexes = await connection.collection("users").indexes();
  return indexes.filter(({ unique }) => unique).map(({ name }) => name);
}

function dropIndex(): Promise<unknown> {
  return connection.collection("users").dropIndex("email_key_unique");
}

/** Writes users past the store. */
async function write(...users: readonly UserRecord[]): Promise<void> {
  const documents = users.map(({ id: _id, ...fields }) => ({ _id, ...fields }));
  await connection.collection<{ _id: string }>("users").insertMany(documents);
}

/** Runs the command; its exit code and what it prints. */
async function duplicates(keep?: string): Promise<{ code: unknown; text: string }> {
  const args = ["duplicates", ...(keep === undefined ? [] : ["--keep", keep])];
  const program = programs.start({ STORE: "mongo", MONGODB_URI: uri }, { args });
  return { code: await program.code, text: program.text() };
}

describe("the unique index of addresses", () => {
  it("is made again when it was dropped, by itself and by a registration", async () => {
    await store.insert(USER);
    await dropIndex();
    await eventually("the index", async () => expect(await uniqueIndexes()).toEqual(["email_key_unique"]));
    await dropIndex();
    expect(await store.insert({ ...USER, id: "other" })).toBe("email_taken");
    expect(await uniqueIndexes()).toEqual(["email_key_unique"]);
  });

  it("is taken as it is when an operator made it with another name", async () => {
    await dropIndex();
    await connection.collection("users").createIndex({ emailKey: 1 }, { unique: true }, {});
    expect(await store.insert(USER)).toBe("inserted");
    expect(await store.insert({ ...USER, id: "other" })).toBe("email_taken");
    expect(await uniqueIndexes()).toEqual(["emailKey_1"]);
  });

  it("is not made while an index that is not unique has its name, which the log says once", async () => {
    await dropIndex();
    await connection.collection("users").createIndex({ emailKey: 1 }, { name: "email_key_unique" }, {});
    await expect(store.insert(USER)).rejects.toMatchObject(REFUSED);
    const reason = "the unique index of addresses is missing: another index on emailKey has other options; drop it";
    await eventually("the reason", () => expect(lines.join("")).toContain(reason));
    await dropIndex();
    await eventually("the index", async () => expect(await store.insert(USER)).toBe("inserted"));
    expect(lines.filter((line) => line.includes("Registrations are refused"))).toHaveLength(1);
  });

  it("lets one of many with the same address in, however often it is dropped meanwhile", async () => {
    for (let round = 0; round < 5; round++) {
      const first = { ...USER, id: `first-${round}`, emailKey: `first-${round}@x.com` };
      await eventually("a registration", async () => expect(await store.insert(first)).toBe("inserted"));
      const ids = Array.from({ length: 10 }, (_, index) => `${round}-${index}`);
      const emailKey = `${round}@x.com`;
      const inserts = Promise.allSettled(ids.map((id) => store.insert({ ...USER, id, emailKey })));
      for (let drop = 0; drop < 5; drop++) await dropIndex().catch(() => undefined); // It may be gone.
      const results = (await inserts).filter((result) => result.status === "fulfilled" && result.value === "inserted");
      expect(results.length).toBeLessThanOrEqual(1);
      expect(await connection.collection("users").countDocuments({ emailKey })).toBe(results.length);
    }
  });

  it("takes an insert back that another one of the address preceded while there was no index", async () => {
    const insert = UserCollection.prototype.insert;
    vi.spyOn(UserCollection.prototype, "insert").mockImplementation(async function (this: UserCollection, user) {
      await dropIndex(); // After the store has looked.
      await write({ ...USER, id: "other" });
      await insert.call(this, user);
    });
    await expect(store.insert(USER)).rejects.toMatchObject(REFUSED);
    expect(await connection.collection<{ _id: string }>("users").distinct("_id")).toEqual(["other"]);
    await eventually("the index", async () => expect(await uniqueIndexes()).toEqual(["email_key_unique"]));
  });
});

describe("users that share an address", () => {
  const later = { ...USER, id: "later", sessions: [SESSION], refreshToken: SESSION.tokenHash };

  beforeEach(async () => {
    await dropIndex();
    await write(USER, later, { ...USER, id: "alone", emailKey: "b@x.com" });
  });

  it("keep others from registering, not from anything else, and are named once, by id", async () => {
    for (let attempt = 0; attempt < 3; attempt++)
      await expect(store.insert({ ...USER, id: "new", emailKey: "new@x.com" })).rejects.toMatchObject(REFUSED);
    expect(await store.findById("new")).toBeUndefined();
    await store.ping();
    expect(await store.findByEmailKey("b@x.com")).toMatchObject({ id: "alone" });
    expect(await store.update("alone", 0, { sessions: [SESSION], updatedAtMs: 1 })).toBe("updated");
    await eventually("the line", () => expect(lines.join("")).toContain("Registrations are refused"));
    await write({ ...USER, id: "third" });
    await eventually("the next line", () => expect(lines.join("")).toContain("third"));
    const refused = lines.map((line) => JSON.parse(line) as Record<string, unknown>).filter(({ reason }) => reason);
    expect(refused.map(({ users }) => String(users).split(" ").sort())).toEqual([
      [USER.id, "later"],
      [USER.id, "later", "third"],
    ]);
    expect(lines.join("")).not.toContain(USER.emailKey);
  });

  it("are listed and resolved by the command, which shows no address", async () => {
    const listed = await duplicates();
    expect(listed.code).toBe(1);
    expect(listed.text.split("\n").sort()).toEqual([
      "",
      `  ${USER.id} registered 2027-01-15T08:00:00.123Z, not logged in`,
      "  later registered 2027-01-15T08:00:00.123Z, last used 2027-01-15T08:00:00.000Z",
      "Name the account that keeps the address: weir-account duplicates --keep ID",
      "These accounts have one address:",
    ]);
    expect(await duplicates("alone")).toEqual({
      code: 1,
      text: 'weir-account: Cannot keep "alone": no account with this id shares its address\n',
    });
    expect(await duplicates(USER.id)).toEqual({
      code: 0,
      text: `later has no address any more and is logged out; ${USER.id} keeps it\nNo address has several accounts.\n`,
    });
    expect(await store.findByEmailKey(USER.emailKey)).toEqual(USER);
    expect(await store.findById("later")).toMatchObject({ email: USER.email, sessions: [], refreshToken: null });
    await eventually("registrations", async () =>
      expect(await store.insert({ ...USER, id: "new", emailKey: "new@x.com" })).toBe("inserted"),
    );
  });
});
