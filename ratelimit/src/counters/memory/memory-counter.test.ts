// The memory backend: the common suite, its bound and the end of its windows.
import { describe, expect, it } from "vitest";
import { check, count, describeCounter, read, WaitingBatch } from "../counter.suite.ts";
import { MemoryCounter } from "./memory-counter.ts";

describeCounter("memory", () =>
  Promise.resolve({ counter: new MemoryCounter({ maxKeys: 1_000_000 }), close: () => Promise.resolve() }),
);

describe("new MemoryCounter()", () => {
  it("count() answers before it returns", () => {
    const batch = new WaitingBatch([check("key")]);
    new MemoryCounter({ maxKeys: 10 }).count(batch);
    expect(batch.isAnswered).toBe(true);
  });

  it("count() refuses new keys and continues with known ones when the table is full", async () => {
    const counter = new MemoryCounter({ maxKeys: 2 }, { clock: () => 4_000_000_210_000 });
    expect(await count(counter, check("a"), check("b"))).toEqual([1, 1]);
    await expect(count(counter, check("c"))).rejects.toMatchObject({
      code: "STORE_FULL",
      transient: true,
      message: "Cannot count a new key: the memory backend holds its maximum of 2 keys",
    });
    expect(await count(counter, check("a"))).toEqual([2]);
    expect(await count(counter, check("c", 0))).toEqual([0]);
  });

  it("count() refuses a 65th length of windows until one of the others has ended", async () => {
    let nowMs = 0;
    const counter = new MemoryCounter({ maxKeys: 1000 }, { clock: () => nowMs });
    for (let length = 1; length <= 64; length++) expect(await count(counter, check("a", 1, 0, length))).toEqual([1]);
    await expect(count(counter, check("a", 1, 0, 65))).rejects.toMatchObject({ code: "STORE_FULL" });
    expect(await read(counter, check("a", 1, 0, 65))).toEqual([0]);
    nowMs = 1000;
    expect(await count(counter, check("a", 1, 0, 65))).toEqual([1]);
  });

  it("read() needs no room when the table is full", async () => {
    const counter = new MemoryCounter({ maxKeys: 1 });
    await count(counter, check("a", 3));
    expect(await read(counter, check("a"), check("b"))).toEqual([3, 0]);
  });

  it("count() has room again when the window that filled the table has ended", async () => {
    let nowSeconds = 1200;
    const counter = new MemoryCounter({ maxKeys: 2 }, { clock: () => nowSeconds * 1000 });
    await count(counter, check("a", 1, 1200), check("b", 1, 1200));
    nowSeconds = 1260;
    expect(await count(counter, check("a", 1, 1260), check("b", 1, 1260))).toEqual([1, 1]);
    await expect(count(counter, check("c", 1, 1260))).rejects.toMatchObject({ code: "STORE_FULL" });
  });

  it("count() has room again when the windows of another length have ended, be it in the middle of the new key's window", async () => {
    let nowSeconds = 1259;
    const counter = new MemoryCounter({ maxKeys: 2 }, { clock: () => nowSeconds * 1000 });
    await count(counter, check("a", 1, 1200), check("b", 1, 1200));
    await expect(count(counter, check("c", 1, 0, 86_400))).rejects.toMatchObject({ code: "STORE_FULL" });
    nowSeconds = 1260;
    expect(await count(counter, check("c", 1, 0, 86_400))).toEqual([1]);
  });

  it("count() keeps keys apart that are too long to be held as they are", async () => {
    const counter = new MemoryCounter({ maxKeys: 3 });
    const long = "x".repeat(1_000_000);
    expect(await count(counter, check(`a${long}`), check(`b${long}`), check(`a${long}`), check(`a${long}y`))).toEqual([
      1, 1, 2, 1,
    ]);
  });

  it("count() still knows the previous window when the clock steps back by one", async () => {
    const counter = new MemoryCounter({ maxKeys: 10 });
    expect(await count(counter, check("a", 5, 1200))).toEqual([5]);
    expect(await count(counter, check("a", 1, 1260))).toEqual([1]);
    expect(await count(counter, check("a", 1, 1200))).toEqual([6]);
    expect(await count(counter, check("a", 1, 1260))).toEqual([2]);
  });

  it.each([2, 3])(
    "count() loses no count of a later window when the clock steps back by %i and returns",
    async (steps) => {
      const counter = new MemoryCounter({ maxKeys: 100 });
      const windows = Array.from({ length: steps + 1 }, (_, index) => 1200 + 60 * index);
      for (const start of windows) await count(counter, check("a", 5, start));
      // The two latest are kept: calls of the one before may still come.
      const counts = await Promise.all(windows.map((start) => count(counter, check("a", 1, start))));
      expect(counts.flat().slice(-2)).toEqual([6, 6]);
      for (const start of windows)
        expect(await read(counter, check("a", 0, start))).toEqual([start < 1200 + 60 * (steps - 1) ? 1 : 6]);
    },
  );

  it("count() drops the windows of a clock that was far ahead when the table is full", async () => {
    const counter = new MemoryCounter({ maxKeys: 2 }, { clock: () => 1_270_000 });
    await count(counter, check("a", 1, 120_000), check("b", 1, 120_000));
    expect(await count(counter, check("a", 1, 1260), check("b", 1, 1260))).toEqual([1, 1]);
  });

  it("count() keeps four windows while the clock goes back and back", async () => {
    const counter = new MemoryCounter({ maxKeys: 100 });
    for (const start of [600, 540, 480, 420, 360]) await count(counter, check("a", 5, start));
    expect(await read(counter, check("a", 0, 360))).toEqual([5]);
    expect(await read(counter, check("a", 0, 540))).toEqual([5]);
    expect(await read(counter, check("a", 0, 600))).toEqual([0]);
  });

  it("count() keeps the live window in a full table when a late call of an ended window came after it", async () => {
    const counter = new MemoryCounter({ maxKeys: 2 }, { clock: () => 1_270_000 });
    await count(counter, check("a", 5, 1260));
    await count(counter, check("late", 1, 1200));
    expect(await count(counter, check("b", 1, 1260))).toEqual([1]);
    expect(await count(counter, check("a", 1, 1260))).toEqual([6]);
  });

  it("count() stops at the largest exact number", async () => {
    const counter = new MemoryCounter({ maxKeys: 10 });
    await count(counter, check("a", Number.MAX_SAFE_INTEGER));
    expect(await count(counter, check("a", 5))).toEqual([9_007_199_254_740_991]);
  });
});
