// The memory backend against Maps, one per window, with random keys, windows and clocks.
import { Random } from "@weir/harness/processes/random";
import { describe, expect, it } from "vitest";
import type { CountedCheck } from "../counter.ts";
import { check, count, read } from "../counter.suite.ts";
import type { StoreError } from "../store-error.ts";
import { MemoryCounter } from "./memory-counter.ts";

const STEPS = 12_000;
const WINDOW_SECONDS = [1, 60, 3600] as const;
const TEXTS = ["user-", "ä", "敥", "\ud800", "x".repeat(300), ""] as const;

/** Most windows of one length. */
const WINDOWS_MAX = 4;

/** The reference model of the backend: the windows that a clock may come to, of a bounded number of keys. */
class MapModel {
  /** By window length the counts by the start of their window. */
  readonly #windows = new Map<number, Map<number, Map<string, number>>>();
  readonly #maxKeys: number;

  constructor(maxKeys: number) {
    this.#maxKeys = maxKeys;
  }

  /** The count after the check; undefined when there is no room for its key. */
  count({ key, addend, windowStartSeconds, windowSeconds }: CountedCheck, nowSeconds: number): number | undefined {
    const counts = this.#countsOf(windowStartSeconds, windowSeconds);
    const known = counts.get(key);
    if (known === undefined && addend > 0 && !this.#hasRoom(nowSeconds)) return undefined;
    const sum = (known ?? 0) + addend;
    if (sum > 0) counts.set(key, sum);
    return sum;
  }

  #countsOf(start: number, seconds: number): Map<string, number> {
    const windows = this.#windows.getOrInsertComputed(seconds, () => new Map<number, Map<string, number>>());
    const found = windows.get(start);
    if (found !== undefined) return found;
    for (const other of windows.keys()) if (other < start - seconds) windows.delete(other);
    const counts = new Map<string, number>();
    windows.set(start, counts);
    if (windows.size > WINDOWS_MAX) windows.delete(Math.max(...windows.keys()));
    return counts;
  }

  #hasRoom(nowSeconds: number): boolean {
    if (this.#size() < this.#maxKeys) return true;
    for (const [seconds, windows] of this.#windows)
      for (const start of windows.keys())
        if (start > nowSeconds || start + seconds <= nowSeconds) windows.delete(start);
    return this.#size() < this.#maxKeys;
  }

  #size(): number {
    const windows = Array.from(this.#windows.values(), (each) => [...each.values()]).flat();
    return windows.reduce((size, counts) => size + counts.size, 0);
  }
}

describe("new MemoryCounter()", () => {
  it.each([
    { seed: 1, maxKeys: 120 },
    { seed: 2, maxKeys: 200 },
    { seed: 3, maxKeys: 10_000 },
  ])("counts and reads as Maps do with up to $maxKeys random keys", async ({ seed, maxKeys }) => {
    const random = new Random(seed);
    let nowSeconds = 1_000_000;
    const counter = new MemoryCounter(
      { maxKeys },
      { clock: () => nowSeconds * 1000, seed: { low: random.below(2 ** 31), high: random.below(2 ** 31) } },
    );
    const model = new MapModel(maxKeys);
    const seen = { refused: 0, known: 0, previous: 0 };
    for (let step = 0; step < STEPS; step++) {
      if (random.below(20) === 0) nowSeconds += random.below(10);
      if (random.below(300) === 0) nowSeconds -= random.below(400);
      const windowSeconds = random.pick(WINDOW_SECONDS);
      const age = random.below(10) === 0 ? windowSeconds : 0; // A call that began in the window before.
      const start = nowSeconds - (nowSeconds % windowSeconds) - age;
      const asked = check(`${random.pick(TEXTS)}${random.below(40)}`, random.below(4), start, windowSeconds);
      const expected = model.count(asked, nowSeconds);
      if (expected === undefined) {
        seen.refused += 1;
        const code = await count(counter, asked).catch((error: unknown) => (error as StoreError).code);
        if (code !== "STORE_FULL") throw new Error(`Step ${step} must find no room`);
        continue;
      }
      if (expected > asked.addend) seen[age === 0 ? "known" : "previous"] += 1;
      const counts = [await read(counter, asked), await count(counter, asked)];
      if (counts.join() !== `${expected - asked.addend},${expected}`)
        throw new Error(
          `Step ${step} must read ${expected - asked.addend} and count ${expected}, not ${counts.join()}`,
        );
    }
    // A run that never comes to one of these shows nothing about it.
    expect(seen.known).toBeGreaterThan(1000);
    if (maxKeys < 10_000) expect(seen.refused).toBeGreaterThan(100);
    else expect(seen.previous).toBeGreaterThan(100);
  });
});
