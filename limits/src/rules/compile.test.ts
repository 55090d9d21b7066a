// Matching, statistics keys and the dump of compiled rules, by the conformance cases.
import { describe, expect, it } from "vitest";
import { changedDomainSteps, compileRules, compileSteps } from "./compile.ts";
import {
  attachKeys,
  configuration,
  CONFIGURATION_B,
  descriptor,
  entries,
  limit,
  unlimited,
} from "./configuration.suite.ts";
import { inOneGo } from "../model/in-one-go.ts";
import type { RateLimitConfigModel } from "../model/model.ts";
import { mostInOneStep } from "../model/most-in-one-step.suite.ts";
import type { RuleMatch } from "./rule.ts";

function compile(...configs: readonly RateLimitConfigModel[]) {
  return compileRules(configs, attachKeys);
}

/** The match of a descriptor in the only domain of a configuration. */
function match(config: RateLimitConfigModel, ...pairs: readonly string[]): RuleMatch<string> | undefined {
  return compile(config)
    .domain(config.domain)
    ?.match(entries(...pairs));
}

/** `<requests> <unit number>` of the match, or "none". */
function limitText(found: RuleMatch<string> | undefined): string {
  if (found === undefined) return "none";
  return found.rule.unlimited ? "unlimited" : `${found.rule.limit.requestsPerUnit} per ${found.rule.windowSeconds} s`;
}

describe("changedDomainSteps()", () => {
  const config = (domain: string): RateLimitConfigModel => configuration(domain, [descriptor({ key: "k" })]);

  it("changedDomainSteps() names the domains that are new, have other objects, or more, fewer or a new order of them", () => {
    const [same, edited, more, second, fewer, third] = ["same", "edited", "more", "more", "fewer", "fewer"].map(config);
    const [one, other] = [config("order"), config("order")];
    const before = compile(same!, edited!, more!, fewer!, third!, one, other, config("gone"));
    const after = [config("new"), same!, config("edited"), more!, second!, fewer!, other, one];
    expect([...inOneGo(changedDomainSteps(after, before))]).toEqual(["new", "edited", "more", "fewer", "order"]);
    expect([...inOneGo(changedDomainSteps([same!], undefined))]).toEqual(["same"]);
  });

  it("changedDomainSteps() and compileSteps() look at few of many domains in each step", () => {
    let looks = 0;
    const counted = Array.from({ length: 1000 }, (_, index) => ({
      ...config(""),
      get domain() {
        looks += 1;
        return `domain-${index}`;
      },
    }));
    const rules = compile(...counted);
    const before = {
      ...rules,
      domain(name: string) {
        looks += 1;
        return rules.domain(name);
      },
    };
    expect(mostInOneStep(changedDomainSteps(counted, before), () => looks)).toBeLessThanOrEqual(128);
    expect(mostInOneStep(compileSteps(counted, attachKeys, before), () => looks)).toBeLessThanOrEqual(128);
  });
});

describe("match() over configuration B", () => {
  it.each([
    { case: 1, pairs: [], limit: "none" },
    { case: 3, pairs: ["key1=something"], limit: "none" },
    { case: 4, pairs: ["key1=value1"], limit: "none" },
    { case: 5, pairs: ["key2=value2", "subkey=subvalue"], limit: "none" },
    { case: 6, pairs: ["key5=value5", "subkey5=subvalue"], limit: "none" },
    {
      case: 7,
      pairs: ["key1=value1", "subkey1=something"],
      limit: "5 per 1 s",
      key: "test-domain.key1_value1.subkey1",
    },
    {
      case: 8,
      pairs: ["key1=value1", "subkey1=subvalue1"],
      limit: "10 per 1 s",
      key: "test-domain.key1_value1.subkey1_subvalue1",
    },
    { case: 9, pairs: ["key2=something"], limit: "20 per 60 s", key: "test-domain.key2" },
    { case: 10, pairs: ["key2=value2"], limit: "30 per 60 s", key: "test-domain.key2_value2" },
    { case: 11, pairs: ["key2=value3"], limit: "none" },
    { case: 12, pairs: ["key3=foo"], limit: "1 per 3600 s", key: "test-domain.key3", name: "" },
    { case: 13, pairs: ["key4=foo"], limit: "1 per 86400 s", key: "test-domain.key4", name: "key4_rate_limit" },
    { case: 14, pairs: ["key5=value5"], limit: "15 per 86400 s", key: "test-domain.key5_value5" },
    { case: 15, pairs: ["key6=foo"], limit: "unlimited", key: "test-domain.key6" },
    { case: 16, pairs: ["key7=unspecified_value"], limit: "70 per 60 s", key: "test-domain.key7_unspecified_value" },
    { case: 16, pairs: ["key7=another_value"], limit: "70 per 60 s", key: "test-domain.key7_another_value" },
    { case: 17, pairs: ["Key2=something"], limit: "none" },
  ])("case $case: match() finds $limit when the descriptor is $pairs", ({ pairs, limit: expected, key, name }) => {
    const found = match(CONFIGURATION_B, ...pairs);
    expect(limitText(found)).toBe(expected);
    expect(found?.statisticsKey).toBe(key);
    if (name !== undefined) expect(found?.rule.limit.name).toBe(name);
  });

  it("case 2: domain() is undefined when no configuration names the domain", () => {
    expect(compile(CONFIGURATION_B).domain("foo_domain")).toBeUndefined();
  });
});

describe("match() by composite keys", () => {
  const rules = configuration("d", [descriptor({ key: "a", value: "b", rateLimit: limit(1, "hour") })]);

  it("case 18: match() finds the rule of (a, b) when the request has key a_b and an empty value", () => {
    expect(match(rules, "a_b=")?.statisticsKey).toBe("d.a_b");
  });

  it("match() finds a rule with the key a_b when the request has (a, b)", () => {
    const config = configuration("d", [descriptor({ key: "a_b", rateLimit: limit(2, "hour") })]);
    expect(match(config, "a=b")?.statisticsKey).toBe("d.a_b");
    expect(match(config, "a_b=anything")?.statisticsKey).toBe("d.a_b");
  });

  it("match() looks an empty value up with its underscore before the key alone", () => {
    const config = configuration("d", [
      descriptor({ key: "a_", rateLimit: limit(1, "hour") }),
      descriptor({ key: "a", rateLimit: limit(2, "hour") }),
    ]);
    expect(match(config, "a=")?.statisticsKey).toBe("d.a_");
    expect(match(config, "a=x")?.statisticsKey).toBe("d.a");
  });

  it("match() finds a rule when key and value contain underscores and the request splits them elsewhere", () => {
    const config = configuration("d", [descriptor({ key: "x_y", value: "z_w", rateLimit: limit(1, "hour") })]);
    for (const pair of ["x=y_z_w", "x_y=z_w", "x_y_z=w"])
      expect(match(config, pair)?.statisticsKey, pair).toBe("d.x_y_z_w");
    expect(match(config, "x_y=z")).toBeUndefined();
  });

  it("match() does not go back when the chosen child has no match deeper", () => {
    const config = configuration("d", [
      descriptor({
        key: "a",
        value: "b",
        descriptors: [descriptor({ key: "c", value: "d", rateLimit: limit(1, "hour") })],
      }),
      descriptor({ key: "a", descriptors: [descriptor({ key: "c", rateLimit: limit(2, "hour") })] }),
    ]);
    expect(match(config, "a=b", "c=other")).toBeUndefined();
    expect(match(config, "a=z", "c=other")?.statisticsKey).toBe("d.a.c");
  });
});

describe("compileRules()", () => {
  it("case 19: compileRules() finds the rules of both files when two configurations name one domain", () => {
    const rules = compile(
      configuration("d", [descriptor({ key: "key1", value: "value1", rateLimit: limit(10, "minute") })]),
      configuration("d", [descriptor({ key: "key2", value: "value2", rateLimit: limit(20, "minute") })]),
    );
    expect(rules.domains).toBe(1);
    expect(limitText(rules.domain("d")?.match(entries("key1=value1")))).toBe("10 per 60 s");
    expect(limitText(rules.domain("d")?.match(entries("key2=value2")))).toBe("20 per 60 s");
  });

  it("dump() prints one line per limit, also when it is unlimited, shadowed or a quota", () => {
    const rules = compile(
      configuration("foo", [
        descriptor({ key: "k1", value: "v1", rateLimit: limit(3, "minute") }),
        descriptor({ key: "k2", descriptors: [descriptor({ key: "k3", rateLimit: unlimited() })] }),
        descriptor({ key: "k4", rateLimit: limit(1, "Week"), shadowMode: true, quotaMode: true }),
      ]),
    );
    expect(rules.dump()).toBe(
      [
        "foo.k1_v1: unit=MINUTE requests_per_unit=3, shadow_mode: false, quota_mode: false\n",
        "foo.k2.k3: unit=UNKNOWN requests_per_unit=0, shadow_mode: false, quota_mode: false\n",
        "foo.k4: unit=WEEK requests_per_unit=1, shadow_mode: true, quota_mode: true\n",
      ].join(""),
    );
  });

  it("dump() is empty when there is no configuration", () => {
    expect(compile().dump()).toBe("");
    expect(compile().domains).toBe(0);
  });
});

describe("override()", () => {
  it("case 21: override() ignores the rules and names the counters by the entries when the request brings a limit", () => {
    const found = compile(CONFIGURATION_B)
      .domain("test-domain")
      ?.override(entries("key1=value1", "subkey1=something"), { requestsPerUnit: 10, unit: 4 });
    expect(limitText(found)).toBe("10 per 86400 s");
    expect(found?.statisticsKey).toBe("test-domain.key1_value1.subkey1_something");
  });

  it("case 24: override() is neither shadow nor quota nor named when the rule is", () => {
    const config = configuration("d", [
      descriptor({
        key: "a",
        rateLimit: limit(1, "hour", { name: "n", replaces: [{ name: "m" }] }),
        shadowMode: true,
        quotaMode: true,
      }),
    ]);
    const found = compile(config).domain("d")?.override(entries("a=b"), { requestsPerUnit: 5, unit: 1 });
    expect(found?.rule).toMatchObject({
      shadowMode: false,
      quotaMode: false,
      unlimited: false,
      replaces: [],
      limit: { name: "" },
    });
  });

  it("case 25: override() limits when the entries match no rule", () => {
    const found = compile(CONFIGURATION_B)
      .domain("test-domain")
      ?.override(entries("nothing=here"), { requestsPerUnit: 5, unit: 7 });
    expect(limitText(found)).toBe("5 per 604800 s");
  });

  it.each([0, 8, -1, 1.5])("case 26: override() is undefined when the unit is %s", (unit) => {
    expect(
      compile(CONFIGURATION_B).domain("test-domain")?.override(entries("key2=a"), { requestsPerUnit: 5, unit }),
    ).toBeUndefined();
  });

  it("override() omits the value in the statistics key only when it is empty", () => {
    const found = compile(CONFIGURATION_B)
      .domain("test-domain")
      ?.override(entries("a=", "b=c"), { requestsPerUnit: 5, unit: 1 });
    expect(found?.statisticsKey).toBe("test-domain.a.b_c");
  });
});
