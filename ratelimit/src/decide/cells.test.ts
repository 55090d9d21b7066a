// Limits beyond plain counts in decisions: statistics, headers, metadata, shadow and quota mode, replaced rules, the
// local cache and refunds that count nothing. Memory counters; the answers themselves are in limit-cases.test.ts.
import type { DescriptorModel } from "@weir/limits/model/model";
import { configuration, descriptor, entries, limit } from "@weir/limits/rules/configuration.suite";
import { describe, expect, it } from "vitest";
import { MemoryCounter } from "../counters/memory/memory-counter.ts";
import { DeciderFixture, type DeciderFixtureOptions } from "./decider.suite.ts";
import type { Decision } from "./decision.ts";
import type { RequestDescriptor } from "./request.ts";

const bucket = { algorithm: "token_bucket" } as const;
const LIST = [
  limit(5, "second", { name: "burst" }),
  limit(8, "minute", { name: "steady", algorithm: "sliding_window" }),
];

function open(rules: readonly DescriptorModel[], further: Partial<DeciderFixtureOptions> = {}) {
  const counter = new MemoryCounter({ maxKeys: 100 });
  const fixture = new DeciderFixture({
    configs: [configuration("domain", rules)],
    counter,
    nowSeconds: 60,
    ...further,
  });
  const decide = (...descriptors: readonly RequestDescriptor[]): Decision => fixture.decide({ descriptors }).decision;
  return { fixture, decide };
}

/** A descriptor of the key with so many hits, given back if below 0. */
function hitsOf(key: string, hits: number): RequestDescriptor {
  return { entries: entries(`${key}=x`), hitsAddend: BigInt(Math.abs(hits)), isNegativeHits: hits < 0 };
}

describe("decide() in cells", () => {
  it("decide() counts each limit of a list by its name, and over_limit only where there is no room", () => {
    const { decide, fixture } = open([descriptor({ key: "list", rateLimits: LIST })]);
    expect(decide(hitsOf("list", 5)).statuses).toMatchObject([
      { code: 1, limitRemaining: 0, currentLimit: { name: "burst" } },
    ]);
    expect(decide(hitsOf("list", 1)).statuses).toMatchObject([{ code: 2, currentLimit: { name: "burst", unit: 1 } }]);
    fixture.nowMs += 1000;
    expect(decide(hitsOf("list", 4)).statuses).toMatchObject([
      { code: 2, limitRemaining: 3, currentLimit: { name: "steady", requestsPerUnit: 8, unit: 2 } },
    ]);
    expect(fixture.counted()).toEqual({
      "rate_limit.domain.list.burst.total_hits": 10,
      "rate_limit.domain.list.burst.within_limit": 5,
      "rate_limit.domain.list.burst.near_limit": 1,
      "rate_limit.domain.list.burst.over_limit": 1,
      "rate_limit.domain.list.steady.total_hits": 10,
      "rate_limit.domain.list.steady.within_limit": 5,
      "rate_limit.domain.list.steady.over_limit": 4,
      rejected_calls: 2,
    });
  });

  it("decide() counts a list with values of requests under the names of its limits, too", () => {
    const { decide, fixture } = open([descriptor({ key: "list", rateLimits: LIST, detailedMetric: true })]);
    decide(hitsOf("list", 1));
    expect(Object.keys(fixture.counted())).toEqual([
      "rate_limit.domain.list_x.burst.total_hits",
      "rate_limit.domain.list_x.burst.within_limit",
      "rate_limit.domain.list_x.steady.total_hits",
      "rate_limit.domain.list_x.steady.within_limit",
    ]);
  });

  it("decide() counts what it rejects where the limit wants that: the part above the limit is over it", () => {
    const rule = descriptor({ key: "tokens", rateLimit: limit(10, "minute", { ...bucket, countRejectedHits: true }) });
    const { decide, fixture } = open([rule]);
    expect(decide(hitsOf("tokens", 7)).overallCode).toBe(1);
    expect(decide(hitsOf("tokens", 5)).statuses).toMatchObject([
      { code: 2, limitRemaining: 0, durationUntilResetSeconds: 42 },
    ]);
    expect(fixture.counted()).toEqual({
      "rate_limit.domain.tokens.total_hits": 12,
      "rate_limit.domain.tokens.within_limit": 7,
      "rate_limit.domain.tokens.over_limit": 2,
      "rate_limit.domain.tokens.near_limit": 2,
      rejected_calls: 1,
    });
  });

  it("decide() lets a rule in shadow mode pass, with nothing remaining", () => {
    const { decide, fixture } = open([
      descriptor({ key: "shadow", rateLimit: limit(1, "minute", bucket), shadowMode: true }),
    ]);
    decide(hitsOf("shadow", 1));
    expect(decide(hitsOf("shadow", 1))).toMatchObject({ overallCode: 1, statuses: [{ code: 1, limitRemaining: 0 }] });
    expect(fixture.counted()).toMatchObject({
      "rate_limit.domain.shadow.shadow_mode": 1,
      "rate_limit.domain.shadow.over_limit": 1,
    });
  });

  it("decide() treats cells as quotas, in headers and as replaced rules like other limits", () => {
    const rules = [
      descriptor({ key: "quota", rateLimit: limit(1, "minute", bucket), quotaMode: true }),
      descriptor({ key: "list", rateLimits: LIST }),
      descriptor({ key: "plain", rateLimit: limit(9, "minute", { replaces: [{ name: "steady" }] }) }),
    ];
    const responseHeaders = { limit: "l", remaining: "r", reset: "t" };
    const { decide } = open(rules, { options: { responseHeaders, ruleHeader: "rule" } });
    decide(hitsOf("quota", 1));
    expect(decide(hitsOf("quota", 1))).toMatchObject({
      overallCode: 2,
      headers: [
        { key: "l", value: "1" },
        { key: "r", value: "0" },
        { key: "t", value: "60" },
        { key: "rule", value: "domain.quota" },
      ],
    });
    expect(decide(hitsOf("list", 9), hitsOf("plain", 1)).statuses).toMatchObject([
      { code: 1, currentLimit: undefined },
      { code: 1, limitRemaining: 8 },
    ]);
  });

  it("decide() asks the store for a key only when a hit can pass again", () => {
    const rules = [
      descriptor({ key: "one", rateLimit: limit(10, "minute", bucket) }),
      descriptor({ key: "list", rateLimits: LIST }),
    ];
    const { decide, fixture } = open(rules, { localCacheBytes: 100_000 });
    const cached = (): number => fixture.counted()["rate_limit.domain.one.over_limit_with_local_cache"] ?? 0;
    decide(hitsOf("one", 10));
    expect(decide(hitsOf("one", 1)).statuses).toMatchObject([{ code: 2, durationUntilResetSeconds: 6 }]);
    expect(decide(hitsOf("one", 1)).statuses).toMatchObject([{ code: 2, durationUntilResetSeconds: 6 }]);
    expect(cached()).toBe(1);
    fixture.nowMs += 5000;
    expect(decide(hitsOf("one", 1)).statuses).toMatchObject([{ code: 2, durationUntilResetSeconds: 1 }]);
    expect(cached()).toBe(2);
    fixture.nowMs += 1000;
    expect(decide(hitsOf("one", 1)).overallCode).toBe(1);
    // Several hits do not fit where one does: that is not kept.
    fixture.nowMs += 6000;
    expect(decide(hitsOf("one", 3)).overallCode).toBe(2);
    expect(decide(hitsOf("one", 1)).overallCode).toBe(1);
  });

  it("decide() asks the store each time where rejected hits count", () => {
    const rule = descriptor({ key: "tokens", rateLimit: limit(10, "minute", { ...bucket, countRejectedHits: true }) });
    const { decide, fixture } = open([rule], { localCacheBytes: 100_000 });
    decide(hitsOf("tokens", 10));
    for (const reset of [12, 18])
      expect(decide(hitsOf("tokens", 1)).statuses).toMatchObject([{ code: 2, durationUntilResetSeconds: reset }]);
    expect(fixture.counted()["rate_limit.domain.tokens.over_limit_with_local_cache"]).toBeUndefined();
  });

  it("decide() counts no refund of a limit that does not count what it rejects, and says so", () => {
    const { decide, fixture } = open([descriptor({ key: "one", rateLimit: limit(10, "minute", bucket) })]);
    decide(hitsOf("one", 10));
    expect(decide(hitsOf("one", -4))).toMatchObject({ overallCode: 1, statuses: [{ code: 1, limitRemaining: 0 }] });
    expect(fixture.counted()).toMatchObject({ "unsupported_field.is_negative_hits": 1 });
    const { fixture: strict } = open([descriptor({ key: "one", rateLimit: limit(10, "minute", bucket) })], {
      options: { unsupportedFields: "error" },
    });
    expect(strict.decide({ descriptors: [hitsOf("one", -1)] }).error.message).toBe(
      "a rate limit must count rejected hits (count_rejected_hits) for hits to be given back",
    );
  });

  it("decide() withholds the hits of a cell when another limit of the call is over", () => {
    const rules = [
      descriptor({ key: "one", rateLimit: limit(10, "minute", bucket) }),
      descriptor({ key: "plain", rateLimit: limit(1, "minute") }),
    ];
    const { decide } = open(rules, { options: { stopIncrementsWhenOver: true } });
    decide(hitsOf("plain", 1));
    expect(decide(hitsOf("one", 4), hitsOf("plain", 1)).overallCode).toBe(2);
    expect(decide(hitsOf("one", 0)).statuses).toMatchObject([{ code: 1, limitRemaining: 10 }]);
    expect(decide(hitsOf("one", 11), hitsOf("plain", 0)).overallCode).toBe(2);
  });

  it("decide() counts in windows of the calendar, which the key begins", () => {
    const rule = descriptor({ key: "month", rateLimit: limit(2, "month", { timeZone: "Europe/Zurich" }) });
    const { decide, fixture } = open([rule], { nowSeconds: 1_795_446_000 });
    expect(decide(hitsOf("month", 1)).statuses).toMatchObject([
      { code: 1, limitRemaining: 1, durationUntilResetSeconds: 633_600, currentLimit: { unit: 5 } },
    ]);
    fixture.nowMs += 633_599_000;
    expect(decide(hitsOf("month", 2)).statuses).toMatchObject([{ code: 2, durationUntilResetSeconds: 1 }]);
    fixture.nowMs += 1000;
    expect(decide(hitsOf("month", 2)).overallCode).toBe(1);
  });
});
