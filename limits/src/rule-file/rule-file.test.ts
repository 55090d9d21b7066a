import { findSetProblems } from "../validate/validate.ts";
import { describe, expect, it } from "vitest";

import { parseRuleFile, parseRuleFileInSteps } from "./rule-file.ts";

/** The error with which a file is refused: by the reader, or by the validator behind it. */
function refusalOf(
  text: string,
): { message: string; line: number | undefined; column: number | undefined } | undefined {
  const file = parseRuleFile("f.yaml", text);
  if (!file.ok) return { message: file.message, line: file.at?.line, column: file.at?.column };
  const [problem] = findSetProblems([file.model], { mergeDomains: false });
  return problem && { message: `f.yaml: ${problem.message}`, ...file.locationOf(problem.path) };
}

const LIMIT = "rate_limit: {unit: day, requests_per_unit: 1}";

describe("parseRuleFile", () => {
  it("parseRuleFile() reads every field", () => {
    const text = `
domain: test-domain
descriptors:
  - key: key1
    value: value*
    shadow_mode: true
    detailed_metric: on
    quota_mode: yes
    value_to_metric: true
    share_threshold: true
    show_values: true
    metadata: {team: payments, tiers: [1, 2.5, null, {deep: yes}], 7: seven}
    rate_limit:
      unit: Minute
      requests_per_unit: 20
      name: first
      replaces:
        - name: second
    descriptors:
      - key: key2
        rate_limit: {unlimited: true}
`;
    expect(parseRuleFile("f.yaml", text)).toEqual({
      ok: true,
      locationOf: expect.any(Function),
      model: {
        name: "f.yaml",
        domain: "test-domain",
        descriptors: [
          {
            key: "key1",
            value: "value*",
            shadowMode: true,
            detailedMetric: true,
            quotaMode: true,
            valueToMetric: true,
            shareThreshold: true,
            showValues: true,
            metadata: { team: "payments", tiers: [1, 2.5, null, { deep: true }], "7": "seven" },
            rateLimit: {
              unit: "Minute",
              requestsPerUnit: 20,
              unlimited: false,
              name: "first",
              replaces: [{ name: "second" }],
            },
            descriptors: [
              {
                key: "key2",
                value: "",
                shadowMode: false,
                detailedMetric: false,
                quotaMode: false,
                valueToMetric: false,
                shareThreshold: false,
                rateLimit: { unit: "", requestsPerUnit: 0, unlimited: true, name: "", replaces: [] },
                descriptors: [],
              },
            ],
          },
        ],
      },
    });
  });

  it("parseRuleFile() reads every field of limits beyond fixed windows", () => {
    const text = `
domain: d
descriptors:
  - key: bucket
    rate_limit: {unit: minute, unit_multiplier: 5, requests_per_unit: 100, algorithm: token_bucket, burst: 20, count_rejected_hits: true}
  - key: several
    rate_limits:
      - {name: short, unit: second, requests_per_unit: 5}
      - {name: long, unit: month, requests_per_unit: 900, time_zone: Europe/Zurich, month_day: 15}
  - key: none
    rate_limits:
    rate_limit: {unit: day, burst: , algorithm: ~}
`;
    const file = parseRuleFile("f.yaml", text);
    const limit = { unlimited: false, name: "", replaces: [] };
    expect(file.ok && file.model.descriptors.map(({ rateLimit, rateLimits }) => rateLimit ?? rateLimits)).toEqual([
      {
        ...limit,
        unit: "minute",
        unitMultiplier: 5,
        requestsPerUnit: 100,
        algorithm: "token_bucket",
        burst: 20,
        countRejectedHits: true,
      },
      [
        { ...limit, name: "short", unit: "second", requestsPerUnit: 5 },
        { ...limit, name: "long", unit: "month", requestsPerUnit: 900, timeZone: "Europe/Zurich", monthDay: 15 },
      ],
      { ...limit, unit: "day", requestsPerUnit: 0 },
    ]);
  });

  it.each([
    ["a number", "123", "123"],
    ["a hexadecimal number as written", "0x7B", "0x7B"],
    ["a boolean as written", "yes", "yes"],
    ["a date", "2001-01-01", "2001-01-01"],
    ["null as nothing", "~", ""],
    ["an address", "10.0.0.1", "10.0.0.1"],
    ["an escaped quote", "'it''s'", "it's"],
  ])("parseRuleFile() reads %s as the text of a value", (_what, written, value) => {
    const file = parseRuleFile("f.yaml", `domain: d\ndescriptors: [{key: k, value: ${written}}]\n`);
    expect(file.ok && file.model.descriptors[0]?.value).toBe(value);
  });

  it("parseRuleFile() accepts an allowed key where it has no meaning", () => {
    expect(parseRuleFile("f.yaml", "domain: d\nunit: day\nname: x\n")).toMatchObject({
      ok: true,
      model: { domain: "d", descriptors: [] },
    });
  });

  it("parseRuleFile() reads no limit when rate_limit is null, and one without unit when it is empty", () => {
    const file = parseRuleFile(
      "f.yaml",
      "domain: d\ndescriptors: [{key: a, rate_limit: }, {key: b, rate_limit: {}}]\n",
    );
    expect(file.ok && file.model.descriptors.map((descriptor) => descriptor.rateLimit?.unit)).toEqual([undefined, ""]);
  });

  it("parseRuleFile() reads the largest number of requests", () => {
    const file = parseRuleFile(
      "f.yaml",
      "domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 4294967295}}]\n",
    );
    expect(file.ok && file.model.descriptors[0]?.rateLimit?.requestsPerUnit).toBe(4294967295);
  });

  it.each([
    [
      "case 44: units beyond the day, in any letter case",
      "domain: d\ndescriptors: [{key: a, rate_limit: {unit: WEEK}}, {key: b, rate_limit: {unit: Month}}, {key: c, rate_limit: {unit: year}}]\n",
    ],
    [
      "case 45: unlimited without unit and requests",
      "domain: d\ndescriptors: [{key: a, rate_limit: {unlimited: true}}]\n",
    ],
    [
      "case 46: free keys inside metadata",
      "domain: d\ndescriptors: [{key: a, metadata: {anything: {1.5: x}, more: [a, b]}}]\n",
    ],
  ])("parseRuleFile() accepts %s", (_what, text) => {
    expect(refusalOf(text)).toBeUndefined();
  });

  it.each([
    ["case 27: no domain", `descriptors:\n  - key: a\n    ${LIMIT}\n`, "config file cannot have empty domain", 1, 1],
    ["case 27: an empty file", "", "config file cannot have empty domain", 1, 1],
    [
      "case 29: a value without a key",
      `domain: d\ndescriptors:\n  - value: v\n    ${LIMIT}\n`,
      "descriptor has empty key",
      3,
      5,
    ],
    [
      "case 30: a composite key twice at one level",
      `domain: test-domain\ndescriptors:\n  - {key: key1, value: value1, ${LIMIT}}\n  - {key: key1, value: value1, ${LIMIT}}\n`,
      "duplicate descriptor composite key 'test-domain.key1_value1'",
      4,
      11,
    ],
    [
      "case 32: an unknown unit",
      "domain: d\ndescriptors:\n  - key: a\n    rate_limit:\n      unit: foo\n",
      "invalid rate limit unit 'foo'",
      5,
      13,
    ],
    [
      "case 32: no unit",
      "domain: d\ndescriptors:\n  - key: a\n    rate_limit:\n      requests_per_unit: 1\n",
      "invalid rate limit unit ''",
      5,
      7,
    ],
    [
      "case 33: a rule that replaces itself",
      "domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, name: n, replaces: [{name: n}]}}]\n",
      "replaces should not contain name of same descriptor",
      2,
      75,
    ],
    [
      "case 34: an empty replaces entry",
      "domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, replaces: [{name: ''}]}}]\n",
      "should not have an empty replaces entry",
      2,
      66,
    ],
    [
      "case 35: broken YAML",
      "domain: d\n'''\n",
      "error loading config file: yaml: line 2: implicit keys need to be on a single line",
      2,
      1,
    ],
    [
      "case 35: an open quote",
      "'''",
      "error loading config file: yaml: line 2: found unexpected end of stream (missing closing 'quote)",
      2,
      1,
    ],
    [
      "case 36: a misspelled rate_limit",
      "domain: d\ndescriptors:\n  - key: a\n    ratelimit:\n      unit: day\n",
      "config error, unknown key 'ratelimit'",
      4,
      5,
    ],
    [
      "case 37: a misspelled requests_per_unit",
      "domain: d\ndescriptors:\n  - key: a\n    rate_limit:\n      requestsperunit: 1\n",
      "config error, unknown key 'requestsperunit'",
      5,
      7,
    ],
    ["case 38: a number as a key", "domain: d\n0.25: x\n", "config error, key is not of type string: 0.25", 2, 1],
    ["case 38: a boolean as a key", "domain: d\nyes: x\n", "config error, key is not of type string: true", 2, 1],
    [
      "case 39: a list of texts",
      "domain: d\ndescriptors: [a, b, c]\n",
      "config error, yaml file contains list of type other than map: a",
      2,
      15,
    ],
    [
      "case 39: a list of lists",
      "domain: d\ndescriptors: [[a, b]]\n",
      "config error, yaml file contains list of type other than map: [a b]",
      2,
      15,
    ],
    [
      "case 40: unlimited with a unit",
      "domain: d\ndescriptors:\n  - key: a\n    rate_limit: {unlimited: true, unit: day}\n",
      "should not specify rate limit unit when unlimited",
      4,
      41,
    ],
    [
      "case 41: share_threshold without a wildcard",
      "domain: d\ndescriptors: [{key: a, value: b, share_threshold: true}]\n",
      "share_threshold can only be used with wildcard values (containing '*'), but found key 'a_b'",
      2,
      51,
    ],
    [
      "case 42: a fraction as a value",
      "domain: d\ndescriptors:\n  - key: a\n    value: 1.5\n",
      "error checking config",
      4,
      12,
    ],
    [
      "case 42: an integer above 64 bits",
      "domain: d\ndescriptors: [{key: a, value: 9223372036854775808}]\n",
      "error checking config",
      2,
      31,
    ],
    [
      "case 43: a negative number of requests",
      "domain: d\ndescriptors:\n  - key: a\n    rate_limit:\n      unit: day\n      requests_per_unit: -1\n",
      "error loading config file: yaml: unmarshal errors:\n  line 6: cannot unmarshal !!int `-1` into uint32 (requests_per_unit must be a whole number from 0 to 4294967295)",
      6,
      26,
    ],
    [
      "case 43: more requests than 32 bits can represent",
      "domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 4294967296}}]\n",
      "error loading config file: yaml: unmarshal errors:\n  line 2: cannot unmarshal !!int `4294967296` into uint32 (requests_per_unit must be a whole number from 0 to 4294967295)",
      2,
      67,
    ],
    [
      "a multiplier of 0",
      "domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, unit_multiplier: 0}}]\n",
      "invalid unit multiplier of 0",
      2,
      65,
    ],
    [
      "a burst of more than 32 bits",
      "domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, algorithm: token_bucket, burst: 4294967296}}]\n",
      "error loading config file: yaml: unmarshal errors:\n  line 2: cannot unmarshal !!int `4294967296` into uint32 (burst must be a whole number from 0 to 4294967295)",
      2,
      80,
    ],
    [
      "a list of one limit",
      "domain: d\ndescriptors:\n  - key: a\n    rate_limits: [{name: n, unit: day}]\n",
      "a list has 2 to 8 limits, current number is 1",
      4,
      18,
    ],
    [
      "a limit of a list that replaces another",
      "domain: d\ndescriptors:\n  - key: a\n    rate_limits:\n      - {name: n, unit: day}\n      - {name: m, unit: day, replaces: [{name: x}]}\n",
      "a limit of a list cannot replace others: remove it",
      6,
      40,
    ],
    [
      "a long text as a number of requests",
      "domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 'as many as you want'}}]\n",
      "error loading config file: yaml: unmarshal errors:\n  line 2: cannot unmarshal !!str `as many...` into uint32 (requests_per_unit must be a whole number from 0 to 4294967295)",
      2,
      67,
    ],
    [
      "several values of a wrong kind",
      "domain: [{key: a}]\ndescriptors:\n  - key: a\n    shadow_mode: 1\n  - {key: b, rate_limit: daily}\n",
      "error loading config file: yaml: unmarshal errors:\n  line 1: cannot unmarshal !!seq into string (domain)\n  line 4: cannot unmarshal !!int `1` into bool (shadow_mode must be true or false)\n  line 5: cannot unmarshal !!str `daily` into a map (rate_limit)",
      1,
      9,
    ],
    [
      "a map of descriptors",
      "domain: d\ndescriptors: {key: a}\n",
      "error loading config file: yaml: unmarshal errors:\n  line 2: cannot unmarshal !!map into a list of maps (descriptors)",
      2,
      14,
    ],
    [
      "a list as the whole",
      "- key: a\n",
      "error loading config file: yaml: unmarshal errors:\n  line 1: cannot unmarshal !!seq into a map",
      1,
      1,
    ],
    [
      "metadata that is no map",
      "domain: d\ndescriptors: [{key: a, metadata: 1.5}]\n",
      "error loading config file: yaml: unmarshal errors:\n  line 2: cannot unmarshal !!float `1.5` into a map (metadata)",
      2,
      34,
    ],
    [
      "metadata that JSON cannot represent",
      "domain: d\ndescriptors: [{key: a, metadata: {x: .nan}}]\n",
      "error parsing metadata: a number must be finite, current value is NaN",
      2,
      34,
    ],
  ])("parseRuleFile() refuses %s", (_what, text, message, line, column) => {
    expect(refusalOf(text)).toEqual({ message: `f.yaml: ${message}`, line, column });
  });

  it("parseRuleFile() names an unknown key and not the problem behind it when there are both", () => {
    expect(refusalOf("descriptor: []\ndomain: ''\n")?.message).toBe("f.yaml: config error, unknown key 'descriptor'");
  });

  it("parseRuleFile() refuses a file of more than 4 MiB", () => {
    expect(refusalOf(`domain: d\n${"#".repeat(4 * 1024 * 1024)}\n`)?.message).toBe(
      "f.yaml: error loading config file: it is longer than 4194304 characters, current length is 4194315",
    );
  });

  it("parseRuleFile() takes names of object members for keys like any other", () => {
    expect(refusalOf("__proto__: {domain: d}\n")?.message).toBe("f.yaml: config error, unknown key '__proto__'");
    expect(refusalOf("constructor: x\n")?.message).toBe("f.yaml: config error, unknown key 'constructor'");
  });

  it("locationOf() answers the place around it when a field is not written", () => {
    const file = parseRuleFile(
      "f.yaml",
      "domain: d\ndescriptors:\n  - key: a\n    rate_limit:\n      requests_per_unit: 1\n",
    );
    expect(file.ok && file.locationOf(["descriptors", 0, "rateLimit", "unit"])).toEqual({ line: 5, column: 7 });
    expect(file.ok && file.locationOf(["descriptors", 0, "rateLimit", "requestsPerUnit"])).toEqual({
      line: 5,
      column: 26,
    });
  });

  it("parseRuleFileInSteps() returns the same result in steps of which none reads more than some hundred lines", () => {
    const lines = Array.from({ length: 1000 }, (_, index) => `  - {key: k, value: v${index}, ${LIMIT}}\n`);
    const text = `domain: d\ndescriptors:\n${lines.join("")}`;
    const steps = parseRuleFileInSteps("f.yaml", text);
    let count = 1;
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) count += 1;
    expect(step.value.ok && step.value.model.descriptors).toHaveLength(1000);
    expect(step.value).toEqual({ ...parseRuleFile("f.yaml", text), locationOf: expect.any(Function) });
    expect(count).toBeGreaterThan(5);
  });
});
