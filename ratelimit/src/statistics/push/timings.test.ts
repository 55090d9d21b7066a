// Durations between two flushes.
import { describe, expect, it } from "vitest";
import { StatisticsStore } from "../statistics-store.ts";
import { Timings } from "./timings.ts";

function drain(timings: Timings): string[] {
  const seen: string[] = [];
  timings.drain((name, durationMs, times) => seen.push(`${name} ${durationMs} x${times}`));
  return seen;
}

describe("Timings", () => {
  it("drain() visits each whole millisecond with its number, once", () => {
    const store = new StatisticsStore({ maxDynamicKeys: 1 });
    const timings = new Timings(store);
    for (const durationMs of [0.9, 1.999, 1, 0, 1023.5, 1024, 90_000.7, -0.5]) store.timer("t").record(durationMs);
    store.timer("u").record(3);
    expect(drain(timings)).toEqual(["t 0 x3", "t 1 x2", "t 1023 x1", "t 1024 x1", "t 90000 x1", "u 3 x1"]);
    expect(drain(timings)).toEqual([]);
  });

  it("drain() visits at most 100000 durations of a timer", () => {
    const store = new StatisticsStore({ maxDynamicKeys: 1 });
    const timings = new Timings(store);
    for (let count = 0; count < 100_005; count++) store.timer("t").record(2);
    expect(drain(timings)).toEqual(["t 2 x100000"]);
    store.timer("t").record(2);
    expect(drain(timings)).toEqual(["t 2 x1"]);
  });

  it("close() stops recording", () => {
    const store = new StatisticsStore({ maxDynamicKeys: 1 });
    const timings = new Timings(store);
    timings.close();
    store.timer("t").record(2);
    expect(drain(timings)).toEqual([]);
  });
});
