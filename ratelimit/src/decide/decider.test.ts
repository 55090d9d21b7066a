// The way of a call through the decider: keys, addends, counting, statistics, errors and failures
// of the store, by the conformance cases.
import { describe, expect, it } from "vitest";
import { StoreError } from "../counters/store-error.ts";
import type { StoreErrorCode } from "../errors.ts";
import {
  configuration,
  CONFIGURATION_B,
  descriptor,
  entries,
  limit,
  unlimited,
} from "@weir/limits/rules/configuration.suite";
import { ReplyingCounter, DeciderFixture, WaitingCall } from "./decider.suite.ts";

/** A fixture with one rule on `key`, so many per unit. */
function oneRule(requestsPerUnit: number, unit: string, replies: readonly number[], nearLimitRatio = 0.8) {
  const counter = new ReplyingCounter(replies);
  const fixture = new DeciderFixture({
    configs: [configuration("domain", [descriptor({ key: "key", rateLimit: limit(requestsPerUnit, unit) })])],
    counter,
    options: { nearLimitRatio },
  });
  return { fixture, counter };
}

const KEY = { entries: entries("key=value") };

describe("decide() without a limit", () => {
  it("case 1: decide() answers OK and counts nothing when a descriptor has no entries", () => {
    const fixture = new DeciderFixture({ configs: [CONFIGURATION_B] });
    const { decision } = fixture.decide({ domain: "test-domain", descriptors: [{ entries: [] }] });
    expect(decision.overallCode).toBe(1);
    expect(decision.statuses).toEqual([
      expect.objectContaining({
        code: 1,
        currentLimit: undefined,
        limitRemaining: 0,
        durationUntilResetSeconds: undefined,
      }),
    ]);
    expect(fixture.counted()).toEqual({});
  });

  it("case 2: decide() counts domain_not_found per descriptor when the domain is unknown", () => {
    const fixture = new DeciderFixture({ configs: [CONFIGURATION_B] });
    const { decision } = fixture.decide({ domain: "foo_domain", descriptors: [KEY, KEY] });
    expect(decision.statuses).toHaveLength(2);
    expect(fixture.counted()).toEqual({ "rate_limit.foo_domain.domain_not_found": 2 });
  });

  it("case 20: decide() ignores an override, even an invalid one, when the domain is unknown", () => {
    const fixture = new DeciderFixture({ configs: [CONFIGURATION_B] });
    for (const unit of [4, 0]) {
      const { decision } = fixture.decide({
        domain: "foo_domain",
        descriptors: [{ ...KEY, limit: { requestsPerUnit: 10, unit } }],
      });
      expect(decision.statuses[0]?.currentLimit).toBeUndefined();
    }
    expect(fixture.counted()).toEqual({ "rate_limit.foo_domain.domain_not_found": 2 });
  });

  it("case 86: decide() asks the counter only for the descriptors that have a limit", () => {
    const { fixture, counter } = oneRule(10, "second", [1]);
    fixture.decide({ descriptors: [{ entries: entries("other=value") }, KEY] });
    expect(counter.asked.map(({ key }) => key)).toEqual(["domain_key_value_1234"]);
  });

  it("case 144: decide() answers overall OK with one status when no rule matches", () => {
    const { decision } = oneRule(10, "second", []).fixture.decide({
      descriptors: [{ entries: entries("other=value") }],
    });
    expect(decision).toMatchObject({
      overallCode: 1,
      statuses: [{ code: 1 }],
      headers: undefined,
      dynamicMetadata: undefined,
    });
  });
});

describe("decide() counter keys", () => {
  it.each([
    { case: 80, now: 1234, unit: "second", pairs: ["key=value"], prefix: "", key: "domain_key_value_1234" },
    {
      case: 80,
      now: 1234,
      unit: "second",
      pairs: ["key=value"],
      prefix: "prefix:",
      key: "prefix:domain_key_value_1234",
    },
    {
      case: 81,
      now: 1234,
      unit: "minute",
      pairs: ["key2=value2", "subkey2=subvalue2"],
      prefix: "",
      key: "domain_key2_value2_subkey2_subvalue2_1200",
    },
    { case: 82, now: 1_000_000, unit: "hour", pairs: ["key=value"], prefix: "", key: "domain_key_value_997200" },
    { case: 82, now: 1_000_000, unit: "day", pairs: ["key=value"], prefix: "", key: "domain_key_value_950400" },
    { case: 82, now: 1_000_000, unit: "week", pairs: ["key=value"], prefix: "", key: "domain_key_value_604800" },
    { case: 82, now: 1_000_000, unit: "month", pairs: ["key=value"], prefix: "", key: "domain_key_value_0" },
    { case: 82, now: 1_000_000, unit: "year", pairs: ["key=value"], prefix: "", key: "domain_key_value_0" },
    { case: 89, now: 1234, unit: "second", pairs: ["key="], prefix: "", key: "domain_key__1234" },
  ])("case $case: decide() counts under $key when the unit is $unit", ({ now, unit, pairs, prefix, key }) => {
    const counter = new ReplyingCounter([1]);
    const rules = [
      descriptor({ key: "key", rateLimit: limit(10, unit) }),
      descriptor({ key: "key2", descriptors: [descriptor({ key: "subkey2", rateLimit: limit(10, unit) })] }),
    ];
    const fixture = new DeciderFixture({
      configs: [configuration("domain", rules)],
      counter,
      nowSeconds: now,
      options: { keyPrefix: prefix },
    });
    fixture.decide({ descriptors: [{ entries: entries(...pairs) }] });
    expect(counter.asked.map((check) => check.key)).toEqual([key]);
  });

  it.each([
    { case: 83, levels: ["files=files/*"], pairs: ["files=files/a.pdf"], key: "domain_files_files/*_1234" },
    { case: 83, levels: ["files=files/*"], pairs: ["files=files/subdir/f.txt"], key: "domain_files_files/*_1234" },
    {
      case: 84,
      levels: ["parent=value1", "files=nested/*"],
      pairs: ["parent=value1", "files=nested/x"],
      key: "domain_parent_value1_files_nested/*_1234",
    },
    {
      case: 85,
      levels: ["files=top/*", "files=nested/*"],
      pairs: ["files=top/x", "files=nested/y"],
      key: "domain_files_top/*_files_nested/*_1234",
    },
  ])("case $case: decide() counts under $key when thresholds are shared", ({ levels, pairs, key }) => {
    const counter = new ReplyingCounter([1]);
    const rule = entries(...levels).reduceRight<ReturnType<typeof descriptor> | undefined>(
      (child, level) =>
        descriptor({
          ...level,
          shareThreshold: level.value.includes("*"),
          ...(child === undefined ? { rateLimit: limit(10, "second") } : { descriptors: [child] }),
        }),
      undefined,
    );
    const fixture = new DeciderFixture({
      configs: [configuration("domain", rule === undefined ? [] : [rule])],
      counter,
    });
    fixture.decide({ descriptors: [{ entries: entries(...pairs) }] });
    expect(counter.asked.map((check) => check.key)).toEqual([key]);
  });

  it.each([
    { now: 1_000_000, unit: "hour", seconds: 800 },
    { now: 1_000_000, unit: "day", seconds: 36_800 },
    { now: 1234, unit: "minute", seconds: 26 },
    { now: 1234, unit: "second", seconds: 1 },
  ])("case 87: decide() answers $seconds s until reset at $now when the unit is $unit", ({ now, unit, seconds }) => {
    const { fixture } = oneRule(10, unit, [1]);
    fixture.nowMs = now * 1000 + 999;
    expect(fixture.decide({ descriptors: [KEY] }).decision.statuses[0]?.durationUntilResetSeconds).toBe(seconds);
  });
});

describe("decide() counting", () => {
  it.each([
    { case: 90, limit: 10, addend: 1, reply: 5, code: 1, remaining: 5, counted: { total_hits: 1, within_limit: 1 } },
    { case: 94, limit: 15, addend: 1, reply: 11, code: 1, remaining: 4, counted: { total_hits: 1, within_limit: 1 } },
    { case: 95, limit: 15, addend: 1, reply: 12, code: 1, remaining: 3, counted: { total_hits: 1, within_limit: 1 } }, // 12 is the threshold itself
    {
      case: 95,
      limit: 15,
      addend: 1,
      reply: 13,
      code: 1,
      remaining: 2,
      counted: { total_hits: 1, within_limit: 1, near_limit: 1 },
    },
    { case: 96, limit: 15, addend: 1, reply: 16, code: 2, remaining: 0, counted: { total_hits: 1, over_limit: 1 } },
    { case: 97, limit: 20, addend: 3, reply: 5, code: 1, remaining: 15, counted: { total_hits: 3, within_limit: 3 } },
    {
      case: 98,
      limit: 8,
      addend: 2,
      reply: 7,
      code: 1,
      remaining: 1,
      counted: { total_hits: 2, within_limit: 2, near_limit: 1 },
    },
    {
      case: 99,
      limit: 20,
      addend: 3,
      reply: 19,
      code: 1,
      remaining: 1,
      counted: { total_hits: 3, within_limit: 3, near_limit: 3 },
    },
    {
      case: 100,
      limit: 20,
      addend: 3,
      reply: 22,
      code: 2,
      remaining: 0,
      counted: { total_hits: 3, over_limit: 2, near_limit: 1 },
    },
    {
      case: 101,
      limit: 20,
      addend: 7,
      reply: 22,
      code: 2,
      remaining: 0,
      counted: { total_hits: 7, over_limit: 2, near_limit: 4 },
    },
    { case: 102, limit: 10, addend: 3, reply: 30, code: 2, remaining: 0, counted: { total_hits: 3, over_limit: 3 } },
    { case: 105, limit: 0, addend: 1, reply: 1, code: 2, remaining: 0, counted: { total_hits: 1, over_limit: 1 } },
    {
      case: 106,
      limit: 10,
      addend: 1,
      reply: 10,
      code: 1,
      remaining: 0,
      counted: { total_hits: 1, within_limit: 1, near_limit: 1 },
    },
  ])("case $case: decide() answers $code with $remaining left when $addend hits make $reply of $limit", (row) => {
    const { fixture, counter } = oneRule(row.limit, "second", [row.reply]);
    const { decision } = fixture.decide({ descriptors: [KEY], hitsAddend: row.addend });
    expect(decision.overallCode).toBe(row.code);
    expect(decision.statuses[0]).toMatchObject({
      code: row.code,
      limitRemaining: row.remaining,
      currentLimit: { requestsPerUnit: row.limit, unit: 1, name: "" },
    });
    expect(counter.asked).toEqual([{ key: "domain_key_value_1234", addend: row.addend, windowSeconds: 1 }]);
    const counted = Object.entries(row.counted).map(([name, value]) => [`rate_limit.domain.key.${name}`, value]);
    expect(fixture.counted()).toEqual({ ...Object.fromEntries(counted), ...(row.code === 2 && { rejected_calls: 1 }) });
  });

  it("case 92: decide() rejects the call and asks for one counter when one of two descriptors has a limit that is over", () => {
    const { fixture, counter } = oneRule(10, "minute", [11]);
    const { decision } = fixture.decide({ descriptors: [{ entries: entries("other=x") }, KEY] });
    expect(decision).toMatchObject({
      overallCode: 2,
      statuses: [
        { code: 1, currentLimit: undefined },
        { code: 2, limitRemaining: 0 },
      ],
    });
    expect(counter.asked).toHaveLength(1);
    expect(fixture.counted()).toEqual({
      "rate_limit.domain.key.total_hits": 1,
      "rate_limit.domain.key.over_limit": 1,
      rejected_calls: 1,
    });
  });

  it("case 93: decide() adds nothing for a descriptor whose own addend is 0, though it is over", () => {
    const counter = new ReplyingCounter([11, 13]);
    const rules = [
      descriptor({ key: "a", rateLimit: limit(10, "hour") }),
      descriptor({ key: "b", rateLimit: limit(10, "day") }),
    ];
    const fixture = new DeciderFixture({ configs: [configuration("domain", rules)], counter });
    const { decision } = fixture.decide({
      descriptors: [
        { entries: entries("a=x"), hitsAddend: 0n },
        { entries: entries("b=x"), hitsAddend: 1n },
      ],
    });
    expect(decision.statuses.map(({ code }) => code)).toEqual([2, 2]);
    expect(counter.asked.map(({ addend }) => addend)).toEqual([0, 1]);
    expect(fixture.counted()).toEqual({
      "rate_limit.domain.b.total_hits": 1,
      "rate_limit.domain.b.over_limit": 1,
      rejected_calls: 1,
    });
  });

  it("case 103: decide() adds 1 when the request names no addend", () => {
    const { fixture, counter } = oneRule(10, "second", [1]);
    fixture.decide({ descriptors: [KEY], hitsAddend: 0 });
    expect(counter.asked[0]?.addend).toBe(1);
  });

  it("case 104: decide() adds 0 when the descriptor says 0 and the request 5", () => {
    const { fixture, counter } = oneRule(10, "second", [3]);
    fixture.decide({ descriptors: [{ ...KEY, hitsAddend: 0n }], hitsAddend: 5 });
    expect(counter.asked[0]?.addend).toBe(0);
  });

  it("decide() cuts an addend beyond 2^40, so that one call cannot end the exactness of a statistic", () => {
    const { fixture, counter } = oneRule(10, "second", [1_099_511_627_776, 1_099_511_627_777]);
    const { decision } = fixture.decide({ descriptors: [{ ...KEY, hitsAddend: 18_446_744_073_709_551_615n }] });
    expect(counter.asked[0]?.addend).toBe(1_099_511_627_776);
    expect(decision.overallCode).toBe(2);
    fixture.decide({ descriptors: [KEY] });
    expect(fixture.counted()).toMatchObject({ "rate_limit.domain.key.total_hits": 1_099_511_627_777 });
  });

  it("case 105: decide() lets a check of 0 hits pass when the limit is 0 and the key fresh", () => {
    const { fixture } = oneRule(0, "second", [0]);
    expect(fixture.decide({ descriptors: [{ ...KEY, hitsAddend: 0n }] }).decision).toMatchObject({
      overallCode: 1,
      statuses: [{ limitRemaining: 0 }],
    });
  });

  it("case 107: decide() counts a descriptor that stands twice twice", () => {
    const { fixture, counter } = oneRule(1, "second", [1, 2]);
    const { decision } = fixture.decide({ descriptors: [KEY, KEY] });
    expect(decision).toMatchObject({ overallCode: 2, statuses: [{ code: 1 }, { code: 2 }] });
    expect(counter.asked).toHaveLength(2);
  });

  it("case 117: decide() calls a hit near when the ratio is 0.5 and 6 of 10 are used", () => {
    const { fixture } = oneRule(10, "second", [6], 0.5);
    fixture.decide({ descriptors: [KEY] });
    expect(fixture.counted()).toMatchObject({ "rate_limit.domain.key.near_limit": 1 });
  });

  it("case 117: decide() calculates the threshold in single precision, as envoyproxy/ratelimit does", () => {
    // 0.7 × 10 is 7 in single precision and less than 7 when only the ratio is single: the seventh
    // hit is not near.
    const { fixture } = oneRule(10, "second", [7], 0.7);
    fixture.decide({ descriptors: [KEY] });
    expect(fixture.counted()["rate_limit.domain.key.near_limit"]).toBeUndefined();
  });

  it("decide() counts nothing as near when single precision puts the threshold above the limit", () => {
    // 2^24 + 3 is 2^24 + 4 in single precision: envoyproxy/ratelimit subtracts one hit from near_limit.
    const { fixture } = oneRule(16_777_219, "second", [16_777_220], 1);
    fixture.decide({ descriptors: [KEY], hitsAddend: 2 });
    expect(fixture.counted()["rate_limit.domain.key.near_limit"]).toBeUndefined();
  });

  it("case 15: decide() answers unlimited and counts the statistics only when the rule is unlimited", () => {
    const fixture = new DeciderFixture({
      configs: [configuration("domain", [descriptor({ key: "key", rateLimit: unlimited() })])],
    });
    expect(fixture.decide({ descriptors: [KEY], hitsAddend: 3 }).decision).toMatchObject({
      overallCode: 1,
      statuses: [
        { code: 1, limitRemaining: 4_294_967_295, currentLimit: undefined, durationUntilResetSeconds: undefined },
      ],
    });
    expect(fixture.counted()).toEqual({
      "rate_limit.domain.key.total_hits": 3,
      "rate_limit.domain.key.within_limit": 3,
    });
  });

  it("case 156: decide() asks for one counter when the others have no rule or no limit", () => {
    const counter = new ReplyingCounter([1]);
    const rules = [
      descriptor({ key: "key", rateLimit: limit(10, "minute") }),
      descriptor({ key: "free", rateLimit: unlimited() }),
    ];
    const fixture = new DeciderFixture({ configs: [configuration("domain", rules)], counter });
    const { decision } = fixture.decide({
      descriptors: [KEY, { entries: entries("none=x") }, { entries: entries("free=x") }],
    });
    expect(counter.asked).toHaveLength(1);
    expect(decision.overallCode).toBe(1);
    expect(decision.statuses.map(({ code, limitRemaining }) => [code, limitRemaining])).toEqual([
      [1, 9],
      [1, 0],
      [1, 4_294_967_295],
    ]);
  });
});

describe("decide() replaces", () => {
  const rules = [
    descriptor({ key: "a", rateLimit: limit(10, "minute", { name: "n" }) }),
    descriptor({ key: "b", rateLimit: limit(10, "minute", { replaces: [{ name: "n" }] }) }),
    descriptor({ key: "free", rateLimit: unlimited({ name: "n" }) }),
    descriptor({ key: "freeing", rateLimit: unlimited({ replaces: [{ name: "n" }] }) }),
    descriptor({ key: "c", rateLimit: limit(10, "minute", { name: "c", replaces: [{ name: "d" }] }) }),
    descriptor({ key: "d", rateLimit: limit(10, "minute", { name: "d", replaces: [{ name: "c" }] }) }),
  ];
  it.each([
    { keys: ["a", "b"], asked: ["domain_b_x_1200"], remaining: [0, 9] },
    { keys: ["b", "a"], asked: ["domain_b_x_1200"], remaining: [9, 0] },
    { keys: ["a"], asked: ["domain_a_x_1200"], remaining: [9] },
    { keys: ["b"], asked: ["domain_b_x_1200"], remaining: [9] },
    { keys: ["free", "b"], asked: ["domain_b_x_1200"], remaining: [4_294_967_295, 9] },
    { keys: ["a", "freeing"], asked: [], remaining: [0, 4_294_967_295] },
    { keys: ["c", "d"], asked: [], remaining: [0, 0] },
  ])("case 157: decide() evaluates $asked when the call matches $keys", ({ keys, asked, remaining }) => {
    const counter = new ReplyingCounter([1]);
    const fixture = new DeciderFixture({ configs: [configuration("domain", rules)], counter });
    const { decision } = fixture.decide({ descriptors: keys.map((key) => ({ entries: entries(`${key}=x`) })) });
    expect(counter.asked.map(({ key }) => key)).toEqual(asked);
    expect(decision.statuses.map(({ limitRemaining }) => limitRemaining)).toEqual(remaining);
    expect(decision.overallCode).toBe(1);
  });
});

describe("decide() refusals", () => {
  const fixture = () =>
    new DeciderFixture({ configs: [CONFIGURATION_B], options: { maxDescriptors: 2, maxEntries: 3 } });
  it.each([
    {
      case: 152,
      request: { domain: "", descriptors: [] },
      code: "REQUEST_INVALID",
      message: "rate limit domain must not be empty",
    },
    {
      case: 153,
      request: { descriptors: [] },
      code: "REQUEST_INVALID",
      message: "rate limit descriptor list must not be empty",
    },
    {
      case: 153,
      request: { descriptors: [KEY, KEY, KEY] },
      code: "REQUEST_INVALID",
      message: "rate limit descriptor list must not be longer than 2, it has 3",
    },
    {
      case: 153,
      request: { descriptors: [{ entries: entries("a=1", "b=1", "c=1", "d=1") }] },
      code: "REQUEST_INVALID",
      message: "rate limit descriptor must not have more than 3 entries, one has 4",
    },
    {
      case: 26,
      request: { domain: "test-domain", descriptors: [{ ...KEY, limit: { requestsPerUnit: 1, unit: 0 } }] },
      code: "REQUEST_INVALID",
      message: "invalid rate limit unit 'UNKNOWN'",
    },
    {
      case: 26,
      request: { domain: "test-domain", descriptors: [{ ...KEY, limit: { requestsPerUnit: 1, unit: 8 } }] },
      code: "REQUEST_INVALID",
      message: "invalid rate limit unit '8'",
    },
  ])("case $case: decide() fails with '$message'", ({ request, code, message }) => {
    const refusing = fixture();
    expect(refusing.decide(request).error).toMatchObject({ code, message });
    expect(refusing.counted()).toEqual({ "call.should_rate_limit.service_error": 1 });
  });

  it("case 155: decide() fails when no configuration was loaded", () => {
    const empty = new DeciderFixture({ configs: undefined });
    expect(empty.decide({ descriptors: [KEY] }).error).toMatchObject({
      code: "NO_CONFIG",
      message: "no rate limit configuration loaded",
      transient: true,
    });
    expect(empty.counted()).toEqual({ "call.should_rate_limit.service_error": 1 });
  });

  it("decide() counts nothing of a call when one of its descriptors has an invalid override", () => {
    const refusing = fixture();
    refusing.decide({
      domain: "test-domain",
      descriptors: [{ entries: entries("key6=x") }, { ...KEY, limit: { requestsPerUnit: 1, unit: 9 } }],
    });
    expect(refusing.counted()).toEqual({ "call.should_rate_limit.service_error": 1 });
  });

  it("decide() fails the call with INTERNAL and keeps working after an internal fault", () => {
    const { fixture: broken } = oneRule(10, "second", []); // The counter throws, for it has no reply.
    expect(broken.decide({ descriptors: [KEY] }).error).toMatchObject({
      code: "INTERNAL",
      message: "Cannot decide the request: internal error",
    });
    expect(broken.decide({ descriptors: [{ entries: entries("other=x") }] }).decision.overallCode).toBe(1);
  });

  it("decide() does not answer twice when the transport throws", () => {
    class ThrowingCall extends WaitingCall {
      override decided(decision: Parameters<WaitingCall["decided"]>[0]): void {
        super.decided(decision);
        throw new Error("broken transport");
      }
    }
    const { fixture } = oneRule(10, "second", [1]);
    const call = new ThrowingCall();
    fixture.decider.decide({ domain: "domain", descriptors: [KEY], hitsAddend: 0 }, call);
    expect(call.decision.overallCode).toBe(1);
  });
});

describe("decide() when the store fails", () => {
  const rules = [
    descriptor({ key: "key", rateLimit: limit(10, "minute") }),
    descriptor({ key: "shadow", rateLimit: limit(10, "minute"), shadowMode: true }),
    descriptor({ key: "free", rateLimit: unlimited() }),
  ];
  const failing = (failureMode: "error" | "allow" | "deny", code: StoreErrorCode) =>
    new DeciderFixture({
      configs: [configuration("domain", rules)],
      counter: new ReplyingCounter([new StoreError(code, "cache error", { transient: true })]),
      options: { failureMode },
    });

  it("case 154: decide() fails with the text of the store and counts redis_error, hits already counted", () => {
    const fixture = failing("error", "STORE_UNAVAILABLE");
    expect(fixture.decide({ descriptors: [KEY] }).error).toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: "cache error",
    });
    expect(fixture.counted()).toEqual({
      "call.should_rate_limit.redis_error": 1,
      "backend_failure.error": 1,
      "rate_limit.domain.key.total_hits": 1,
    });
  });

  it("decide() fails with STORE_UNAVAILABLE when the store is slow, and DEADLINE_EXCEEDED when the caller is impatient", () => {
    expect(failing("error", "STORE_TIMEOUT").decide({ descriptors: [KEY] }).error.code).toBe("STORE_UNAVAILABLE");
    expect(failing("error", "DEADLINE_EXCEEDED").decide({ descriptors: [KEY] }).error.code).toBe("DEADLINE_EXCEEDED");
  });

  it.each(["error", "allow", "deny"] as const)(
    "case 143: decide() fails with REQUEST_INVALID when the store cannot store the key, whatever the failure mode: %s",
    (failureMode) => {
      const fixture = failing(failureMode, "STORE_KEY_INVALID");
      expect(fixture.decide({ descriptors: [KEY] }).error).toMatchObject({
        code: "REQUEST_INVALID",
        message: "cache error",
      });
      expect(fixture.counted()).toEqual({
        "call.should_rate_limit.service_error": 1,
        "rate_limit.domain.key.total_hits": 1,
      });
    },
  );

  it("decide() answers OK without limits when failures are allowed", () => {
    const fixture = failing("allow", "STORE_UNAVAILABLE");
    expect(fixture.decide({ descriptors: [KEY, { entries: entries("free=x") }] }).decision).toMatchObject({
      overallCode: 1,
      statuses: [
        { code: 1, currentLimit: undefined, limitRemaining: 0 },
        { code: 1, limitRemaining: 4_294_967_295 },
      ],
    });
    expect(fixture.counted()).toMatchObject({ "backend_failure.allow": 1, "call.should_rate_limit.redis_error": 1 });
  });

  it("decide() answers OVER_LIMIT with nothing left when failures are denied, save for shadow rules", () => {
    const fixture = failing("deny", "STORE_UNAVAILABLE");
    expect(fixture.decide({ descriptors: [KEY, { entries: entries("shadow=x") }] }).decision).toMatchObject({
      overallCode: 2,
      statuses: [
        { code: 2, limitRemaining: 0 },
        { code: 1, limitRemaining: 0 },
      ],
    });
    expect(fixture.counted()).toMatchObject({ "backend_failure.deny": 1 });
    expect(
      failing("deny", "STORE_UNAVAILABLE").decide({ descriptors: [{ entries: entries("shadow=x") }] }).decision
        .overallCode,
    ).toBe(1);
  });
});
