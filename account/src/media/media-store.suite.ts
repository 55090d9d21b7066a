// The requirements for every media store. Each implementation runs this suite from its own test file.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { CleanImage, ImageFormat } from "./image.ts";
import { avatarKey, type MediaStore } from "./media-store.ts";
import { findUnnamedMedia, removeMedia } from "./sweep-media.ts";

/** An empty store, a way to see what is in it, and how to take it down. */
export interface MediaUnderTest {
  readonly store: MediaStore;
  /** URL in front of keys. */
  readonly publicUrl: string;
  /** Fetches what a browser would get under the URL of a key; undefined for 404. */
  read(
    key: string,
  ): Promise<{ readonly bytes: Buffer; readonly headers: Readonly<Record<string, string>> } | undefined>;
  close(): Promise<void>;
}

const USER = "22222222-2222-4222-8222-222222222222";
const KEY = avatarKey(USER, "0123456789abcdef0123456789abcdef", "png");
const OTHER = avatarKey("33333333-3333-4333-8333-333333333333", "fedcba9876543210fedcba9876543210", "webp");
const DAY_MS = 86_400_000;

function imageOf(text: string, format: ImageFormat = "png"): CleanImage {
  return { format, width: 16, height: 16, bytes: Buffer.from(text) };
}

/** Runs the suite over the stores that `open` makes. */
export function describeMediaStore(name: string, open: () => Promise<MediaUnderTest>): void {
  describe(`${name} as MediaStore`, () => {
    let subject: MediaUnderTest;

    beforeEach(async () => {
      subject = await open();
    });

    afterEach(() => subject.close());

    const names = async (): Promise<readonly string[]> => {
      const found: string[] = [];
      for await (const stored of subject.store.list()) found.push(stored.key);
      return found.toSorted();
    };

    it("put() stores the bytes, and url() gives the URL that they are read from", async () => {
      await subject.store.put(KEY, imageOf("picture"));
      expect(subject.store.url(KEY)).toBe(`${subject.publicUrl}${KEY}`);
      expect((await subject.read(KEY))?.bytes.toString()).toBe("picture");
    });

    it.each([
      { format: "png", extension: "png", type: "image/png" },
      { format: "jpeg", extension: "jpg", type: "image/jpeg" },
      { format: "webp", extension: "webp", type: "image/webp" },
    ] as const)("put() lets browsers show and keep a $format", async ({ format, extension, type }) => {
      const key = avatarKey(USER, "0123456789abcdef0123456789abcdef", extension);
      await subject.store.put(key, imageOf("picture", format));
      expect((await subject.read(key))?.headers).toMatchObject({
        "content-type": type,
        "content-disposition": `inline; filename="avatar.${extension}"`,
        "cache-control": "public, max-age=31536000, immutable",
      });
    });

    it("put() again replaces the bytes", async () => {
      await subject.store.put(KEY, imageOf("picture"));
      await subject.store.put(KEY, imageOf("other"));
      expect((await subject.read(KEY))?.bytes.toString()).toBe("other");
    });

    it("put() stores an image of 2 MiB, byte by byte", async () => {
      const bytes = Buffer.alloc(2_097_152, "0123456789");
      await subject.store.put(KEY, { ...imageOf(""), bytes });
      expect((await subject.read(KEY))?.bytes.equals(bytes)).toBe(true);
    });

    it("remove() removes, and does nothing when there is nothing", async () => {
      await subject.store.put(KEY, imageOf("picture"));
      await subject.store.remove(KEY);
      expect(await subject.read(KEY)).toBeUndefined();
      await expect(subject.store.remove(KEY)).resolves.toBeUndefined();
    });

    it("list() names every image with its time, and nothing when there is none", async () => {
      expect(await names()).toEqual([]);
      await subject.store.put(KEY, imageOf("picture"));
      await subject.store.put(OTHER, imageOf("other", "webp"));
      expect(await names()).toEqual([KEY, OTHER]);
      for await (const { modifiedAtMs } of subject.store.list())
        expect(Math.abs(modifiedAtMs - Date.now())).toBeLessThan(DAY_MS);
    });

    it("a sweep finds and removes the image without a user, and keeps the other and new ones", async () => {
      await subject.store.put(KEY, imageOf("picture"));
      await subject.store.put(OTHER, imageOf("other", "webp"));
      const { signal } = new AbortController();
      const deps = { media: subject.store, findAvatarKeys: () => Promise.resolve(new Set([KEY])), signal };
      expect(await findUnnamedMedia({ ...deps, clock: Date.now })).toEqual({ objects: 2, unnamed: [] });
      const { unnamed } = await findUnnamedMedia({ ...deps, clock: () => Date.now() + DAY_MS });
      expect(await removeMedia(deps, unnamed)).toMatchObject({ removed: 1, failed: 0 });
      expect(await names()).toEqual([KEY]);
    });

    it.each(["../../etc/passwd", "avatars/../../x.png", "/etc/passwd", "avatars/a/b.svg", ""])(
      "refuses %j as key",
      async (key) => {
        await expect(subject.store.put(key, imageOf("picture"))).rejects.toMatchObject({
          code: "media_store_unavailable",
        });
        await expect(subject.store.remove(key)).rejects.toMatchObject({ code: "media_store_unavailable" });
        expect(await names()).toEqual([]);
      },
    );
  });
}
