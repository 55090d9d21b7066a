// The keys that the cache of expiries knows, and those that it forgets.
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { ExpiryCache, type HashedKey, lifetimeSeconds } from "./expiry-cache.ts";

/** Keys of one bucket, whatever the number of buckets. */
function keys(number: number): readonly HashedKey[] {
  return Array.from({ length: number }, (_, index) => ({ hash: 7, tag: (index + 1) << 5 }));
}

/** A key with a hash of good quality. */
function hashed(key: string): HashedKey {
  const digest = createHash("sha1").update(key).digest();
  return { hash: digest.readInt32LE(0), tag: digest.readInt32LE(4) };
}

describe("ExpiryCache", () => {
  it("covers() knows the last eight keys of a bucket", () => {
    const cache = new ExpiryCache(2);
    const added = keys(10);
    for (const key of added) cache.add(key, 60);
    expect(added.map((key) => cache.covers(key, 60))).toEqual([false, false, ...Array.from({ length: 8 }, () => true)]);
  });

  it("add() keeps the key that is added again, and forgets the one that was not for the longest time", () => {
    const cache = new ExpiryCache(2);
    const [first, ...others] = keys(9);
    const last = others.pop();
    if (first === undefined || last === undefined) throw new Error("Nine keys were made");
    for (const key of [first, ...others, first, last]) cache.add(key, 60);
    expect(keys(9).map((key) => cache.covers(key, 60))).toEqual([
      true,
      false,
      ...Array.from({ length: 7 }, () => true),
    ]);
  });

  it("add() caches no key without a tag", () => {
    const cache = new ExpiryCache(2);
    cache.add({ hash: 0, tag: undefined }, 60);
    expect(cache.covers({ hash: 0, tag: undefined }, 60)).toBe(false);
  });

  it("covers() knows 100,000 keys but for a few", () => {
    const cache = new ExpiryCache();
    const added = Array.from({ length: 100_000 }, (_, index) => hashed(`domain_user_${index}_1790000000`));
    for (const key of added) cache.add(key, 60);
    expect(added.filter((key) => cache.covers(key, 60)).length).toBeGreaterThan(99_990);
  });

  it("lifetimeSeconds() is that of the unit, or so long that a class covers all below it", () => {
    const units = [1, 60, 3600, 86_400, 604_800, 2_592_000, 2_764_800, 31_536_000];
    expect(units.map(lifetimeSeconds)).toEqual(units);
    expect([2, 30, 45, 61, 300, 63, 315_360_000].map(lifetimeSeconds)).toEqual([
      3,
      31,
      127,
      127,
      511,
      127,
      2 ** 29 - 1,
    ]);
    const windows = [...units, 2, 30, 45, 61, 300, 3599, 3601, 5_184_000, 63_072_000, 315_360_000];
    for (const sent of windows) {
      for (const window of windows) {
        const cache = new ExpiryCache(2);
        cache.add(hashed("a"), sent);
        const isCovered = cache.covers(hashed("a"), window);
        expect(isCovered && lifetimeSeconds(sent) < window, `${sent} for ${window}`).toBe(false);
        if (sent === window) expect(isCovered).toBe(true);
      }
    }
  });

  it("covers() denies when the expiry was sent for a shorter window", () => {
    const cache = new ExpiryCache(2);
    const key = hashed("a");
    cache.add(key, 60);
    const windows = [1, 60, 3600, 86_400, 604_800, 2_764_800, 31_622_400];
    expect(windows.map((seconds) => cache.covers(key, seconds))).toEqual([
      true,
      true,
      ...windows.slice(2).map(() => false),
    ]);
    for (const seconds of windows) {
      cache.add(key, seconds);
      expect(windows.filter((each) => cache.covers(key, each))).toEqual(windows.filter((each) => each <= seconds));
    }
  });

  it("clear() forgets all keys", () => {
    const cache = new ExpiryCache(2);
    const added = ["a", "b", "c"].map((key) => hashed(key));
    for (const key of added) cache.add(key, 60);
    cache.clear();
    expect(added.map((key) => cache.covers(key, 60))).toEqual([false, false, false]);
  });

  it("delete() forgets a key, and adding it again works", () => {
    const cache = new ExpiryCache(2);
    const [a, b] = [hashed("a"), hashed("b")];
    cache.add(a, 60);
    cache.add(b, 60);
    cache.delete(a);
    expect([cache.covers(a, 60), cache.covers(b, 60)]).toEqual([false, true]);
    cache.add(a, 60);
    expect(cache.covers(a, 60)).toBe(true);
  });
});
