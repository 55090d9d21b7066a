// Durations that wait to be sent.
import { describe, expect, it } from "vitest";
import { createStatisticsStore } from "../statistics-store.ts";
import { openTimings, type Timings } from "./timings.ts";

function drain(timings: Timings): string[] {
  const told: string[] = [];
  timings.drain((name, durationMs, times) => told.push(`${name} ${durationMs} x${times}`));
  return told;
}

describe("openTimings()", () => {
  it("drain() tells whole milliseconds with how often they were recorded, once", () => {
    const store = createStatisticsStore({ maxDynamicKeys: 1 });
    const timings = openTimings(store);
    for (const durationMs of [0.9, 1.999, 1, 0, 1023.5, 1024, 90_000.7, -0.5]) store.timer("t").record(durationMs);
    store.timer("u").record(3);
    expect(drain(timings)).toEqual(["t 0 x3", "t 1 x2", "t 1023 x1", "t 1024 x1", "t 90000 x1", "u 3 x1"]);
    expect(drain(timings)).toEqual([]);
  });

  it("drain() tells at most 100000 durations of a timer", () => {
    const store = createStatisticsStore({ maxDynamicKeys: 1 });
    const timings = openTimings(store);
    for (let count = 0; count < 100_005; count++) store.timer("t").record(2);
    expect(drain(timings)).toEqual(["t 2 x100000"]);
    store.timer("t").record(2);
    expect(drain(timings)).toEqual(["t 2 x1"]);
  });

  it("close() ends it", () => {
    const store = createStatisticsStore({ maxDynamicKeys: 1 });
    const timings = openTimings(store);
    timings.close();
    store.timer("t").record(2);
    expect(drain(timings)).toEqual([]);
  });
});
