import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Worker } from "node:worker_threads";
import { createLog, silentLog } from "@weir/common/log/log";
import { eventually } from "@weir/harness/processes/eventually";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { describeUserStore, SESSION, USER } from "../user-store.suite.ts";
import { EmbeddedUserStore } from "./embedded-user-store.ts";
import type { StoreAccess } from "./messages.ts";
import { startWorker } from "./store-thread.ts";

/** Bytes of the header of a log, and of the header of each frame in it (https://www.sqlite.org/fileformat.html#walformat). */
const WAL_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const PAGE_BYTES = 4096;

let folder: ReturnType<typeof makeTemporaryFolder>;
let path: string;
const stores: EmbeddedUserStore[] = [];

beforeEach(() => {
  folder = makeTemporaryFolder();
  path = join(folder.path, "accounts.sqlite");
});

afterEach(async () => {
  for (const store of stores.splice(0)) await store.stop();
  folder.remove();
});

async function start(options: { readonly access?: StoreAccess; readonly checkpointIntervalMs?: number } = {}) {
  const store = new EmbeddedUserStore({ log: silentLog() }, { directory: folder.path, ...options });
  stores.push(store);
  await store.start();
  return store;
}

/** Changes the database as a tool of the operator does. */
function withDatabase<T>(use: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(path);
  try {
    return use(database);
  } finally {
    database.close();
  }
}

describeUserStore("new EmbeddedUserStore()", () => {
  const directory = makeTemporaryFolder();
  return {
    async open() {
      const store = new EmbeddedUserStore({ log: silentLog() }, { directory: directory.path });
      await store.start();
      return store;
    },
    remove() {
      directory.remove();
      return Promise.resolve();
    },
  };
});

describe("new EmbeddedUserStore()", () => {
  it("writes ahead, and hides its files from other users", async () => {
    const store = await start();
    await store.insert(USER);
    for (const name of ["accounts.sqlite", "accounts.sqlite-wal", "accounts.sqlite-shm", "accounts.lock"])
      expect([name, statSync(join(folder.path, name)).mode & 0o777]).toEqual([name, 0o600]);
    expect(withDatabase((database) => database.prepare("PRAGMA journal_mode").get()?.["journal_mode"])).toBe("wal");
  });

  it("keeps the users of the first release", async () => {
    withDatabase((database) => {
      database.exec(`CREATE TABLE users (
        id TEXT PRIMARY KEY, email TEXT NOT NULL, email_key TEXT NOT NULL UNIQUE, name TEXT, password_hash TEXT NOT NULL,
        avatar TEXT, avatar_key TEXT, refresh_token TEXT, sessions TEXT NOT NULL, revision INTEGER NOT NULL,
        created_at_ms INTEGER NOT NULL, updated_at_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID`);
      database.exec("PRAGMA user_version = 1; PRAGMA journal_mode = WAL");
      database
        .prepare("INSERT INTO users VALUES (?, 'Ada@x.com', 'ada@x.com', NULL, 'hash', NULL, NULL, ?, ?, 3, 1, 2)")
        .run(USER.id, SESSION.tokenHash, JSON.stringify([SESSION]));
    });
    const store = await start();
    expect(await store.findByEmailKey("ada@x.com")).toEqual({
      id: USER.id,
      email: "Ada@x.com",
      emailKey: "ada@x.com",
      name: null,
      passwordHash: "hash",
      avatar: null,
      avatarKey: null,
      refreshToken: SESSION.tokenHash,
      sessions: [SESSION],
      emailVerifiedAtMs: null,
      mailTokens: [],
      lockedAtMs: null,
      revision: 3,
      createdAtMs: 1,
      updatedAtMs: 2,
    });
    expect(await store.update(USER.id, 3, { name: "Ada", updatedAtMs: 3 })).toBe("updated");
  });

  it("refuses a database of a newer release and leaves it as it is", async () => {
    withDatabase((database) => database.exec("PRAGMA user_version = 99"));
    await expect(start()).rejects.toThrow(
      `Cannot use the database ${path}: its version is 99, this release knows up to 2`,
    );
    expect(withDatabase((database) => database.prepare("PRAGMA user_version").get()?.["user_version"])).toBe(99);
  });

  it("refuses a file that is no database, by name", async () => {
    writeFileSync(path, "this is not a database, whatever its name says");
    await expect(start()).rejects.toMatchObject({
      code: "STORE_UNUSABLE",
      message: `Cannot open the database ${path}`,
      cause: { message: "file is not a database" },
    });
  });

  it("refuses a folder that does not exist, by name", async () => {
    const directory = join(folder.path, "none");
    const store = new EmbeddedUserStore({ log: silentLog() }, { directory });
    await expect(store.start()).rejects.toMatchObject({
      code: "STORE_UNUSABLE",
      message: `Cannot lock ${join(directory, "accounts.lock")}`,
    });
  });

  it("refuses a directory that another store has, and takes it when that one has stopped", async () => {
    const first = await start();
    await expect(start()).rejects.toMatchObject({
      code: "DATA_DIRECTORY_IN_USE",
      message: `Cannot use DATA_DIR ${folder.path}: another process has it; stop that process, or set DATA_DIR to another folder`,
    });
    await first.stop();
    await expect((await start()).ping()).resolves.toBeUndefined();
  });

  it("reads next to the store that has the directory, and writes nothing", async () => {
    const owner = await start();
    await owner.insert(USER);
    const reader = await start({ access: "read" });
    expect(await reader.findAvatarKeys([USER.id])).toEqual(new Set(["avatars/a.png"]));
    await expect(reader.remove(USER.id)).rejects.toMatchObject({ outcome: "not_applied" });
    await owner.insert({ ...USER, id: "other", emailKey: "b@x.com" });
    expect(await reader.findById("other")).toMatchObject({ emailKey: "b@x.com" });
  });

  it("reads and writes next to the store that has the directory, when it shares it", async () => {
    const owner = await start();
    await owner.insert(USER);
    const other = await start({ access: "share" });
    expect(await other.update(USER.id, 0, { name: "Countess", updatedAtMs: 1 })).toBe("updated");
    expect(await owner.update(USER.id, 0, { name: "Ada", updatedAtMs: 1 })).toBe("conflict");
    expect(await owner.findById(USER.id)).toMatchObject({ name: "Countess", revision: 1 });
    const ids = Array.from({ length: 40 }, (_, index) => `user-${index}`);
    const insert = (id: string, at: number) =>
      (at % 2 === 0 ? owner : other).insert({ ...USER, id, emailKey: `${id}@x.com` });
    expect(new Set(await Promise.all(ids.map(insert)))).toEqual(new Set(["inserted"]));
  });

  it("shares no database of another release, and makes none", async () => {
    await expect(start({ access: "share" })).rejects.toMatchObject({ code: "STORE_UNUSABLE" });
    expect(existsSync(path)).toBe(false);
    for (const [version, what] of [
      [1, "its version is 1"],
      [2, "users lack locked_at_ms"],
    ] as const) {
      withDatabase((database) => database.exec(`PRAGMA user_version = ${version}; PRAGMA journal_mode = WAL`));
      await expect(start({ access: "share" })).rejects.toThrow(
        `Cannot use the database ${path}: ${what}, as of another release; start the service of this release first`,
      );
    }
  });

  it("commits writes that wait together in one transaction", async () => {
    const store = await start();
    const before = countCommits();
    const ids = Array.from({ length: 200 }, (_, index) => `user-${index}`);
    await Promise.all(ids.map((id) => store.insert({ ...USER, id, emailKey: `${id}@x.com` })));
    // The first goes alone, because nothing was on its way; the others wait for it together.
    expect(countCommits() - before).toBe(2);
  });

  it("fails one write of a transaction alone, and does the others", async () => {
    const store = await start();
    await store.insert(USER);
    const results = await Promise.allSettled([
      store.ping(), // On its way while the following gather.
      store.insert({ ...USER, id: "b", emailKey: "b@x.com" }),
      store.insert({ ...USER, emailKey: "c@x.com" }),
      store.insert({ ...USER, id: "d" }),
      store.update("b", 0, { name: "Bea", updatedAtMs: 1 }),
      store.remove("unknown"),
    ]);
    expect(results.map((result) => (result.status === "fulfilled" ? result.value : "rejected"))).toEqual([
      undefined,
      "inserted",
      "rejected",
      "email_taken",
      "updated",
      false,
    ]);
    expect(await store.findById("b")).toMatchObject({ name: "Bea", revision: 1 });
  });

  it("does not block the event loop, fails, and recovers when another connection has the lock", async () => {
    const store = await start();
    await store.insert(USER);
    const other = new DatabaseSync(path);
    other.exec("BEGIN IMMEDIATE");
    const startedMs = performance.now();
    const refused = store.remove(USER.id);
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 5);
    await expect(refused).rejects.toMatchObject({
      code: "database_unavailable",
      outcome: "not_applied",
      cause: { message: "database is locked" },
    });
    clearInterval(timer);
    expect(turns).toBeGreaterThan(5);
    expect(performance.now() - startedMs).toBeLessThan(2000);
    await expect(store.ping()).rejects.toMatchObject({ cause: { message: "database is locked" } });
    other.exec("COMMIT");
    other.close();
    await expect(store.ping()).resolves.toBeUndefined();
    expect(await store.remove(USER.id)).toBe(true);
  });

  it("empties its log now and then", async () => {
    const store = await start({ checkpointIntervalMs: 20 });
    await store.insert(USER);
    await eventually("the log to be empty", () => expect(statSync(`${path}-wal`).size).toBe(0));
    expect(await store.findById(USER.id)).toEqual(USER);
  });

  it("fails the calls of a thread that dies, and replaces it", async () => {
    const workers: Worker[] = [];
    const lines: string[] = [];
    const store = new EmbeddedUserStore(
      {
        log: createLog({ level: "info", format: "json", write: (line) => lines.push(line) }),
        startThread: (data) => {
          workers.push(startWorker(data));
          return workers.at(-1)!;
        },
      },
      { directory: folder.path },
    );
    stores.push(store);
    await store.start();
    await store.insert(USER);
    const calls = [store.insert({ ...USER, id: "b", emailKey: "b@x.com" }), store.findById(USER.id)];
    const dies = workers[0]!.terminate();
    const outcomes = (await Promise.allSettled(calls)).map((result) =>
      result.status === "rejected" ? (result.reason as { outcome: string }).outcome : "answered",
    );
    await dies;
    expect(outcomes[0]).not.toBe("not_applied"); // It was sent: whether it was done is not known.
    await eventually("another thread", async () => expect(await store.findById(USER.id)).toEqual(USER));
    expect(workers).toHaveLength(2);
    expect(lines.join("\n")).toContain("The thread of the user store ended, another one starts");
  });
});

/** Commits in the log: the frames that end a transaction give the size of the database. */
function countCommits(): number {
  const log = readFileSync(`${path}-wal`);
  let commits = 0;
  for (let at = WAL_HEADER_BYTES; at + FRAME_HEADER_BYTES <= log.length; at += FRAME_HEADER_BYTES + PAGE_BYTES)
    if (log.readUInt32BE(at + 4) !== 0) commits += 1;
  return commits;
}
