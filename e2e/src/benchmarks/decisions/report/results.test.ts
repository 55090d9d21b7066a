import { describe, expect, it } from "vitest";
import { costRatios, isMeasurable, ratioOf } from "./results.ts";
import { results, row } from "./results.suite.ts";

describe("isMeasurable()", () => {
  it.each([
    { ceiling: 15_000, isCounted: true },
    { ceiling: 14_999, isCounted: false },
  ])("is $isCounted when a server makes 10,000 a second and the ceiling is $ceiling", ({ ceiling, isCounted }) => {
    const weir = row("redis/8x64", "weir", { perSecond: 10_000 });
    const run = results(weir, row("redis/8x64", "nothing", { perSecond: ceiling }));
    expect(isMeasurable(run, weir)).toBe(isCounted);
  });

  it.each([
    { ceiling: 250, isCounted: true },
    { ceiling: 251, isCounted: false },
  ])("is $isCounted in an open loop when p99 is 1,000 and that of the ceiling $ceiling", ({ ceiling, isCounted }) => {
    const weir = row("redis/open-5k", "weir", { p99Micros: 1000 });
    const run = results(weir, row("redis/open-5k", "nothing", { p99Micros: ceiling }));
    expect(isMeasurable(run, weir)).toBe(isCounted);
  });

  it("is false when the ceiling of another load is high enough", () => {
    const weir = row("redis/8x64", "weir", { perSecond: 1 });
    expect(isMeasurable(results(weir, row("redis/16x1", "nothing", { perSecond: 1e6 })), weir)).toBe(false);
  });
});

describe("ratioOf()", () => {
  it("is the median of the ratios within the rounds, whatever the machine did in between", () => {
    const weir = row("redis/8x64", "weir", { perSecond: 100 }, { perSecond: 30 }, { perSecond: 200 });
    const other = row("redis/8x64", "envoyproxy/ratelimit", { perSecond: 10 }, { perSecond: 2 }, { perSecond: 25 });
    expect(ratioOf(weir, other, ({ perSecond }) => perSecond)).toEqual({ median: 10, min: 8, max: 15 });
  });
});

describe("costRatios()", () => {
  it("has the rows of Weir that the earlier commit has too", () => {
    const run = results(
      row("redis/8x64", "weir", { cpuMicrosPerDecision: 5 }, { cpuMicrosPerDecision: 6 }),
      row("redis/8x64", "earlier", { cpuMicrosPerDecision: 4 }, { cpuMicrosPerDecision: 4 }),
      row("redis/16x1", "weir", {}),
    );
    expect(costRatios(run)).toEqual([{ name: "redis/8x64/weir", ratio: { median: 1.375, min: 1.25, max: 1.5 } }]);
  });
});
