// Tests of what a valid configuration is: each rule with its own small fixture and its exact text,
// and all rules together against a second, naive implementation on random configurations.
import type { JsonObject } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import type { DescriptorModel, RateLimitConfigModel, RateLimitModel } from "../model/model.ts";
import { mostInOneStep } from "../model/most-in-one-step.suite.ts";
import { randomConfig } from "../model/random-config.suite.ts";
import { validConfig } from "../model/valid-config.suite.ts";
import { firstCellSteps } from "./plain-counts.ts";
import { findProblems, findSetProblems, setProblemSteps } from "./validate.ts";

const LIMIT: RateLimitModel = { unit: "second", requestsPerUnit: 5, unlimited: false, name: "", replaces: [] };

function rule(fields: Partial<DescriptorModel>): DescriptorModel {
  return {
    key: "key1",
    value: "",
    descriptors: [],
    shadowMode: false,
    detailedMetric: false,
    quotaMode: false,
    valueToMetric: false,
    shareThreshold: false,
    ...fields,
  };
}

function limited(fields: Partial<RateLimitModel>): DescriptorModel {
  return rule({ rateLimit: { ...LIMIT, ...fields } });
}

function config(descriptors: readonly DescriptorModel[], domain = "test-domain"): RateLimitConfigModel {
  return { name: "a.yaml", domain, descriptors };
}

describe("findProblems() on the domain", () => {
  it("refuses an empty one", () => {
    expect(findProblems(config([], ""))).toEqual([
      { path: ["domain"], message: "config file cannot have empty domain" },
    ]);
  });

  it("accepts one without rules", () => {
    expect(findProblems(config([]))).toEqual([]);
  });
});

describe("findProblems() on keys", () => {
  it("refuses an empty key", () => {
    expect(findProblems(config([rule({ key: "", value: "value1" })]))).toEqual([
      { path: ["descriptors", 0, "key"], message: "descriptor has empty key" },
    ]);
  });

  it.each([
    {
      when: "key and value are repeated",
      rules: [rule({ value: "value1" }), rule({ value: "value1" })],
      first: 0,
      at: 1,
      text: "'test-domain.key1_value1'",
    },
    {
      when: "a key without value is repeated",
      rules: [rule({}), rule({ value: "v" }), rule({})],
      first: 0,
      at: 2,
      text: "'test-domain.key1'",
    },
    {
      when: "different splits give the same text",
      rules: [rule({ key: "x" }), rule({ key: "a", value: "b_c" }), rule({ key: "a_b", value: "c" })],
      first: 1,
      at: 2,
      text: "'test-domain.a_b_c'",
    },
    {
      when: "a key equals a key and value",
      rules: [rule({ key: "a", value: "b" }), rule({ key: "a_b" })],
      first: 0,
      at: 1,
      text: "'test-domain.a_b'",
    },
  ])("rejects a composite key, and names the first rule that has it, when $when", ({ rules, first, at, text }) => {
    expect(findProblems(config(rules))).toEqual([
      {
        path: ["descriptors", at, "key"],
        message: `duplicate descriptor composite key ${text}`,
        first: { config: 0, path: ["descriptors", first] },
      },
    ]);
  });

  it("names the parents of a duplicate further down", () => {
    const nested = rule({
      value: "v",
      descriptors: [rule({ key: "k*", descriptors: [rule({ key: "x" }), rule({ key: "x" })] })],
    });
    expect(findProblems(config([nested]))).toEqual([
      {
        path: ["descriptors", 0, "descriptors", 0, "descriptors", 1, "key"],
        message: "duplicate descriptor composite key 'test-domain.key1_v.k*.x'",
        first: { config: 0, path: ["descriptors", 0, "descriptors", 0, "descriptors", 0] },
      },
    ]);
  });

  it("accepts the same key at different levels and under different parents", () => {
    const child = rule({ descriptors: [rule({})] });
    expect(findProblems(config([child, rule({ value: "v", descriptors: [rule({})] })]))).toEqual([]);
  });
});

describe("findProblems() on limits", () => {
  it.each(["second", "MINUTE", "Hour", "day", "WEEK", "Month", "year"])("accepts the unit %j", (unit) => {
    expect(findProblems(config([limited({ unit })]))).toEqual([]);
  });

  it.each(["foo", "", "unknown", "UNKNOWN", "99"])("refuses the unit %j as written", (unit) => {
    expect(findProblems(config([limited({ unit })]))).toEqual([
      { path: ["descriptors", 0, "rateLimit", "unit"], message: `invalid rate limit unit '${unit}'` },
    ]);
  });

  it("refuses a unit when unlimited", () => {
    expect(findProblems(config([limited({ unlimited: true, unit: "day" })]))).toEqual([
      { path: ["descriptors", 0, "rateLimit", "unit"], message: "should not specify rate limit unit when unlimited" },
    ]);
  });

  it.each(["", "unknown", "UNKNOWN", "foo"])("accepts unlimited with the unit %j, which is none", (unit) => {
    expect(findProblems(config([limited({ unlimited: true, unit, requestsPerUnit: 3 })]))).toEqual([]);
  });

  it("refuses an empty replaces entry, and one that names the limit itself", () => {
    const replaces = [{ name: "other" }, { name: "" }, { name: "mine" }];
    expect(findProblems(config([limited({ name: "mine", replaces })]))).toEqual([
      {
        path: ["descriptors", 0, "rateLimit", "replaces", 1, "name"],
        message: "should not have an empty replaces entry",
      },
      {
        path: ["descriptors", 0, "rateLimit", "replaces", 2, "name"],
        message: "replaces should not contain name of same descriptor",
      },
    ]);
  });

  it("calls an empty replaces entry empty when the limit has no name either", () => {
    expect(findProblems(config([limited({ replaces: [{ name: "" }] })])).map(({ message }) => message)).toEqual([
      "should not have an empty replaces entry",
    ]);
  });
});

describe("findProblems() on limits beyond fixed windows", () => {
  it.each([
    { what: "a multiplier", limit: { unit: "minute", unitMultiplier: 5 } },
    { what: "a window of ten years", limit: { unit: "year", unitMultiplier: 10 } },
    { what: "a fixed window by name", limit: { algorithm: "fixed_window", countRejectedHits: false } },
    { what: "a sliding window", limit: { algorithm: "sliding_window", unitMultiplier: 30, countRejectedHits: true } },
    { what: "a token bucket", limit: { algorithm: "token_bucket" } },
    { what: "a bucket of 0 without a burst", limit: { algorithm: "token_bucket", requestsPerUnit: 0 } },
    { what: "the smallest burst", limit: { algorithm: "token_bucket", burst: 1 } },
    { what: "the largest burst", limit: { algorithm: "token_bucket", burst: 4_294_967_295 } },
    { what: "a day in UTC", limit: { unit: "day", timeZone: "UTC" } },
    { what: "a week in Zurich", limit: { unit: "Week", timeZone: "Europe/Zurich", unitMultiplier: 1 } },
    { what: "a year by an old name", limit: { unit: "year", timeZone: "US/Eastern" } },
    {
      what: "months from a day on",
      limit: { unit: "month", unitMultiplier: 3, timeZone: "Africa/Cairo", monthDay: 31 },
    },
  ])("accepts $what", ({ limit }) => {
    expect(findProblems(config([limited(limit)]))).toEqual([]);
  });

  it.each<{ limit: Partial<RateLimitModel>; field: string; message: string }>([
    { limit: { unitMultiplier: 0 }, field: "unitMultiplier", message: "invalid unit multiplier of 0" },
    {
      limit: { unit: "Year", unitMultiplier: 11 },
      field: "unitMultiplier",
      message: "invalid unit multiplier of 11: a window of years has at most 10, which is ten years",
    },
    {
      limit: { unit: "month", unitMultiplier: 4_294_967_295 },
      field: "unitMultiplier",
      message: "invalid unit multiplier of 4294967295: a window of months has at most 121, which is ten years",
    },
    ...["", "leaky_bucket", "TOKEN_BUCKET"].map((algorithm) => ({
      limit: { algorithm },
      field: "algorithm",
      message: `invalid algorithm '${algorithm}': must be fixed_window, sliding_window or token_bucket`,
    })),
    {
      limit: { algorithm: "token_bucket", burst: 0 },
      field: "burst",
      message: "invalid burst of 0: must be 1 to 4294967295",
    },
    {
      limit: { algorithm: "token_bucket", burst: 4_294_967_296 },
      field: "burst",
      message: "invalid burst of 4294967296: must be 1 to 4294967295",
    },
    {
      limit: { algorithm: "token_bucket", burst: 5, requestsPerUnit: 0 },
      field: "burst",
      message: "a burst needs at least 1 request per unit: a bucket of 0 never leaks",
    },
    ...[undefined, "fixed_window", "sliding_window"].map((algorithm) => ({
      limit: { burst: 1, ...(algorithm !== undefined && { algorithm }) },
      field: "burst",
      message: `a burst needs the algorithm token_bucket, current algorithm is '${algorithm ?? "fixed_window"}'`,
    })),
    ...["", "Mars/Base", "+01:00", "PST", "Europe/Zurich "].map((timeZone) => ({
      limit: { unit: "day", timeZone },
      field: "timeZone",
      message: `unknown time zone '${timeZone}': must be a name such as Europe/Zurich or UTC`,
    })),
    ...["sliding_window", "token_bucket"].map((algorithm) => ({
      limit: { unit: "day", algorithm, timeZone: "UTC" },
      field: "timeZone",
      message: `a time zone needs the algorithm fixed_window, current algorithm is '${algorithm}'`,
    })),
    ...["second", "minute", "hour"].map((unit) => ({
      limit: { unit, timeZone: "UTC" },
      field: "timeZone",
      message: `a time zone needs the unit day, week, month or year, current unit is '${unit}'`,
    })),
    ...["day", "week", "year"].map((unit) => ({
      limit: { unit, timeZone: "UTC", unitMultiplier: 2 },
      field: "unitMultiplier",
      message: `in a time zone a unit multiplier needs the unit month, current unit is '${unit}'`,
    })),
    ...[0, 32].map((monthDay) => ({
      limit: { unit: "month", timeZone: "UTC", monthDay },
      field: "monthDay",
      message: `invalid day of the month ${monthDay}: must be 1 to 31`,
    })),
    {
      limit: { unit: "month", monthDay: 15 },
      field: "monthDay",
      message: "a day of the month needs a time zone such as Europe/Zurich or UTC",
    },
    {
      limit: { unit: "day", timeZone: "UTC", monthDay: 15 },
      field: "monthDay",
      message: "a day of the month needs the unit month, current unit is 'day'",
    },
    ...Object.entries({
      unitMultiplier: 1,
      algorithm: "fixed_window",
      burst: 1,
      countRejectedHits: true,
      timeZone: "UTC",
      monthDay: 1,
    }).map(([field, value]) => ({
      limit: { unlimited: true, unit: "", [field]: value },
      field,
      message: "must be absent from an unlimited rule, which has no window",
    })),
  ])("refuses $limit", ({ limit, field, message }) => {
    expect(findProblems(config([limited(limit)]))).toEqual([{ path: ["descriptors", 0, "rateLimit", field], message }]);
  });
});

describe("findProblems() on lists of limits", () => {
  const named = (count: number, fields: Partial<RateLimitModel> = {}): RateLimitModel[] =>
    Array.from({ length: count }, (_, index) => ({ ...LIMIT, name: `limit-${index}`, ...fields }));

  it.each([
    { what: "two limits", limits: named(2) },
    { what: "eight", limits: named(8) },
    {
      what: "several kinds",
      limits: [...named(1, { algorithm: "token_bucket", burst: 3 }), ...named(1, { name: "n" })],
    },
    { what: "limits that all count rejected hits", limits: named(2, { countRejectedHits: true }) },
  ])("accepts $what", ({ limits }) => {
    expect(findProblems(config([rule({ rateLimits: limits })]))).toEqual([]);
  });

  it.each<{ what: string; limits: readonly RateLimitModel[]; path: (string | number)[]; message: string }>([
    ...[0, 1, 9].map((count) => ({
      what: `${count} limits`,
      limits: named(count),
      path: [],
      message: `a list has 2 to 8 limits, current number is ${count}`,
    })),
    {
      what: "a limit without a name",
      limits: [...named(1), LIMIT],
      path: [1, "name"],
      message: "each limit of a list needs a name",
    },
    {
      what: "a name twice",
      limits: [...named(2), ...named(1)],
      path: [2, "name"],
      message: "duplicate limit name 'limit-0' in a list",
    },
    {
      what: "an unlimited one",
      limits: [...named(1), ...named(1, { name: "all", unlimited: true, unit: "" })],
      path: [1, "unlimited"],
      message: "a limit of a list cannot be unlimited: remove it",
    },
    {
      what: "one that replaces another",
      limits: [...named(1), ...named(1, { name: "all", replaces: [{ name: "other" }] })],
      path: [1, "replaces"],
      message: "a limit of a list cannot replace others: remove it",
    },
    {
      what: "one that counts rejected hits when the first does not say",
      limits: [...named(1), ...named(1, { name: "all", countRejectedHits: true })],
      path: [1, "countRejectedHits"],
      message: "must be absent as in the list's first limit",
    },
    {
      what: "one that does not say when the first counts rejected hits",
      limits: [...named(1, { countRejectedHits: true }), ...named(1, { name: "all" })],
      path: [1, "countRejectedHits"],
      message: "must be true as in the list's first limit",
    },
    {
      what: "a wrong unit",
      limits: [...named(1), ...named(1, { name: "all", unit: "foo" })],
      path: [1, "unit"],
      message: "invalid rate limit unit 'foo'",
    },
  ])("refuses $what", ({ limits, path, message }) => {
    expect(findProblems(config([rule({ rateLimits: limits })]))).toEqual([
      { path: ["descriptors", 0, "rateLimits", ...path], message },
    ]);
  });

  it("refuses a list next to a limit", () => {
    expect(findProblems(config([rule({ rateLimit: LIMIT, rateLimits: named(2) })]))).toEqual([
      {
        path: ["descriptors", 0, "rateLimits"],
        message: "a rule has one limit or a list of limits: remove one of them",
      },
    ]);
  });
});

describe("findProblems() on share_threshold and metadata", () => {
  it("refuses share_threshold without a wildcard and names the composite key", () => {
    expect(findProblems(config([rule({ key: "files", value: "a", shareThreshold: true })]))).toEqual([
      {
        path: ["descriptors", 0, "shareThreshold"],
        message: "share_threshold can only be used with wildcard values (containing '*'), but found key 'files_a'",
      },
    ]);
  });

  it.each([{ key: "files", value: "a*" }, { key: "files*" }, { key: "f*", value: "a" }])(
    "accepts share_threshold on %j",
    (fields) => {
      expect(findProblems(config([rule({ ...fields, shareThreshold: true })]))).toEqual([]);
    },
  );

  it("accepts free metadata", () => {
    const metadata = { name: "service_1", list: [1, null, { deep: true }] };
    expect(findProblems(config([rule({ metadata })]))).toEqual([]);
  });

  it.each([
    {
      when: "a string has half a surrogate pair",
      metadata: { a: ["\ud800"] },
      reason: 'invalid UTF-8 in string: "\\ud800"',
    },
    {
      when: "a key has half a surrogate pair",
      metadata: { "\udc00": 1 },
      reason: 'invalid UTF-8 in string: "\\udc00"',
    },
    { when: "a value is not JSON", metadata: { a: 5n }, reason: "invalid type: bigint" },
    { when: "it nests too deep", metadata: { a: nested(100) }, reason: "nested deeper than 100 levels" },
  ])("refuses metadata when $when", ({ metadata, reason }) => {
    expect(findProblems(config([rule({ metadata: metadata as JsonObject })]))).toEqual([
      { path: ["descriptors", 0, "metadata"], message: `error parsing metadata: ${reason}` },
    ]);
  });
});

describe("findProblems() on several faults together", () => {
  it("reports in the order in which rules are loaded: a rule, its children, its sibling", () => {
    const wrong = limited({ unlimited: true, replaces: [{ name: "" }] });
    const first = { ...wrong, shareThreshold: true, descriptors: [rule({ key: "" })] };
    expect(
      findProblems(config([first, wrong], "")).map(({ path, message }) => `${path.join(".")}: ${message}`),
    ).toEqual([
      "domain: config file cannot have empty domain",
      "descriptors.0.rateLimit.unit: should not specify rate limit unit when unlimited",
      "descriptors.0.rateLimit.replaces.0.name: should not have an empty replaces entry",
      "descriptors.0.shareThreshold: share_threshold can only be used with wildcard values (containing '*'), but found key 'key1'",
      "descriptors.0.descriptors.0.key: descriptor has empty key",
      "descriptors.1.key: duplicate descriptor composite key '.key1'",
      "descriptors.1.rateLimit.unit: should not specify rate limit unit when unlimited",
      "descriptors.1.rateLimit.replaces.0.name: should not have an empty replaces entry",
    ]);
  });

  it("does not overflow the stack when rules nest thousands of levels deep", () => {
    let deep = rule({ key: "" });
    for (let level = 0; level < 3000; level += 1) deep = rule({ key: "k", descriptors: [deep] });
    expect(findProblems(config([deep]))).toMatchObject([{ message: "descriptor has empty key" }]);
  });

  it("agrees with a naive implementation when configurations are random", () => {
    fc.assert(
      fc.property(randomConfig, (model) => {
        expect(findProblems(model).map(({ message }) => message)).toEqual(naiveProblems(model));
      }),
      { numRuns: 200, seed: 20 },
    );
  });
});

describe("findSetProblems()", () => {
  it("findSetProblems() and firstCellSteps() check the domains that have changed, and pass over few others in each step", () => {
    const configs = Array.from({ length: 1000 }, (_, index) => config([], `domain-${index}`));
    let passed = 0;
    const changed = new Set(["domain-999"]);
    changed.has = (domain) => {
      passed += 1;
      return domain === "domain-999";
    };
    const options = { mergeDomains: false, changed };
    const invalid = configs.map(({ domain }) => config([rule({ key: "" })], domain));
    expect(findSetProblems(invalid, options)).toEqual([
      { config: 999, path: ["descriptors", 0, "key"], message: "descriptor has empty key" },
    ]);
    expect(mostInOneStep(setProblemSteps(configs, options), () => passed)).toBe(64);
    expect(mostInOneStep(firstCellSteps(configs, options), () => passed)).toBe(64);
  });

  it("finds nothing in random valid configurations", () => {
    fc.assert(
      fc.property(validConfig, (model) => {
        expect(findProblems(model)).toEqual([]);
      }),
      { numRuns: 100, seed: 23 },
    );
  });

  it("refuses the second claim of a domain, and still checks its rules", () => {
    const configs = [config([rule({})]), config([], "other"), config([rule({}), rule({ key: "" })])];
    expect(findSetProblems(configs, { mergeDomains: false })).toEqual([
      {
        config: 2,
        path: ["domain"],
        message: "duplicate domain 'test-domain' in config file",
        first: { config: 0, path: ["domain"] },
      },
      { config: 2, path: ["descriptors", 1, "key"], message: "descriptor has empty key" },
    ]);
  });

  it("joins the rules of one domain when domains are merged, and refuses those that collide at the top level", () => {
    const configs = [
      config([rule({ value: "v", descriptors: [rule({ key: "x" })] })]),
      config([rule({ value: "w" })]),
      config([rule({ value: "v", descriptors: [rule({ key: "y" })] }), rule({ value: "w" })]),
    ];
    expect(findSetProblems(configs, { mergeDomains: true })).toEqual([
      {
        config: 2,
        path: ["descriptors", 0, "key"],
        message: "duplicate descriptor composite key 'test-domain.key1_v'",
        first: { config: 0, path: ["descriptors", 0] },
      },
      {
        config: 2,
        path: ["descriptors", 1, "key"],
        message: "duplicate descriptor composite key 'test-domain.key1_w'",
        first: { config: 1, path: ["descriptors", 0] },
      },
    ]);
  });

  it("does not take two empty domains for the same", () => {
    expect(findSetProblems([config([rule({})], ""), config([rule({})], "")], { mergeDomains: true })).toEqual([
      { config: 0, path: ["domain"], message: "config file cannot have empty domain" },
      { config: 1, path: ["domain"], message: "config file cannot have empty domain" },
    ]);
  });

  it("finds what findProblems() finds when every domain is another", () => {
    fc.assert(
      fc.property(randomConfig, randomConfig, (left, right) => {
        const configs = [
          { ...left, domain: "left" },
          { ...right, domain: "right" },
        ];
        const apart = configs.flatMap((model, index) =>
          findProblems(model).map(({ first, ...problem }) => ({
            config: index,
            ...problem,
            ...(first && { first: { ...first, config: index } }),
          })),
        );
        expect(findSetProblems(configs, { mergeDomains: false })).toEqual(apart);
        expect(findSetProblems(configs, { mergeDomains: true })).toEqual(apart);
      }),
      { numRuns: 100, seed: 21 },
    );
  });

  it("finds for merged domains what one configuration with all rules would have", () => {
    fc.assert(
      fc.property(randomConfig, randomConfig, (left, right) => {
        const merged = findSetProblems(
          [
            { ...left, domain: "d" },
            { ...right, domain: "d" },
          ],
          { mergeDomains: true },
        );
        const whole = findProblems({ name: "", domain: "d", descriptors: [...left.descriptors, ...right.descriptors] });
        expect(merged.map(({ message }) => message)).toEqual(whole.map(({ message }) => message));
      }),
      { numRuns: 100, seed: 22 },
    );
  });
});

function nested(levels: number): object[] {
  let list: object[] = [];
  for (let level = 1; level < levels; level += 1) list = [list];
  return list;
}

/** The rules once more, recursively and without any cleverness; messages only. */
function naiveProblems(model: RateLimitConfigModel): string[] {
  const domain = model.domain === "" ? ["config file cannot have empty domain"] : [];
  return [...domain, ...naiveLevel(model.descriptors, model.domain)];
}

function naiveLevel(rules: readonly DescriptorModel[], parent: string): string[] {
  const names = rules.map(({ key, value }) => (value ? `${key}_${value}` : key));
  return rules.flatMap((current, index) => {
    const name = names[index] ?? "";
    const texts: string[] = [];
    const isTwin = rules.some((other, place) => place < index && other.key !== "" && names[place] === name);
    if (!current.key) texts.push("descriptor has empty key");
    else if (isTwin) texts.push(`duplicate descriptor composite key '${parent}.${name}'`);
    texts.push(...naiveLimit(current.rateLimit), ...naiveList(current));
    if (current.shareThreshold && !name.includes("*")) {
      texts.push(`share_threshold can only be used with wildcard values (containing '*'), but found key '${name}'`);
    }
    return [...texts, ...naiveLevel(current.descriptors, `${parent}.${name}`)];
  });
}

function naiveLimit(limit: RateLimitModel | undefined): string[] {
  if (!limit) return [];
  const isUnit = /^(second|minute|hour|day|week|month|year)$/i.test(limit.unit);
  const unit = limit.unlimited
    ? isUnit && "should not specify rate limit unit when unlimited"
    : !isUnit && `invalid rate limit unit '${limit.unit}'`;
  const replaces = limit.replaces.map(({ name }) => {
    if (!name) return "should not have an empty replaces entry";
    return name === limit.name && "replaces should not contain name of same descriptor";
  });
  return [unit, ...replaces, ...(limit.unlimited ? naiveUnlimited(limit) : naiveWindow(limit))].filter(
    (text) => text !== false,
  );
}

function naiveUnlimited({ unit, requestsPerUnit, unlimited, name, replaces, ...window }: RateLimitModel): string[] {
  return Object.values(window).map(() => "must be absent from an unlimited rule, which has no window");
}

/** Knows only the values that random configurations have. */
function naiveWindow(limit: RateLimitModel): (string | false)[] {
  const { unit, requestsPerUnit, unitMultiplier = 1, algorithm = "fixed_window", burst, timeZone, monthDay } = limit;
  const most = { second: 315_360_000, minute: 5_256_000, hour: 87_600, day: 3650, week: 521, month: 121, year: 10 };
  const size = unit.toLowerCase() as keyof typeof most;
  const isCalendar = ["day", "week", "month", "year"].includes(size);
  const [isZoned, isFixed] = [timeZone !== undefined, algorithm === "fixed_window"];
  return [
    unitMultiplier === 0 && "invalid unit multiplier of 0",
    unitMultiplier > most[size] &&
      `invalid unit multiplier of ${unitMultiplier}: a window of ${size}s has at most ${most[size]}, which is ten years`,
    ["", "Token_Bucket"].includes(algorithm) &&
      `invalid algorithm '${algorithm}': must be fixed_window, sliding_window or token_bucket`,
    burst !== undefined &&
      algorithm !== "token_bucket" &&
      `a burst needs the algorithm token_bucket, current algorithm is '${algorithm}'`,
    burst === 0 && "invalid burst of 0: must be 1 to 4294967295",
    burst !== undefined &&
      requestsPerUnit === 0 &&
      "a burst needs at least 1 request per unit: a bucket of 0 never leaks",
    timeZone !== undefined &&
      !["UTC", "Europe/Zurich"].includes(timeZone) &&
      `unknown time zone '${timeZone}': must be a name such as Europe/Zurich or UTC`,
    isZoned && !isFixed && `a time zone needs the algorithm fixed_window, current algorithm is '${algorithm}'`,
    isZoned && !isCalendar && `a time zone needs the unit day, week, month or year, current unit is '${unit}'`,
    isZoned &&
      ["day", "week", "year"].includes(size) &&
      unitMultiplier > 1 &&
      `in a time zone a unit multiplier needs the unit month, current unit is '${unit}'`,
    (monthDay === 0 || monthDay === 32) && `invalid day of the month ${monthDay}: must be 1 to 31`,
    monthDay !== undefined && size !== "month" && `a day of the month needs the unit month, current unit is '${unit}'`,
    monthDay !== undefined && !isZoned && "a day of the month needs a time zone such as Europe/Zurich or UTC",
  ];
}

function naiveList({ rateLimit, rateLimits }: DescriptorModel): string[] {
  if (!rateLimits) return [];
  const count = rateLimits.length;
  const list = [
    rateLimit && "a rule has one limit or a list of limits: remove one of them",
    (count < 2 || count > 8) && `a list has 2 to 8 limits, current number is ${count}`,
  ];
  const each = rateLimits.flatMap((limit, index) => {
    const before = rateLimits.slice(0, index).map(({ name }) => name);
    const { countRejectedHits } = rateLimits[0] ?? limit;
    return [
      ...naiveLimit(limit),
      !limit.name && "each limit of a list needs a name",
      limit.name && before.includes(limit.name) && `duplicate limit name '${limit.name}' in a list`,
      limit.unlimited && "a limit of a list cannot be unlimited: remove it",
      limit.replaces.length > 0 && "a limit of a list cannot replace others: remove it",
      limit.countRejectedHits !== countRejectedHits &&
        `must be ${countRejectedHits ?? "absent"} as in the list's first limit`,
    ];
  });
  return [...list, ...each].filter((text): text is string => typeof text === "string" && text !== "");
}
