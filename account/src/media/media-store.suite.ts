// What every media store must do. Each implementation runs this suite from its own test file.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { CleanImage } from "./image.ts";
import { avatarKey, type MediaStore } from "./media-store.ts";

/** An empty store, a way to see what is in it, and how to take it down. */
export interface MediaUnderTest {
  readonly store: MediaStore;
  /** URL in front of keys. */
  readonly publicUrl: string;
  /** The stored bytes, or undefined when there are none. */
  read(key: string): Promise<Buffer | undefined>;
  close(): Promise<void>;
}

const IMAGE: CleanImage = { format: "png", width: 16, height: 16, bytes: Buffer.from("picture") };
const KEY = avatarKey("22222222-2222-4222-8222-222222222222", "0123456789abcdef0123456789abcdef", "png");

/** Runs the suite over the stores that `open` makes. */
export function describeMediaStore(name: string, open: () => Promise<MediaUnderTest>): void {
  describe(`${name} as MediaStore`, () => {
    let subject: MediaUnderTest;

    beforeEach(async () => {
      subject = await open();
    });

    afterEach(() => subject.close());

    it("put() stores the bytes and returns their URL", async () => {
      expect(await subject.store.put(KEY, IMAGE)).toBe(`${subject.publicUrl}${KEY}`);
      expect(await subject.read(KEY)).toEqual(IMAGE.bytes);
    });

    it("put() again replaces the bytes", async () => {
      await subject.store.put(KEY, IMAGE);
      await subject.store.put(KEY, { ...IMAGE, bytes: Buffer.from("other") });
      expect(await subject.read(KEY)).toEqual(Buffer.from("other"));
    });

    it("remove() removes, and does nothing when there is nothing", async () => {
      await subject.store.put(KEY, IMAGE);
      await subject.store.remove(KEY);
      expect(await subject.read(KEY)).toBeUndefined();
      await expect(subject.store.remove(KEY)).resolves.toBeUndefined();
    });

    it.each(["../../etc/passwd", "avatars/../../x.png", "/etc/passwd", "avatars/a/b.svg", ""])(
      "refuses %j as key",
      async (key) => {
        await expect(subject.store.put(key, IMAGE)).rejects.toMatchObject({ code: "media_store_unavailable" });
        expect(await subject.read(key)).toBeUndefined();
      },
    );
  });
}
