// The keys that the cache of expiries knows, and those that it forgets.
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { ExpiryCache, type HashedKey } from "./expiry-cache.ts";

/** Keys of one bucket, whatever the number of buckets. */
function keys(number: number): readonly HashedKey[] {
  return Array.from({ length: number }, (_, index) => ({ hash: 7, tag: index + 1 }));
}

/** A key with a hash of good quality. */
function hashed(key: string): HashedKey {
  const digest = createHash("sha1").update(key).digest();
  return { hash: digest.readInt32LE(0), tag: digest.readInt32LE(4) };
}

describe("ExpiryCache", () => {
  it("covers() knows the last four keys of a bucket", () => {
    const cache = new ExpiryCache(2);
    const added = keys(6);
    for (const key of added) cache.add(key, 60);
    expect(added.map((key) => cache.covers(key, 60))).toEqual([false, false, true, true, true, true]);
  });

  it("add() keeps the key that is added again, and forgets the one that was not for the longest time", () => {
    const cache = new ExpiryCache(2);
    const [a, b, c, d, e] = keys(5);
    for (const key of [a, b, c, d, a, e]) if (key !== undefined) cache.add(key, 60);
    expect(keys(5).map((key) => cache.covers(key, 60))).toEqual([true, false, true, true, true]);
  });

  it("covers() knows 100,000 keys but for a few", () => {
    const cache = new ExpiryCache();
    const added = Array.from({ length: 100_000 }, (_, index) => hashed(`domain_user_${index}_1790000000`));
    for (const key of added) cache.add(key, 60);
    expect(added.filter((key) => cache.covers(key, 60)).length).toBeGreaterThan(98_000);
  });

  it("covers() denies when the expiry was sent for a shorter window", () => {
    const cache = new ExpiryCache(2);
    const key = hashed("a");
    cache.add(key, 60);
    expect([1, 60, 3600].map((windowSeconds) => cache.covers(key, windowSeconds))).toEqual([true, true, false]);
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
