// Windows of several units, which limits of requests have, and of calendar months: keys, counts and
// resets over memory counters.
import { configuration, descriptor, entries, limit } from "@weir/limits/rules/configuration.suite";
import { describe, expect, it } from "vitest";

import { MemoryCounter } from "../counters/memory/memory-counter.ts";
import type { CountBatch } from "../counters/counter.ts";
import type { DecideOptions } from "./decider.ts";
import { DeciderFixture } from "./decider.suite.ts";

/** 2026-11-23 15:00:00 UTC. */
const T0_MS = 1_795_446_000_000;

const MINUTE = 2;
const SECOND = 1;
const WEEK = 7;

interface Step {
  readonly atSeconds: number;
  readonly hits: number;
  readonly code: number;
  readonly remaining: number;
  readonly reset: number;
  readonly start: number;
}

/** A memory counter that keeps the keys. */
class KeyKeepingCounter extends MemoryCounter {
  keys: string[] = [];

  override count(batch: CountBatch): void {
    this.keys = batch.checks.map(({ key }) => key);
    super.count(batch);
  }
}

function open(options: Partial<DecideOptions> = {}) {
  const counter = new KeyKeepingCounter({ maxKeys: 100 });
  const configs = [configuration("domain", [descriptor({ key: "month", rateLimit: limit(1, "month") })])];
  return { counter, fixture: new DeciderFixture({ configs, counter, options }) };
}

describe("decide() and a unit_multiplier", () => {
  it.each<[string, { requestsPerUnit: number; unit: number; unitMultiplier?: number }, Step[]]>([
    [
      "5 per 5 minutes",
      { requestsPerUnit: 5, unit: MINUTE, unitMultiplier: 5 },
      [
        { atSeconds: 0, hits: 1, code: 1, remaining: 4, reset: 300, start: 1_795_446_000 },
        { atSeconds: 299, hits: 4, code: 1, remaining: 0, reset: 1, start: 1_795_446_000 },
        { atSeconds: 299.9, hits: 1, code: 2, remaining: 0, reset: 1, start: 1_795_446_000 },
        { atSeconds: 300, hits: 1, code: 1, remaining: 4, reset: 300, start: 1_795_446_300 },
        { atSeconds: 300, hits: 7, code: 2, remaining: 0, reset: 300, start: 1_795_446_300 },
        { atSeconds: 302, hits: 0, code: 2, remaining: 0, reset: 298, start: 1_795_446_300 },
      ],
    ],
    [
      "60 per 30 seconds",
      { requestsPerUnit: 60, unit: SECOND, unitMultiplier: 30 },
      [
        { atSeconds: 44, hits: 1, code: 1, remaining: 59, reset: 16, start: 1_795_446_030 },
        { atSeconds: 60, hits: 61, code: 2, remaining: 0, reset: 30, start: 1_795_446_060 },
      ],
    ],
    [
      "5 per 2 weeks",
      { requestsPerUnit: 5, unit: WEEK, unitMultiplier: 2 },
      [{ atSeconds: 0, hits: 1, code: 1, remaining: 4, reset: 810_000, start: 1_795_046_400 }],
    ],
    [
      "5 per minute without a multiplier",
      { requestsPerUnit: 5, unit: MINUTE },
      [{ atSeconds: 10, hits: 1, code: 1, remaining: 4, reset: 50, start: 1_795_446_000 }],
    ],
  ])("decide() counts %s", (_name, override, steps) => {
    const { fixture, counter } = open();
    for (const { atSeconds, hits, code, remaining, reset, start } of steps) {
      fixture.nowMs = T0_MS + atSeconds * 1000;
      const { decision } = fixture.decide({
        descriptors: [{ entries: entries("key=x"), limit: override, hitsAddend: hits }],
      });
      expect(decision.statuses, String(atSeconds)).toEqual([
        expect.objectContaining({
          code,
          currentLimit: { ...override, name: "" },
          limitRemaining: remaining,
          durationUntilResetSeconds: reset,
        }),
      ]);
      expect(counter.keys).toEqual([`domain_key_x_${start}`]);
    }
  });
});

describe("decide() and months", () => {
  it.each([
    { calendarMonths: true, start: 1_793_491_200, reset: 637_200 },
    { calendarMonths: false, start: 1_793_664_000, reset: 810_000 },
  ])("decide() counts from $start when calendarMonths is $calendarMonths", ({ calendarMonths, start, reset }) => {
    const { fixture, counter } = open({ calendarMonths });
    fixture.nowMs = T0_MS;
    for (const override of [undefined, { requestsPerUnit: 1, unit: 5 }]) {
      const { decision } = fixture.decide({ descriptors: [{ entries: entries("month=x"), limit: override }] });
      expect(decision.statuses).toMatchObject([{ durationUntilResetSeconds: reset }]);
      expect(decision.statuses[0]?.currentLimit).toEqual({ requestsPerUnit: 1, unit: 5, name: "" });
      expect(counter.keys).toEqual([`domain_month_x_${start}`]);
    }
  });

  it("decide() counts anew on the first of the next calendar month, and as before in several months", () => {
    const { fixture, counter } = open({ calendarMonths: true });
    const decide = (unitMultiplier?: number) =>
      fixture.decide({
        descriptors: [
          {
            entries: entries("month=x"),
            ...(unitMultiplier && { limit: { requestsPerUnit: 1, unit: 5, unitMultiplier } }),
          },
        ],
      }).decision;
    fixture.nowMs = T0_MS + 637_199_999;
    expect([decide().overallCode, decide()]).toMatchObject([
      1,
      { overallCode: 2, statuses: [{ durationUntilResetSeconds: 1 }] },
    ]);
    fixture.nowMs += 1;
    expect(decide()).toMatchObject({ overallCode: 1, statuses: [{ durationUntilResetSeconds: 31 * 86_400 }] });
    expect(counter.keys).toEqual(["domain_month_x_1796083200"]);
    expect(decide().overallCode).toBe(2);
    expect(decide(2).statuses).toMatchObject([{ durationUntilResetSeconds: 2_764_800 }]);
    expect(counter.keys).toEqual(["domain_month_x_1793664000"]);
  });
});
