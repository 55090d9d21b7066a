// Tests of what a valid configuration is: each rule with its own small fixture and its exact text,
// and all rules together against a second, naive implementation on random configurations.
import type { JsonObject } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import type { DescriptorModel, RateLimitConfigModel, RateLimitModel } from "../model/model.ts";
import { randomConfig } from "../model/random-config.suite.ts";
import { findProblems, findSetProblems } from "./validate.ts";

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
    texts.push(...naiveLimit(current.rateLimit));
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
  return [unit, ...replaces].filter((text) => text !== false);
}
