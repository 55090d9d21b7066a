// Tests which requests pass in virtual time, with each algorithm.
import { attachKeys, configuration, descriptor, limit } from "@weir/limits/rules/configuration.suite";
import { compileRules } from "@weir/limits/rules/compile";
import type { RateLimitModel } from "@weir/limits/model/model";
import { describe, expect, it } from "vitest";

import { formatElapsed } from "./elapsed.ts";
import { type Load, mostWithin, simulate, type Simulation } from "./simulate.ts";
import { counterOf } from "./simulated-limit.ts";

const LOAD: Load = {
  startMs: Date.parse("2026-01-01T00:00:00Z"),
  durationMs: 10_000,
  burst: 0,
  rate: { count: 1, unit: "SECOND" },
  hits: 1,
};

/** A time just before the edge of a window of a minute. */
const BEFORE_EDGE_MS = LOAD.startMs + 59_000;

function play(load: Partial<Load>, ...rateLimits: readonly RateLimitModel[]): Simulation {
  const rules = compileRules([configuration("a", [descriptor({ key: "k", rateLimits })])], attachKeys);
  const [compiled] = rules.domain("a")?.rules ?? [];
  if (compiled === undefined) throw new Error("The rule has no limit");
  const whole = { ...LOAD, ...load };
  return simulate(whole, counterOf(compiled, whole.hits));
}

describe("simulate()", () => {
  it("plays the burst and the rate from the start on, in parts of a second or of a tenth", () => {
    const played: number[] = [];
    const passes = (nowMs: number): boolean => played.push(nowMs - LOAD.startMs) % 2 === 1;
    expect(simulate({ ...LOAD, durationMs: 2500, burst: 2, rate: { count: 2, unit: "SECOND" } }, passes)).toEqual({
      parts: [
        { fromMs: 0, toMs: 1000, passed: 2, rejected: 2 },
        { fromMs: 1000, toMs: 2000, passed: 1, rejected: 1 },
        { fromMs: 2000, toMs: 2500, passed: 1, rejected: 0 },
      ],
      passed: 4,
      rejected: 3,
      passedMs: [0, 0, 1000, 2000],
    });
    expect(played).toEqual([0, 0, 0, 500, 1000, 1500, 2000]);
    const { parts } = simulate({ ...LOAD, durationMs: 12_345, rate: { count: 7, unit: "MINUTE" } }, () => true);
    expect(parts.map(({ toMs }) => toMs)).toEqual([1234, 2469, 3703, 4938, 6172, 7407, 8641, 9876, 11_110, 12_345]);
    expect(parts.map(({ passed }) => passed)).toEqual([1, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
  });

  it.each<{ name: string; rateLimit: Partial<RateLimitModel>; passed: number }>([
    { name: "a fixed window", rateLimit: {}, passed: 200 },
    { name: "a sliding window", rateLimit: { algorithm: "sliding_window" }, passed: 101 },
    { name: "a bucket", rateLimit: { algorithm: "token_bucket" }, passed: 103 },
    { name: "a bucket of 20", rateLimit: { algorithm: "token_bucket", burst: 20 }, passed: 23 },
  ])("$name of 100 per minute passes $passed of 2000 in two seconds around its edge", ({ rateLimit, passed }) => {
    const load = { startMs: BEFORE_EDGE_MS, durationMs: 2000, rate: { count: 1000, unit: "SECOND" } } as const;
    const result = play(load, limit(100, "minute", rateLimit));
    expect([result.passed, result.rejected]).toEqual([passed, 2000 - passed]);
    expect(mostWithin(result.passedMs, 60_000)).toBe(passed);
  });

  it("passes what fits into all limits of a list", () => {
    const limits = [
      limit(5, "second", { name: "burst" }),
      limit(60, "second", { name: "half", unitMultiplier: 30 }),
      limit(100, "minute", { name: "five", unitMultiplier: 5 }),
    ];
    const { parts, passedMs } = play({ durationMs: 300_000, rate: { count: 20, unit: "SECOND" } }, ...limits);
    expect(parts.map(({ passed }) => passed)).toEqual([60, 40, 0, 0, 0, 0, 0, 0, 0, 0]);
    expect([1000, 30_000, 300_000].map((windowMs) => mostWithin(passedMs, windowMs))).toEqual([5, 60, 100]);
  });

  it("plays the days of a time zone", () => {
    const { passedMs } = play(
      { startMs: Date.parse("2026-03-29T00:00:00Z"), durationMs: 90_000_000, rate: { count: 1, unit: "HOUR" } },
      limit(1, "day", { timeZone: "Europe/Zurich" }),
    );
    // The 29th has begun an hour before, and ends at 22:00.
    expect(passedMs).toEqual([0, 79_200_000]);
  });

  it("passes whole requests of several hits", () => {
    const result = play({ hits: 4, burst: 3 }, limit(10, "hour", { algorithm: "token_bucket" }));
    expect([result.passed, result.rejected]).toEqual([2, 11]);
  });
});

describe("mostWithin()", () => {
  it.each([
    { passedMs: [], spanMs: 1000, most: 0 },
    { passedMs: [0, 0, 999, 1000], spanMs: 1000, most: 3 },
    { passedMs: [0, 5000, 5400, 5999, 6000], spanMs: 1000, most: 3 },
  ])("gives $most of $passedMs in $spanMs ms", ({ passedMs, spanMs, most }) => {
    expect(mostWithin(passedMs, spanMs)).toBe(most);
  });
});

describe("formatElapsed()", () => {
  it.each([
    { ms: 0, text: "0s" },
    { ms: 9900, text: "9.9s" },
    { ms: 60_000, text: "1m" },
    { ms: 90_001, text: "1m30.001s" },
    { ms: 3_600_000, text: "1h" },
    { ms: 129_605_000, text: "36h5s" },
  ])("gives $text for $ms", ({ ms, text }) => {
    expect(formatElapsed(ms)).toBe(text);
  });
});
