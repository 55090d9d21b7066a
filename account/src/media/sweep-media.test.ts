import { describe, expect, it } from "vitest";
import { avatarKey, type StoredMedia } from "./media-store.ts";
import { sweepMedia, type SweepReport } from "./sweep-media.ts";

const NOW_MS = 1_800_000_000_000;
const HOUR_MS = 3_600_000;

/** The key of the avatar of user number `index`. */
function keyOf(index: number): string {
  return avatarKey(`00000000-0000-4000-8000-${String(index).padStart(12, "0")}`, "ab".repeat(16), "png");
}

/** A media store and a user store in memory, and what was asked of them. */
class Fixture {
  readonly stored = new Map<string, number>();
  readonly users = new Set<string>();
  /** Images that cannot be removed. */
  readonly locked = new Set<string>();
  readonly lookUps: number[] = [];
  readonly stop = new AbortController();

  add(names: readonly string[], ageMs = 2 * HOUR_MS): void {
    for (const name of names) this.stored.set(name, NOW_MS - ageMs);
  }

  sweep(isForced = false): Promise<SweepReport> {
    return sweepMedia(
      {
        media: { list: () => this.#list(), remove: (name) => this.#remove(name) },
        findAvatarKeys: (ids) => {
          this.lookUps.push(ids.length);
          return Promise.resolve(new Set([...this.users].filter((key) => ids.some((id) => key.includes(id)))));
        },
        clock: () => NOW_MS,
      },
      { isForced, signal: this.stop.signal },
    );
  }

  #remove(name: string): Promise<void> {
    if (this.locked.has(name)) return Promise.reject(new Error("locked"));
    this.stored.delete(name);
    return Promise.resolve();
  }

  async *#list(): AsyncGenerator<StoredMedia> {
    for (const [name, modifiedAtMs] of [...this.stored]) yield await Promise.resolve({ name, modifiedAtMs });
  }
}

describe("sweepMedia()", () => {
  it("removes images without a user and unfinished files, and keeps the image that a user names", async () => {
    const fixture = new Fixture();
    const replaced = keyOf(1).replace("abab", "cdcd"); // An earlier image of a user who has another one now.
    const unfinished = `${keyOf(1)}.0123456789ab.partial`;
    fixture.add([keyOf(1), keyOf(2), replaced, unfinished]);
    fixture.users.add(keyOf(1));
    expect(await fixture.sweep()).toEqual({ images: 3, orphans: 3, removed: 3, failed: 0, isRefused: false });
    expect([...fixture.stored.keys()]).toEqual([keyOf(1)]);
  });

  it.each([
    { ageMs: HOUR_MS - 1, left: 1 }, // Its registration may still run.
    { ageMs: HOUR_MS, left: 0 },
  ])("leaves $left of an image without a user that is $ageMs ms old", async ({ ageMs, left }) => {
    const fixture = new Fixture();
    fixture.add([keyOf(1)], ageMs);
    fixture.add([keyOf(2)], 0);
    fixture.users.add(keyOf(2)); // Of a user who has just registered.
    await fixture.sweep();
    expect(fixture.stored.has(keyOf(1))).toBe(left === 1);
  });

  it("asks for 500 users at a time", async () => {
    const fixture = new Fixture();
    const keys = Array.from({ length: 1100 }, (_, index) => keyOf(index));
    fixture.add(keys);
    for (const key of keys) fixture.users.add(key);
    expect(await fixture.sweep()).toMatchObject({ images: 1100, removed: 0 });
    expect(fixture.lookUps).toEqual([500, 500, 100]);
  });

  it("removes nothing when most images have no user, unless it is forced", async () => {
    const fixture = new Fixture();
    fixture.add(Array.from({ length: 41 }, (_, index) => keyOf(index)));
    for (let index = 0; index < 20; index++) fixture.users.add(keyOf(index));
    expect(await fixture.sweep()).toEqual({ images: 41, orphans: 21, removed: 0, failed: 0, isRefused: true });
    expect(fixture.stored.size).toBe(41);
    expect(await fixture.sweep(true)).toEqual({ images: 41, orphans: 21, removed: 21, failed: 0, isRefused: false });
    expect(fixture.stored.size).toBe(20);
  });

  it("removes half of the images, and a few that are most", async () => {
    const fixture = new Fixture();
    fixture.add(Array.from({ length: 42 }, (_, index) => keyOf(index)));
    for (let index = 0; index < 21; index++) fixture.users.add(keyOf(index));
    expect(await fixture.sweep()).toMatchObject({ removed: 21, isRefused: false });
    const few = new Fixture();
    few.add(Array.from({ length: 21 }, (_, index) => keyOf(index)));
    few.users.add(keyOf(20));
    expect(await few.sweep()).toMatchObject({ removed: 20, failed: 0, isRefused: false });
  });

  it.each([1, 20])("removes none of %i images when none has a user, unless it is forced", async (count) => {
    const fixture = new Fixture();
    fixture.add(Array.from({ length: count }, (_, index) => keyOf(index)));
    expect(await fixture.sweep()).toEqual({ images: count, orphans: count, removed: 0, failed: 0, isRefused: true });
    expect(fixture.stored.size).toBe(count);
    expect(await fixture.sweep(true)).toMatchObject({ removed: count, isRefused: false });
  });

  it("continues after an image that cannot be removed, and ends after 100 of them", async () => {
    const fixture = new Fixture();
    fixture.add(Array.from({ length: 3 }, (_, index) => keyOf(index)));
    fixture.locked.add(keyOf(0));
    expect(await fixture.sweep(true)).toEqual({
      images: 3,
      orphans: 3,
      removed: 2,
      failed: 1,
      failure: new Error("locked"),
      isRefused: false,
    });
    expect([...fixture.stored.keys()]).toEqual([keyOf(0)]);
    const broken = new Fixture();
    const keys = Array.from({ length: 101 }, (_, index) => keyOf(index));
    broken.add(keys);
    for (const key of keys.slice(0, 100)) broken.locked.add(key);
    expect(await broken.sweep(true)).toMatchObject({ removed: 0, failed: 100 });
  });

  it("stops when the service does", async () => {
    const fixture = new Fixture();
    fixture.add([keyOf(1)]);
    fixture.stop.abort();
    await expect(fixture.sweep()).rejects.toMatchObject({ name: "AbortError" });
    expect(fixture.stored.size).toBe(1);
  });
});
