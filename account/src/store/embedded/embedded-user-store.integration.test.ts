import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeTemporaryFolder } from "@weir/testing/temporary-folder";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { describeUserStore } from "../user-store.suite.ts";
import { EmbeddedUserStore } from "./embedded-user-store.ts";

let folder: ReturnType<typeof makeTemporaryFolder>;
let path: string;

beforeEach(() => {
  folder = makeTemporaryFolder();
  path = join(folder.path, "accounts.sqlite");
});

afterEach(() => {
  folder.remove();
});

describeUserStore("new EmbeddedUserStore()", () => {
  let store: EmbeddedUserStore = new EmbeddedUserStore(path);
  const close = (): Promise<void> => {
    store.close();
    return Promise.resolve();
  };
  return Promise.resolve({
    store,
    async reopen() {
      await close();
      store = new EmbeddedUserStore(path);
      return store;
    },
    close,
  });
});

describe("new EmbeddedUserStore()", () => {
  it("writes ahead, syncs before a write counts, and hides the file from other users", () => {
    new EmbeddedUserStore(path).close();
    const database = new DatabaseSync(path);
    expect([
      database.prepare("PRAGMA journal_mode").get()?.["journal_mode"],
      database.prepare("PRAGMA user_version").get()?.["user_version"],
    ]).toEqual(["wal", 1]);
    database.close();
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it("refuses a database of a newer release and leaves it as it is", () => {
    new EmbeddedUserStore(path).close();
    const database = new DatabaseSync(path);
    database.exec("PRAGMA user_version = 99");
    database.close();
    expect(() => new EmbeddedUserStore(path)).toThrow(
      `Cannot use the database ${path}: its version is 99, this release knows up to 1`,
    );
  });

  it("refuses a file that is no database, by name", () => {
    writeFileSync(path, "this is not a database, whatever its name says");
    expect(() => new EmbeddedUserStore(path)).toThrow(`Cannot open the database ${path}`);
  });

  it("refuses a folder that does not exist, by name", () => {
    const missing = join(folder.path, "none", "accounts.sqlite");
    expect(() => new EmbeddedUserStore(missing)).toThrow(`Cannot open the database ${missing}`);
  });
});
