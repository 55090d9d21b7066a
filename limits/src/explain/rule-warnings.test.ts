// Warnings about valid rules.
import { describe, expect, it } from "vitest";

import { fieldPath } from "../model/field-path.ts";
import type { DescriptorModel, RateLimitModel } from "../model/model.ts";
import { findRuleWarnings } from "./rule-warnings.ts";

const LIMIT: RateLimitModel = { unit: "second", requestsPerUnit: 1, unlimited: false, name: "", replaces: [] };

function rule(key: string, more: Partial<DescriptorModel> = {}): DescriptorModel {
  const flags = {
    shadowMode: false,
    detailedMetric: false,
    quotaMode: false,
    valueToMetric: false,
    shareThreshold: false,
  };
  return { key, value: "", descriptors: [], ...flags, ...more };
}

describe("findRuleWarnings()", () => {
  it.each([
    { title: "a limit above 0", rules: [rule("a", { rateLimit: LIMIT })], expected: [] },
    { title: "a rule without a limit", rules: [rule("a")], expected: [] },
    {
      title: "an unlimited rule",
      rules: [rule("a", { rateLimit: { ...LIMIT, requestsPerUnit: 0, unlimited: true } })],
      expected: [],
    },
    {
      title: "a limit of 0 in shadow mode",
      rules: [rule("a", { shadowMode: true, rateLimit: { ...LIMIT, requestsPerUnit: 0 } })],
      expected: [],
    },
    {
      title: "a limit of 0 below another rule",
      rules: [rule("a", { descriptors: [rule("b", { rateLimit: { ...LIMIT, requestsPerUnit: 0 } })] })],
      expected: [
        "descriptors[0].descriptors[0].rateLimit.requestsPerUnit: the limit is 0: every request that meets this rule is rejected",
      ],
    },
    {
      title: "a limit of 0 in a list",
      rules: [rule("a", { rateLimits: [LIMIT, { ...LIMIT, name: "b", requestsPerUnit: 0 }] })],
      expected: [
        "descriptors[0].rateLimits[1].requestsPerUnit: the limit is 0: every request that meets this rule is rejected",
      ],
    },
    {
      title: "a rule that is not reached",
      rules: [rule("a", { value: "*" }), rule("a")],
      expected: ["descriptors[1]: no request reaches this rule: descriptors[0] takes all that it matches"],
    },
    {
      title: "characters that look like others",
      domain: "sh\u043ep",
      rules: [rule("us\u00ader", { descriptors: [rule("a", { value: "b\u202e" })] })],
      expected: [
        "domain: has Latin and Cyrillic letters in one word, which look alike: U+043E at character 3",
        "descriptors[0].key: has invisible characters: U+00AD at character 3",
        "descriptors[0].descriptors[0].value: has bidirectional controls, which change the order of what is shown: U+202E at character 2",
      ],
    },
  ])("findRuleWarnings() finds $expected for $title", ({ domain = "shop", rules, expected }) => {
    const found = findRuleWarnings({ domain, descriptors: rules }, fieldPath);
    expect(found.map(({ path, message }) => `${fieldPath(path)}: ${message}`)).toEqual(expected);
  });
});
