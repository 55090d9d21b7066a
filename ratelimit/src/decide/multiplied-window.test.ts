// Windows of several units, which limits of requests have: keys, counts and resets over memory counters.
import { configuration, descriptor, entries, limit } from "@weir/limits/rules/configuration.suite";
import { describe, expect, it } from "vitest";

import { MemoryCounter } from "../counters/memory/memory-counter.ts";
import type { CountBatch } from "../counters/counter.ts";
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

function open() {
  const counter = new KeyKeepingCounter({ maxKeys: 100 });
  const configs = [configuration("domain", [descriptor({ key: "other", rateLimit: limit(10, "minute") })])];
  return { counter, fixture: new DeciderFixture({ configs, counter }) };
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
