// What the memory of expiries knows, and what it forgets.
import { describe, expect, it } from "vitest";
import { ExpiryCache } from "./expiry-cache.ts";

describe("ExpiryCache", () => {
  it("covers() knows at least the last generation and at most two", () => {
    const memory = new ExpiryCache(2);
    for (const key of ["a", "b", "c", "d", "e"]) memory.add(key, 60);
    expect(["a", "b", "c", "d", "e"].map((key) => memory.covers(key, 60))).toEqual([false, false, true, true, true]);
  });

  it("covers() denies when the expiry was sent for a shorter window", () => {
    const memory = new ExpiryCache(2);
    memory.add("a", 60);
    expect([1, 60, 3600].map((windowSeconds) => memory.covers("a", windowSeconds))).toEqual([true, true, false]);
  });

  it("add() keeps no long key, because a request may carry megabytes", () => {
    const memory = new ExpiryCache(2);
    memory.add("x".repeat(256), 60);
    memory.add("x".repeat(257), 60);
    expect([256, 257].map((length) => memory.covers("x".repeat(length), 60))).toEqual([true, false]);
  });

  it("clear() forgets all keys", () => {
    const memory = new ExpiryCache(1);
    memory.add("old", 60);
    memory.add("young", 60);
    memory.clear();
    expect([memory.covers("old", 60), memory.covers("young", 60)]).toEqual([false, false]);
  });

  it("delete() forgets a key of either generation", () => {
    const memory = new ExpiryCache(1);
    memory.add("old", 60);
    memory.add("young", 60);
    memory.delete("old");
    memory.delete("young");
    expect([memory.covers("old", 60), memory.covers("young", 60)]).toEqual([false, false]);
  });
});
