import { readdirSync, readFileSync, readlinkSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { silentLog } from "@weir/common/log/log";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { USER } from "../user-store.suite.ts";
import { backUp } from "./backup.ts";
import { EmbeddedUserStore } from "./embedded-user-store.ts";

let folder: ReturnType<typeof makeTemporaryFolder>;
let store: EmbeddedUserStore;
let file: string;

beforeEach(async () => {
  folder = makeTemporaryFolder();
  file = join(folder.path, "copy", "accounts.sqlite");
  store = await start(folder.path);
  await store.insert(USER);
});

afterEach(async () => {
  await store.stop();
  folder.remove();
});

async function start(directory: string): Promise<EmbeddedUserStore> {
  const opened = new EmbeddedUserStore({ log: silentLog() }, { directory });
  await opened.start();
  return opened;
}

describe("backUp()", () => {
  it("copies a database that is in use to a private file, from which a store starts", async () => {
    const copies = makeTemporaryFolder();
    file = join(copies.path, "accounts.sqlite");
    // The upload ends after the copy: a service on the copy must not remove its image.
    await store.addMediaIntent({ key: "avatars/b.png", userId: "other", createdAtMs: 0 });
    expect(await backUp(folder.path, file)).toEqual({ path: file, users: 1 });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(copies.path)).toEqual(["accounts.sqlite"]);
    // As `weir-account sweep` does before a service is started with the copy.
    const reader = new EmbeddedUserStore({ log: silentLog() }, { directory: copies.path, access: "read" });
    await reader.start();
    expect(await reader.findAvatarKeys([USER.id])).toEqual(new Set([USER.avatarKey]));
    await reader.stop();
    const restored = await start(copies.path);
    expect(await restored.findById(USER.id)).toEqual(USER);
    expect(await restored.takeMediaIntents(1)).toEqual([]);
    expect(await store.takeMediaIntents(1)).toEqual(["avatars/b.png"]);
    await restored.stop();
    copies.remove();
  });

  it("copies a database that is not in use", async () => {
    await store.stop();
    file = join(folder.path, "copy.sqlite");
    expect(await backUp(folder.path, file)).toMatchObject({ users: 1 });
  });

  it("refuses a file that exists, leaves it as it is, and leaves no other", async () => {
    file = join(folder.path, "notes.txt");
    writeFileSync(file, "mine");
    const before = readdirSync(folder.path);
    await expect(backUp(folder.path, file)).rejects.toMatchObject({
      code: "BACKUP_FAILED",
      message: `Cannot back up ${join(folder.path, "accounts.sqlite")} to ${file}: the file exists; name another one`,
    });
    expect(readFileSync(file, "utf8")).toBe("mine");
    expect(readdirSync(folder.path)).toEqual(before);
  });

  it("does not write through a link at a name that can be guessed, and does not remove it", async () => {
    const copies = makeTemporaryFolder();
    file = join(copies.path, "accounts.sqlite");
    const victim = join(copies.path, "victim");
    const planted = `${file}.${process.pid}.partial`;
    writeFileSync(victim, "");
    symlinkSync(victim, planted);
    expect(await backUp(folder.path, file)).toMatchObject({ users: 1 });
    expect(readFileSync(victim, "utf8")).toBe("");
    expect(readlinkSync(planted)).toBe(victim);
    copies.remove();
  });

  it("fails by name when the folder of the file is missing, or the database", async () => {
    const message = `Cannot back up ${join(folder.path, "accounts.sqlite")} to ${file}`;
    await expect(backUp(folder.path, file)).rejects.toMatchObject({ code: "BACKUP_FAILED", message });
    const empty = makeTemporaryFolder();
    await expect(backUp(empty.path, join(empty.path, "copy"))).rejects.toMatchObject({ code: "BACKUP_FAILED" });
    expect(readdirSync(empty.path)).toEqual([]);
    empty.remove();
  });
});
