import { existsSync, mkdirSync, readdirSync, readlinkSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { describeMediaStore } from "../media-store.suite.ts";
import { createLocalMediaStore } from "./local-media-store.ts";

const KEY = "avatars/22222222-2222-4222-8222-222222222222/0123456789abcdef0123456789abcdef.png";
const IMAGE = { format: "png", width: 16, height: 16, bytes: Buffer.from("picture") } as const;
const publicUrl = "http://localhost/media/";

let folder: ReturnType<typeof makeTemporaryFolder>;

beforeEach(() => {
  folder = makeTemporaryFolder();
});

afterEach(() => {
  folder.remove();
});

describeMediaStore("createLocalMediaStore()", () => {
  const store = createLocalMediaStore({ directory: folder.path, publicUrl: () => publicUrl });
  return Promise.resolve({
    store,
    publicUrl,
    async read(key) {
      const image = await store.open(key);
      if (image === undefined) return undefined;
      const bytes = await image.file.readFile();
      await image.file.close();
      const { contentType, contentDisposition, cacheControl } = image.headers;
      const headers = {
        "content-type": contentType,
        "content-disposition": contentDisposition,
        "cache-control": cacheControl,
      };
      return { bytes, headers };
    },
    close: () => Promise.resolve(),
  });
});

describe("createLocalMediaStore()", () => {
  it("leaves no unfinished file behind and hides images from other users", async () => {
    await createLocalMediaStore({ directory: folder.path, publicUrl: () => publicUrl }).put(KEY, IMAGE);
    expect(readdirSync(join(folder.path, KEY, ".."))).toEqual(["0123456789abcdef0123456789abcdef.png"]);
    expect(statSync(join(folder.path, KEY)).mode & 0o777).toBe(0o600);
  });

  it("syncs the image, then its name and those of all folders above it", async () => {
    const handle = await open(folder.path);
    const prototype = Object.getPrototypeOf(handle) as FileHandle;
    await handle.close();
    const { sync } = prototype;
    const synced: string[] = [];
    const spy = vi.spyOn(prototype, "sync").mockImplementation(function (this: FileHandle) {
      synced.push(readlinkSync(`/proc/self/fd/${this.fd}`));
      return sync.call(this);
    });
    const root = join(folder.path, "media");
    try {
      await createLocalMediaStore({ directory: root, publicUrl: () => publicUrl }).put(KEY, IMAGE);
    } finally {
      spy.mockRestore();
    }
    const user = dirname(join(root, KEY));
    expect(synced).toEqual([expect.stringMatching(/\.partial$/), user, join(root, "avatars"), root, folder.path]);
  });

  it("does not open a folder as an image", async () => {
    mkdirSync(join(folder.path, KEY), { recursive: true });
    const store = createLocalMediaStore({ directory: folder.path, publicUrl: () => publicUrl });
    expect(await store.open(KEY)).toBeUndefined();
  });

  it("removes the user's folder with its last image, and not before", async () => {
    const store = createLocalMediaStore({ directory: folder.path, publicUrl: () => publicUrl });
    const other = KEY.replace("0123", "4567");
    await store.put(KEY, IMAGE);
    await store.put(other, IMAGE);
    await store.remove(KEY);
    expect(existsSync(join(folder.path, other))).toBe(true);
    await store.remove(other);
    expect(readdirSync(join(folder.path, "avatars"))).toEqual([]);
  });

  it("fails with media_store_unavailable when the folder cannot be written", async () => {
    writeFileSync(join(folder.path, "avatars"), "a file where a folder should be");
    const store = createLocalMediaStore({ directory: folder.path, publicUrl: () => publicUrl });
    await expect(store.put(KEY, IMAGE)).rejects.toMatchObject({ code: "media_store_unavailable", transient: true });
    expect(await store.open(KEY)).toBeUndefined();
  });

  it("lists and removes what a crash left unfinished, and leaves foreign files out", async () => {
    const store = createLocalMediaStore({ directory: folder.path, publicUrl: () => publicUrl });
    await store.put(KEY, IMAGE);
    const unfinished = `${KEY}.0123456789ab.partial`;
    writeFileSync(join(folder.path, unfinished), "half");
    writeFileSync(join(folder.path, KEY, "..", "notes.txt"), "foreign");
    writeFileSync(join(folder.path, "avatars", "notes.txt"), "foreign");
    const keys: string[] = [];
    for await (const { key } of store.list()) keys.push(key);
    expect(keys).toEqual([KEY, KEY]);
    expect(await store.open(unfinished)).toBeUndefined();
    await store.remove(KEY);
    expect(readdirSync(join(folder.path, KEY, ".."))).toEqual(["notes.txt"]);
  });

  it("does not follow a link out of its folder", async () => {
    const store = createLocalMediaStore({ directory: folder.path, publicUrl: () => publicUrl });
    await store.put(KEY, IMAGE);
    const link = KEY.replace("0123", "4567");
    symlinkSync("/etc/passwd", join(folder.path, link));
    expect(await store.open(link)).toBeUndefined();
  });
});
