// Groups of durations: exact in number and sum, close in value.
import { describe, expect, it } from "vitest";
import { DurationGroups } from "./duration-groups.ts";

function drained(groups: DurationGroups): { durationMs: number; times: number }[] {
  const found: { durationMs: number; times: number }[] = [];
  groups.drain((durationMs, times) => found.push({ durationMs, times }));
  return found.sort((a, b) => a.durationMs - b.durationMs);
}

describe("DurationGroups", () => {
  it("drain() visits equal durations once, and forgets them", () => {
    const groups = new DurationGroups();
    for (const durationMs of [0.5, 2, 0.5]) groups.record(durationMs, 1);
    groups.record(2, 10);
    expect(drained(groups)).toEqual([
      { durationMs: 0.5, times: 2 },
      { durationMs: 2, times: 11 },
    ]);
    expect(drained(groups)).toEqual([]);
  });

  it("drain() keeps the sum, the number, and each duration within about a percent", () => {
    const groups = new DurationGroups();
    let [sumMs, times] = [0, 0];
    for (let durationMs = 0.01; durationMs < 10_000; durationMs *= 1.0007) {
      groups.record(durationMs, 1);
      sumMs += durationMs;
      times += 1;
    }
    const found = drained(groups);
    expect(found.length).toBeLessThan(64 * 20 + 2);
    expect(found.reduce((sum, each) => sum + each.times, 0)).toBe(times);
    expect(found.reduce((sum, each) => sum + each.durationMs * each.times, 0)).toBeCloseTo(sumMs, 3);
    const ratios = found.slice(1).map(({ durationMs }, index) => durationMs / (found[index]?.durationMs ?? 1));
    expect(Math.max(...ratios)).toBeLessThan(1.02);
  });

  it("record() has a bounded number of groups for any duration", () => {
    const groups = new DurationGroups();
    for (const durationMs of [0, 1e-9, 1e12, 1e15]) groups.record(durationMs, 1);
    expect(drained(groups)).toEqual([
      { durationMs: 5e-10, times: 2 },
      { durationMs: 5.005e14, times: 2 },
    ]);
  });
});
