import { describe, expect, it } from "vitest";
import { avatarKey, type StoredMedia } from "./media-store.ts";
import { findUnnamedMedia, removeMedia, type SweepDeps } from "./sweep-media.ts";

const NOW_MS = 1_800_000_000_000;
const HOUR_MS = 3_600_000;

/** The key of the avatar of user number `index`. */
function keyOf(index: number): string {
  return avatarKey(`00000000-0000-4000-8000-${String(index).padStart(12, "0")}`, "ab".repeat(16), "png");
}

/** A media store and a user store in memory, and what was asked of them. */
class Fixture {
  readonly stored: StoredMedia[] = [];
  readonly named = new Set<string>();
  readonly removed: string[] = [];
  /** Images that cannot be removed. */
  readonly locked = new Set<string>();
  readonly lookUps: number[] = [];
  readonly stop = new AbortController();

  readonly deps: SweepDeps = {
    media: { list: () => ReadableStream.from(this.stored), remove: (key) => this.#remove(key) },
    findAvatarKeys: (ids) => {
      this.lookUps.push(ids.length);
      return Promise.resolve(new Set([...this.named].filter((key) => ids.some((id) => key.includes(id)))));
    },
    clock: () => NOW_MS,
    signal: this.stop.signal,
  };

  add(keys: readonly string[], ageMs = 2 * HOUR_MS): void {
    this.stored.push(...keys.map((key) => ({ key, modifiedAtMs: NOW_MS - ageMs })));
  }

  #remove(key: string): Promise<void> {
    if (this.locked.has(key)) return Promise.reject(new Error(`locked ${key}`));
    this.removed.push(key);
    return Promise.resolve();
  }
}

describe("findUnnamedMedia()", () => {
  it("gives the images that no record and no intent names, also all of them, and removes none", async () => {
    const fixture = new Fixture();
    const replaced = keyOf(1).replace("abab", "cdcd"); // An earlier image of a user who has another one now.
    fixture.add([keyOf(1), keyOf(2), replaced]);
    fixture.named.add(keyOf(1));
    const unnamed = [keyOf(2), replaced].map((key) => ({ key, modifiedAtMs: NOW_MS - 2 * HOUR_MS }));
    expect(await findUnnamedMedia(fixture.deps)).toEqual({ objects: 3, unnamed });
    fixture.named.clear();
    expect((await findUnnamedMedia(fixture.deps)).unnamed).toEqual(fixture.stored);
    expect(fixture.removed).toEqual([]);
  });

  it.each([
    { ageMs: HOUR_MS - 1, found: 0 },
    { ageMs: HOUR_MS, found: 1 },
  ])("gives $found of an image that is $ageMs ms old", async ({ ageMs, found }) => {
    const fixture = new Fixture();
    fixture.add([keyOf(1)], ageMs);
    expect((await findUnnamedMedia(fixture.deps)).unnamed).toHaveLength(found);
  });

  it("asks for 500 users at a time", async () => {
    const fixture = new Fixture();
    fixture.add(Array.from({ length: 1100 }, (_, index) => keyOf(index)));
    expect(await findUnnamedMedia(fixture.deps)).toMatchObject({ objects: 1100 });
    expect(fixture.lookUps).toEqual([500, 500, 100]);
  });
});

describe("removeMedia()", () => {
  it("continues after an image that cannot be removed, and ends after 100 of them", async () => {
    const fixture = new Fixture();
    fixture.add(Array.from({ length: 101 }, (_, index) => keyOf(index)));
    fixture.locked.add(keyOf(0));
    expect(await removeMedia(fixture.deps, fixture.stored)).toMatchObject({ removed: 100, failed: 1 });
    for (const { key } of fixture.stored) fixture.locked.add(key);
    expect(await removeMedia(fixture.deps, fixture.stored)).toEqual({
      removed: 0,
      failed: 100,
      failure: new Error(`locked ${keyOf(99)}`),
    });
  });

  it("stops when the program does", async () => {
    const fixture = new Fixture();
    fixture.add([keyOf(1)]);
    fixture.stop.abort();
    await expect(removeMedia(fixture.deps, fixture.stored)).rejects.toMatchObject({ name: "AbortError" });
    expect(fixture.removed).toEqual([]);
  });
});
