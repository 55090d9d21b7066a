// Overall codes, shadow and quota mode, response headers and dynamic metadata, by the conformance
// cases.
import type { DescriptorModel } from "@weir/limits/model/model";
import { describe, expect, it } from "vitest";
import { configuration, descriptor, entries, limit, unlimited } from "@weir/limits/rules/configuration.suite";
import type { DecideOptions } from "./decider.ts";
import { ReplyingCounter, DeciderFixture } from "./decider.suite.ts";

/** Replies of the store for a limit of 10. */
const OVER = 11;
const FINE = 1;

/** Decides a call with one descriptor per rule field, all 10 per minute, and these replies. */
function decideRules(
  rules: readonly Partial<DescriptorModel>[],
  replies: readonly number[],
  options: Partial<DecideOptions> = {},
  nowSeconds = 2222,
) {
  const descriptors = rules.map((fields, index) =>
    descriptor({ key: `k${index}`, rateLimit: limit(10, "minute"), ...fields }),
  );
  const fixture = new DeciderFixture({
    configs: [configuration("domain", descriptors)],
    counter: new ReplyingCounter(replies),
    options,
    nowSeconds,
  });
  const { decision } = fixture.decide({ descriptors: rules.map((_, index) => ({ entries: entries(`k${index}=x`) })) });
  return {
    decision,
    codes: decision.statuses.map(({ code }) => code),
    shadowed: fixture.counted()["global_shadow_mode"] ?? 0,
    counted: fixture.counted(),
  };
}

describe("decide() overall code", () => {
  const quota = { quotaMode: true };
  const shadow = { shadowMode: true };
  const none = { key: "unmatched" };
  it.each([
    { case: 145, rules: [{}, {}], replies: [OVER, FINE], options: {}, overall: 2, codes: [2, 1], shadowed: 0 },
    { case: 145, rules: [{}, {}], replies: [FINE, OVER], options: {}, overall: 2, codes: [1, 2], shadowed: 0 },
    {
      case: 147,
      rules: [{}, {}],
      replies: [OVER, FINE],
      options: { shadowMode: true },
      overall: 1,
      codes: [2, 1],
      shadowed: 1,
    },
    {
      case: 147,
      rules: [{}, {}],
      replies: [FINE, FINE],
      options: { shadowMode: true },
      overall: 1,
      codes: [1, 1],
      shadowed: 0,
    },
    { case: 148, rules: [shadow, shadow], replies: [OVER, OVER], options: {}, overall: 1, codes: [1, 1], shadowed: 0 },
    {
      case: 148,
      rules: [shadow, shadow],
      replies: [OVER, OVER],
      options: { shadowMode: true },
      overall: 1,
      codes: [1, 1],
      shadowed: 0,
    },
    { case: 149, rules: [shadow, {}], replies: [OVER, OVER], options: {}, overall: 2, codes: [1, 2], shadowed: 0 },
    {
      case: 158,
      rules: [{}, {}],
      replies: [OVER, OVER],
      options: { quotaMode: true },
      overall: 2,
      codes: [2, 2],
      shadowed: 0,
    },
    {
      case: 158,
      rules: [{}, {}],
      replies: [OVER, FINE],
      options: { quotaMode: true },
      overall: 1,
      codes: [2, 1],
      shadowed: 0,
    },
    {
      case: 158,
      rules: [{}, none],
      replies: [OVER],
      options: { quotaMode: true },
      overall: 1,
      codes: [2, 1],
      shadowed: 0,
    },
    {
      case: 158,
      rules: [{}, { rateLimit: unlimited() }],
      replies: [OVER],
      options: { quotaMode: true },
      overall: 2,
      codes: [2, 1],
      shadowed: 0,
    },
    { case: 159, rules: [{}, quota], replies: [OVER, FINE], options: {}, overall: 2, codes: [2, 1], shadowed: 0 },
    { case: 160, rules: [{}, quota], replies: [FINE, OVER], options: {}, overall: 2, codes: [1, 2], shadowed: 0 },
    { case: 161, rules: [{}, quota], replies: [FINE, FINE], options: {}, overall: 1, codes: [1, 1], shadowed: 0 },
    { case: 162, rules: [quota, quota], replies: [OVER, OVER], options: {}, overall: 2, codes: [2, 2], shadowed: 0 },
    { case: 162, rules: [quota, quota], replies: [OVER, FINE], options: {}, overall: 1, codes: [2, 1], shadowed: 0 },
    {
      case: 163,
      rules: [quota, quota],
      replies: [OVER, OVER],
      options: { shadowMode: true },
      overall: 1,
      codes: [2, 2],
      shadowed: 1,
    },
    {
      case: 163,
      rules: [{}, quota],
      replies: [OVER, OVER],
      options: { shadowMode: true },
      overall: 1,
      codes: [2, 2],
      shadowed: 1,
    },
  ])(
    "case $case: decide() answers $overall when statuses are $codes with $rules and $options",
    ({ rules, replies, options, overall, codes, shadowed }) => {
      const result = decideRules(rules, replies, options);
      expect(result.decision.overallCode).toBe(overall);
      expect(result.codes).toEqual(codes);
      expect(result.shadowed).toBe(shadowed);
    },
  );

  it.each([
    { addend: 1, reply: 11, shadow: 1, over: 1 },
    { addend: 5, reply: 12, shadow: 2, over: 2 },
    { addend: 5, reply: 20, shadow: 5, over: 5 },
  ])(
    "decide() counts $shadow shadowed hits when $addend hits make $reply of 10",
    ({ addend, reply, shadow: shadowHits, over }) => {
      const fixture = new DeciderFixture({
        configs: [
          configuration("domain", [descriptor({ key: "k", rateLimit: limit(10, "minute"), shadowMode: true })]),
        ],
        counter: new ReplyingCounter([reply]),
      });
      const { decision } = fixture.decide({ descriptors: [{ entries: entries("k=x") }], hitsAddend: addend });
      expect(decision.statuses[0]).toMatchObject({ code: 1, limitRemaining: 0, currentLimit: { requestsPerUnit: 10 } });
      expect(fixture.counted()).toMatchObject({
        "rate_limit.domain.k.shadow_mode": shadowHits,
        "rate_limit.domain.k.over_limit": over,
      });
    },
  );
});

describe("decide() response headers", () => {
  const responseHeaders = { limit: "RateLimit-Limit", remaining: "RateLimit-Remaining", reset: "RateLimit-Reset" };
  const header = (limitValue: string, remaining: string, reset: string) => [
    { key: "RateLimit-Limit", value: limitValue },
    { key: "RateLimit-Remaining", value: remaining },
    { key: "RateLimit-Reset", value: reset },
  ];

  it("case 150: decide() adds limit, remaining and reset when a limit is over", () => {
    expect(decideRules([{}, { key: "unmatched" }], [OVER], { responseHeaders }).decision.headers).toEqual(
      header("10", "0", "58"),
    );
  });

  it("case 150: decide() uses the names of the settings", () => {
    const names = { limit: "X-L", remaining: "X-Rem", reset: "X-Res" };
    expect(decideRules([{}], [OVER], { responseHeaders: names }).decision.headers?.map(({ key }) => key)).toEqual([
      "X-L",
      "X-Rem",
      "X-Res",
    ]);
  });

  it("case 151: decide() adds the values of the descriptor with the least remaining", () => {
    const second = { rateLimit: limit(6, "hour") };
    expect(decideRules([{}, second], [3, 3], { responseHeaders }).decision.headers).toEqual(header("6", "3", "1378"));
  });

  it("case 151: decide() adds the values of the first of equals, and of the last rejection", () => {
    const second = { rateLimit: limit(20, "minute") };
    expect(decideRules([{}, second], [5, 15], { responseHeaders }).decision.headers).toEqual(header("10", "5", "58"));
    expect(decideRules([{}, second], [11, 21], { responseHeaders }).decision.headers).toEqual(header("20", "0", "58"));
  });

  it("case 151: decide() adds no headers when no descriptor has a limit", () => {
    expect(decideRules([{ key: "unmatched" }], [], { responseHeaders }).decision.headers).toBeUndefined();
  });

  it("case 151: decide() keeps the values of a rejected descriptor when global shadow mode lets the call pass", () => {
    const { decision } = decideRules([{}], [OVER], { responseHeaders, shadowMode: true });
    expect(decision).toMatchObject({ overallCode: 1, headers: header("10", "0", "58") });
  });

  it("decide() names the configured path of the first rule that rejected, percent-encoded and without request values", () => {
    const rules = [{}, { key: "naïve key", value: "100%*", detailedMetric: true, rateLimit: limit(10, "minute") }];
    const fixture = new DeciderFixture({
      configs: [
        configuration(
          "domain",
          rules.map((fields) => descriptor({ key: "k0", rateLimit: limit(10, "minute"), ...fields })),
        ),
      ],
      counter: new ReplyingCounter([FINE, OVER, FINE]),
      options: { ruleHeader: "X-Rule", dynamicMetadata: true },
    });
    const { decision } = fixture.decide({
      descriptors: [{ entries: entries("k0=x") }, { entries: entries("naïve key=100% secret") }],
    });
    expect(decision.headers).toEqual([{ key: "X-Rule", value: "domain.na%C3%AFve%20key_100%25*" }]);
    expect(decision.dynamicMetadata?.["limitRule"]).toBe("domain.na%C3%AFve%20key_100%25*");
    expect(fixture.decide({ descriptors: [{ entries: entries("k0=x") }] }).decision.headers).toBeUndefined();
  });
});

describe("decide() dynamic metadata", () => {
  const dynamicMetadata = true;

  it("case 164: decide() carries the metadata of the limit that passed when a quota of the call is over", () => {
    const rules = [{ metadata: { name: "service_1" } }, { metadata: { name: "service_2" } }];
    const { decision } = decideRules(rules, [FINE, OVER], { dynamicMetadata, quotaMode: true });
    expect(decision).toMatchObject({ overallCode: 1, dynamicMetadata: { metadata: { name: "service_1" } } });
  });

  it("case 165: decide() merges structs of passed limits deeply, the first value of a key winning", () => {
    const rules = [
      { metadata: { a: 1, shared: { x: "first", list: [1] }, kind: "text" } },
      { metadata: { b: 2, shared: { x: "second", y: true, list: [2] }, kind: { not: "merged" } } },
    ];
    const { decision } = decideRules(rules, [FINE, FINE], { dynamicMetadata });
    expect(decision.dynamicMetadata?.["metadata"]).toEqual({
      a: 1,
      b: 2,
      shared: { x: "first", y: true, list: [1] },
      kind: "text",
    });
  });

  it("case 165: decide() leaves the metadata of the rules as it was when it merges", () => {
    const metadata = { shared: { x: 1 } };
    decideRules([{ metadata }, { metadata: { shared: { y: 2 } } }], [FINE, FINE], { dynamicMetadata });
    expect(metadata).toEqual({ shared: { x: 1 } });
  });

  it("case 165: decide() treats a key named __proto__ as data", () => {
    const metadata = JSON.parse('{"__proto__": {"polluted": true}}') as Record<string, never>;
    const { decision } = decideRules([{ metadata }], [FINE], { dynamicMetadata });
    expect(JSON.stringify(decision.dynamicMetadata?.["metadata"])).toBe('{"__proto__":{"polluted":true}}');
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  it("case 166: decide() describes the request only when no limit passed", () => {
    const fixture = new DeciderFixture({ configs: [configuration("domain", [])], options: { dynamicMetadata } });
    const { decision } = fixture.decide({
      descriptors: [{ entries: entries("key=val", "empty=") }, { entries: entries("k=v"), hitsAddend: 0n }],
    });
    expect(decision.dynamicMetadata).toEqual({
      domain: "domain",
      descriptors: [{ entries: ["key=val", "empty="] }, { entries: ["k=v"], hitsAddend: 0 }],
    });
  });

  it("case 166: decide() carries the addend of the request and the text of an override", () => {
    const fixture = new DeciderFixture({
      configs: [configuration("domain", [])],
      counter: new ReplyingCounter([5]),
      options: { dynamicMetadata },
    });
    const { decision } = fixture.decide({
      descriptors: [{ entries: entries("key=val"), limit: { requestsPerUnit: 10, unit: 4 } }],
      hitsAddend: 5,
    });
    expect(decision.dynamicMetadata).toEqual({
      domain: "domain",
      descriptors: [{ entries: ["key=val"], limit: "requests_per_unit:10 unit:DAY" }],
      hitsAddend: 5,
    });
  });
});
