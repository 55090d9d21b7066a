// Which rule rejected: the header, the dynamic metadata and the debug lines that say so.
import { createLog, type LogLevel } from "@weir/common/log/log";
import { describe, expect, it } from "vitest";
import { StoreError } from "../counters/store-error.ts";
import { configuration, descriptor, entries, limit } from "@weir/limits/rules/configuration.suite";
import type { DecideOptions } from "./decider.ts";
import { ReplyingCounter, DeciderFixture, type DeciderFixtureOptions } from "./decider.suite.ts";

const OVER = 11;
const FINE = 1;

const RULES = [
  descriptor({ key: "rate", rateLimit: limit(10, "minute") }),
  descriptor({ key: "other", rateLimit: limit(10, "minute") }),
  descriptor({ key: "quota1", rateLimit: limit(10, "minute"), quotaMode: true }),
  descriptor({ key: "quota2", rateLimit: limit(10, "minute"), quotaMode: true }),
  descriptor({ key: "shadow", rateLimit: limit(10, "minute"), shadowMode: true }),
];

function open(
  replies: readonly (number | StoreError)[],
  options: Partial<DecideOptions> = {},
  further: Partial<DeciderFixtureOptions> = {},
): DeciderFixture {
  const counter = new ReplyingCounter(replies);
  return new DeciderFixture({
    configs: [configuration("domain", RULES)],
    counter,
    options: { ruleHeader: "x-rule", ...options },
    ...further,
  });
}

function decide(fixture: DeciderFixture, ...keys: readonly string[]) {
  const { decision } = fixture.decide({ descriptors: keys.map((key) => ({ entries: entries(`${key}=secret`) })) });
  return { code: decision.overallCode, rule: decision.headers?.find(({ key }) => key === "x-rule")?.value, decision };
}

describe("decide() LIMIT_RULE_HEADER", () => {
  it.each([
    { keys: ["rate", "other"], replies: [FINE, OVER], rule: "domain.other" },
    { keys: ["other", "rate"], replies: [OVER, OVER], rule: "domain.other" },
    { keys: ["shadow", "rate"], replies: [OVER, OVER], rule: "domain.rate" },
    // A quota that is over while another one is not has rejected nothing.
    { keys: ["quota1", "quota2", "rate"], replies: [OVER, FINE, OVER], rule: "domain.rate" },
    { keys: ["quota1", "rate"], replies: [OVER, FINE], rule: "domain.quota1" },
    { keys: ["rate", "quota1", "quota2"], replies: [FINE, OVER, OVER], rule: "domain.quota1" },
    { keys: ["quota1", "rate"], replies: [OVER, OVER], rule: "domain.quota1" },
  ])("decide() names $rule when $keys count $replies of 10", ({ keys, replies, rule }) => {
    expect(decide(open(replies), ...keys)).toMatchObject({ code: 2, rule });
  });

  it.each([
    { what: "nothing is over", keys: ["rate"], replies: [FINE], options: {} },
    { what: "the rule is in shadow mode", keys: ["shadow"], replies: [OVER], options: {} },
    { what: "one of two quotas is left", keys: ["quota1", "quota2"], replies: [OVER, FINE], options: {} },
    { what: "global shadow mode lets the call pass", keys: ["rate"], replies: [OVER], options: { shadowMode: true } },
  ])("decide() names no rule when $what", ({ keys, replies, options }) => {
    expect(decide(open(replies, options), ...keys)).toMatchObject({ code: 1, rule: undefined });
  });

  it("decide() names the first quota when QUOTA_MODE makes quotas of all", () => {
    expect(decide(open([OVER, OVER], { quotaMode: true }), "rate", "other")).toMatchObject({
      code: 2,
      rule: "domain.rate",
    });
  });

  it("decide() names the rule of a key that the local cache knows, in the dynamic metadata too", () => {
    const fixture = open([OVER], { dynamicMetadata: true }, { localCacheBytes: 10_000 });
    decide(fixture, "rate");
    const { code, rule, decision } = decide(fixture, "rate");
    expect({ code, rule }).toEqual({ code: 2, rule: "domain.rate" });
    expect(decision.dynamicMetadata?.["limitRule"]).toBe("domain.rate");
  });

  it("decide() names no rule when it denies because the store has failed, save one that is known to be over", () => {
    const failed = new StoreError("STORE_UNAVAILABLE", "cache error");
    const fixture = open([OVER, failed, failed], { failureMode: "deny" }, { localCacheBytes: 10_000 });
    decide(fixture, "other");
    expect(decide(fixture, "rate")).toMatchObject({ code: 2, rule: undefined });
    expect(decide(fixture, "rate", "other")).toMatchObject({ code: 2, rule: "domain.other" });
  });

  it("decide() keeps a call with a quota alive when the store has failed and failures are allowed", () => {
    const fixture = open(
      [OVER, new StoreError("STORE_UNAVAILABLE", "cache error")],
      { failureMode: "allow" },
      { localCacheBytes: 10_000 },
    );
    decide(fixture, "quota1");
    expect(decide(fixture, "quota1", "quota2")).toMatchObject({ code: 1, rule: undefined });
  });
});

describe("decide() debug lines", () => {
  function openLogged(level: LogLevel, replies: readonly number[], options: Partial<DecideOptions> = {}) {
    const lines: unknown[] = [];
    const write = (line: string): void => {
      const { "@timestamp": _, ...fields } = JSON.parse(line) as Record<string, unknown>;
      lines.push(fields);
    };
    const log = createLog({ level, format: "json", write });
    return { fixture: open(replies, { ruleHeader: undefined, ...options }, { log }), lines };
  }
  const line = (rule: string, shadowMode = false) => ({
    level: "debug",
    "@message": "A rule rejected a call",
    domain: "domain",
    rule,
    shadowMode,
  });

  it("decide() names each rule once a second, and no value of a request", () => {
    const { fixture, lines } = openLogged(
      "debug",
      Array.from({ length: 7 }, () => OVER),
    );
    for (const key of ["rate", "rate", "other", "rate", "other"]) decide(fixture, key);
    expect(lines).toEqual([line("domain.rate"), line("domain.other")]);
    fixture.nowMs += 1000;
    decide(fixture, "rate");
    decide(fixture, "rate");
    expect(lines.slice(2)).toEqual([{ ...line("domain.rate"), repeats: 2 }]);
    expect(JSON.stringify(lines)).not.toContain("secret");
  });

  it("decide() says that SHADOW_MODE let the call pass", () => {
    const { fixture, lines } = openLogged("debug", [OVER], { shadowMode: true });
    decide(fixture, "rate");
    expect(lines).toEqual([line("domain.rate", true)]);
  });

  it("decide() names the limit that a request brought along without its values", () => {
    const { fixture, lines } = openLogged("debug", [OVER, OVER]);
    for (const value of ["a", "b"]) {
      fixture.decide({
        descriptors: [{ entries: entries(`secret=${value}`), limit: { requestsPerUnit: 1, unit: 2 } }],
      });
    }
    expect(lines).toEqual([line("domain.override")]);
  });

  it("decide() says nothing when nothing is rejected, or debug lines are not wanted", () => {
    const passing = openLogged("debug", [FINE, OVER]);
    decide(passing.fixture, "rate");
    decide(passing.fixture, "shadow");
    expect(passing.lines).toEqual([]);
    const quiet = openLogged("info", [OVER]);
    decide(quiet.fixture, "rate");
    expect(quiet.lines).toEqual([]);
  });
});
