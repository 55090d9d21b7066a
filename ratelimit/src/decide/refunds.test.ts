// Refunds, hits that a request gives back: the answers, statistics and local cache over memory counters.
// The tests of decisions over Redis and memcached count the same steps there.
import { configuration, descriptor, entries, limit } from "@weir/limits/rules/configuration.suite";
import { describe, expect, it } from "vitest";

import { MemoryCounter } from "../counters/memory/memory-counter.ts";
import { DeciderFixture, type DeciderFixtureOptions } from "./decider.suite.ts";
import { REFUND_STEPS, RESERVE_STEPS } from "./refunds.suite.ts";
import type { RequestDescriptor } from "./request.ts";

function open(further: Partial<DeciderFixtureOptions> = {}) {
  const rules = [
    descriptor({ key: "key", rateLimit: limit(50, "minute") }),
    descriptor({ key: "reserve", rateLimit: limit(1000, "minute") }),
    descriptor({ key: "ten", rateLimit: limit(10, "minute") }),
    descriptor({ key: "shadow", rateLimit: limit(10, "minute"), shadowMode: true }),
    descriptor({ key: "free", rateLimit: { ...limit(0, ""), unlimited: true } }),
  ];
  const counter = new MemoryCounter({ maxKeys: 100 });
  const fixture = new DeciderFixture({ configs: [configuration("domain", rules)], counter, ...further });
  return { fixture, decide: (...descriptors: RequestDescriptor[]) => fixture.decide({ descriptors }).decision };
}

/** A descriptor of the key with so many hits, given back if below 0. */
function hitsOf(key: string, hits: number): RequestDescriptor {
  return { entries: entries(`${key}=x`), hitsAddend: BigInt(Math.abs(hits)), isNegativeHits: hits < 0 };
}

describe("decide() and refunds", () => {
  it("decide() gives hits back, not below 0", () => {
    const { decide, fixture } = open();
    for (const { hits, remaining } of REFUND_STEPS)
      expect(decide(hitsOf("key", hits)), String(hits)).toMatchObject({
        overallCode: 1,
        statuses: [{ code: 1, limitRemaining: remaining, currentLimit: { requestsPerUnit: 50, unit: 2 } }],
      });
    expect(fixture.counted()).toEqual({
      "rate_limit.domain.key.total_hits": 6,
      "rate_limit.domain.key.within_limit": 6,
      "rate_limit.domain.key.total_negative_hits": 104,
    });
  });

  it("decide() settles a reservation in one call, the charge first", () => {
    const { decide } = open();
    const remaining = RESERVE_STEPS.map((call) =>
      decide(...call.map(({ hits }) => hitsOf("reserve", hits))).statuses.map(({ limitRemaining }) => limitRemaining),
    );
    expect(remaining).toEqual(RESERVE_STEPS.map((call) => call.map((step) => step.remaining)));
  });

  it("decide() answers OK to a refund of a counter that stays over its limit", () => {
    const { decide, fixture } = open();
    expect(decide(hitsOf("ten", 15)).overallCode).toBe(2);
    expect(decide(hitsOf("ten", -2))).toMatchObject({ overallCode: 1, statuses: [{ limitRemaining: 0 }] });
    expect(decide(hitsOf("ten", -4))).toMatchObject({ overallCode: 1, statuses: [{ limitRemaining: 1 }] });
    expect(decide(hitsOf("ten", 1))).toMatchObject({ overallCode: 1, statuses: [{ limitRemaining: 0 }] });
    expect(fixture.counted()).toMatchObject({
      "rate_limit.domain.ten.total_hits": 16,
      "rate_limit.domain.ten.over_limit": 5,
      "rate_limit.domain.ten.total_negative_hits": 6,
    });
  });

  it("decide() counts the refunds of rules in shadow mode and without a limit, too", () => {
    const { decide, fixture } = open();
    decide(hitsOf("shadow", 12), hitsOf("shadow", -3), hitsOf("free", -7));
    expect(decide(hitsOf("shadow", 1)).statuses).toMatchObject([{ code: 1, limitRemaining: 0 }]);
    expect(fixture.counted()).toEqual({
      "rate_limit.domain.shadow.total_hits": 13,
      "rate_limit.domain.shadow.over_limit": 2,
      "rate_limit.domain.shadow.near_limit": 3,
      "rate_limit.domain.shadow.within_limit": 1,
      "rate_limit.domain.shadow.shadow_mode": 2,
      "rate_limit.domain.shadow.total_negative_hits": 3,
      "rate_limit.domain.free.total_negative_hits": 7,
    });
  });

  it("decide() forgets what the local cache knows of a key that gets hits back, and caches it for 1 s from then on", () => {
    const { decide, fixture } = open({ localCacheBytes: 100_000 });
    const cached = () => fixture.counted()["rate_limit.domain.ten.over_limit_with_local_cache"] ?? 0;
    decide(hitsOf("ten", 11));
    decide(hitsOf("ten", 1));
    expect(cached()).toBe(1);
    decide(hitsOf("ten", -2));
    expect(decide(hitsOf("ten", 1)).overallCode).toBe(1);
    expect(decide(hitsOf("ten", 1)).overallCode).toBe(2);
    expect(decide(hitsOf("ten", 1)).overallCode).toBe(2);
    expect(cached()).toBe(2);
    fixture.nowMs += 1000;
    expect(decide(hitsOf("ten", 1)).overallCode).toBe(2);
    expect(cached()).toBe(2);
  });

  it("decide() gives hits back when increments are withheld because another limit is over", () => {
    const { decide } = open({ options: { stopIncrementsWhenOver: true }, localCacheBytes: 100_000 });
    decide(hitsOf("key", 5));
    decide(hitsOf("ten", 11));
    expect(decide(hitsOf("ten", 1), hitsOf("key", -2), hitsOf("key", 1)).overallCode).toBe(2);
    expect(decide(hitsOf("key", 0)).statuses).toMatchObject([{ limitRemaining: 47 }]);
    const { decide: reading } = open({ options: { stopIncrementsWhenOver: true } });
    reading(hitsOf("key", 5));
    reading(hitsOf("ten", 11));
    expect(reading(hitsOf("ten", 1), hitsOf("key", -2), hitsOf("key", 1)).overallCode).toBe(2);
    expect(reading(hitsOf("key", 0)).statuses).toMatchObject([{ limitRemaining: 47 }]);
  });
});
