// Tests of explain.ts: every outcome, every reason for a rule, counter and window, and that the answer is always
// the matcher's own.
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { compositeKey, type DescriptorModel } from "../model/model.ts";
import { UNIT_SECONDS } from "../model/unit.ts";
import { validConfig } from "../model/valid-config.suite.ts";
import { compileRules } from "../rules/compile.ts";
import { attachKeys, descriptor, entries, limit, unlimited } from "../rules/configuration.suite.ts";
import type { Entry } from "../rules/rule.ts";
import { type ExplainedDescriptor, type ExplainedLevel, explainRequest, type Verdict } from "./explain.ts";

const RULES: readonly DescriptorModel[] = [
  descriptor({ key: "path", value: "/cart", shadowMode: true, rateLimit: limit(10, "minute", { name: "cart" }) }),
  descriptor({ key: "path", value: "/c*", shareThreshold: true, rateLimit: limit(20, "hour") }),
  descriptor({ key: "path", value: "*", rateLimit: limit(30, "day") }),
  descriptor({
    key: "user",
    rateLimit: limit(0, "second", { replaces: [{ name: "cart" }] }),
    descriptors: [descriptor({ key: "method", value: "GET", detailedMetric: true, rateLimit: unlimited() })],
  }),
  descriptor({ key: "user", value: "admin" }),
  descriptor({
    key: "plan",
    value: "free",
    descriptors: [descriptor({ key: "user", valueToMetric: true, quotaMode: true, rateLimit: limit(5, "week") })],
  }),
];

const TAKEN: ReadonlySet<Verdict> = new Set(["exact", "pattern", "any-value"]);

/** 2026-01-31T12:34:56Z. */
const AT_MS = 1_769_862_896_000;

function explain(...descriptors: readonly string[]): readonly ExplainedDescriptor[] {
  const request = descriptors.map((text) => entries(...text.split(",")));
  return explainRequest("shop", RULES, { descriptors: request, atMs: AT_MS, keyPrefix: "" });
}

function verdicts({ levels }: ExplainedDescriptor): readonly string[] {
  return levels.flatMap(({ candidates }) =>
    candidates.map(({ descriptor: rule, verdict }) => `${compositeKey(rule)} ${verdict}`),
  );
}

/**
 * The entries of a request that goes down the rules: at each level to the rule that the pick falls
 * on.
 */
function entriesAlong(rules: readonly DescriptorModel[], picks: readonly number[]): readonly Entry[] {
  const entries: Entry[] = [];
  let level = rules;
  for (const pick of picks) {
    const rule = level[pick % level.length];
    if (rule === undefined) break;
    entries.push({ key: rule.key.replaceAll("*", "x"), value: rule.value.replaceAll("*", "x") });
    level = rule.descriptors;
  }
  return entries;
}

describe("explainRequest()", () => {
  it("takes the exact value before patterns and keys", () => {
    const [explained] = explain("path=/cart");
    expect(explained && verdicts(explained)).toEqual([
      "path_/cart exact",
      "path_/c* comes-later",
      "path_* comes-later",
      "user key-differs",
      "user_admin key-differs",
      "plan_free key-differs",
    ]);
    expect(explained?.match?.rule).toMatchObject({
      path: "shop.path_/cart",
      limit: { requestsPerUnit: 10, unit: 2, name: "cart" },
      shadowMode: true,
    });
    expect(explained?.counter).toEqual({
      key: "shop_path_/cart_1769862840",
      window: { startSeconds: 1_769_862_840, endSeconds: 1_769_862_900, resetSeconds: 4 },
    });
  });

  it("takes the first pattern that matches, and shares its counter", () => {
    const [explained] = explain("path=/checkout");
    expect(explained && verdicts(explained).slice(0, 3)).toEqual([
      "path_/cart value-differs",
      "path_/c* pattern",
      "path_* comes-later",
    ]);
    expect(explained?.match?.sharedValues).toEqual(["/c*"]);
    expect(explained?.counter?.key).toBe("shop_path_/c*_1769860800");
  });

  it.each([
    { descriptor: "path=/", outcome: "limit", path: ["path_*"], counterKey: "shop_path_/_1769817600" },
    { descriptor: "user=", outcome: "limit", path: ["user"], counterKey: "shop_user__1769862896" },
    { descriptor: "user=admin", outcome: "exempt", path: ["user_admin"], counterKey: undefined },
    { descriptor: "user=1,method=GET", outcome: "limit", path: ["user", "method_GET"], counterKey: undefined },
    { descriptor: "user=1,method=POST", outcome: "no-rule", path: ["user"], counterKey: undefined },
    { descriptor: "user=admin,method=GET", outcome: "too-many-entries", path: ["user_admin"], counterKey: undefined },
    { descriptor: "path=/cart,method=GET", outcome: "too-many-entries", path: ["path_/cart"], counterKey: undefined },
    { descriptor: "plan=free", outcome: "needs-more-entries", path: ["plan_free"], counterKey: undefined },
    { descriptor: "plan=gold", outcome: "no-rule", path: [], counterKey: undefined },
    { descriptor: "Path=/cart", outcome: "no-rule", path: [], counterKey: undefined },
    {
      descriptor: "plan=free,user=1",
      outcome: "limit",
      path: ["plan_free", "user"],
      counterKey: "shop_plan_free_user_1_1769644800",
    },
  ])("leads $descriptor to $outcome", ({ descriptor, outcome, path, counterKey }) => {
    const [explained] = explain(descriptor);
    expect(explained?.outcome).toBe(outcome);
    expect(explained?.taken.map(compositeKey)).toEqual(path);
    expect(explained?.counter?.key).toBe(counterKey);
  });

  it.each([
    { descriptor: "plan=free,user=1", statistics: "ratelimit.service.rate_limit.shop.plan_free.user_1" },
    { descriptor: "user=7,method=GET", statistics: "ratelimit.service.rate_limit.shop.user_7.method_GET" },
    { descriptor: "path=/x", statistics: "ratelimit.service.rate_limit.shop.path_*" },
  ])("counts $descriptor under $statistics", ({ descriptor, statistics }) => {
    expect(explain(descriptor)[0]?.match?.attachment).toBe(statistics);
  });

  it("says which limit of the call replaces another, which then is not counted", () => {
    const [cart, user] = explain("path=/cart", "user=1");
    expect(cart).toMatchObject({ replacedBy: { descriptor: 2, name: "cart" } });
    expect(cart?.counter?.key).toBeUndefined();
    expect(user?.replacedBy).toBeUndefined();
    expect(user?.counter?.key).toBe("shop_user_1_1769862896");
  });

  it("puts the prefix before the key", () => {
    const [explained] = explainRequest("shop", RULES, {
      descriptors: [entries("user=1")],
      atMs: AT_MS,
      keyPrefix: "blue:",
    });
    expect(explained?.counter?.key).toBe("blue:shop_user_1_1769862896");
  });

  it("agrees with the matcher on random rules and requests", () => {
    const entry = fc.record({
      key: fc.constantFrom("a", "b", "a_b", "k", "kx"),
      value: fc.constantFrom("", "b", "c", "b_c", "vw", "vxw"),
    });
    // Picks lead a request down the tree first, so that many find a limit; then it may stray.
    const request = fc.record({
      picks: fc.array(fc.nat(), { minLength: 1, maxLength: 4 }),
      strays: fc.array(entry, { maxLength: 1 }),
    });
    const seen = { limits: 0 };
    fc.assert(
      fc.property(validConfig, fc.array(request, { minLength: 1, maxLength: 8 }), (model, ways) => {
        const requests = ways.map(({ picks, strays }) => [...entriesAlong(model.descriptors, picks), ...strays]);
        const matcher = compileRules([model], attachKeys).domain(model.domain);
        const explained = explainRequest(model.domain, model.descriptors, {
          descriptors: requests,
          atMs: AT_MS,
          keyPrefix: "",
        });
        const marked = ({ candidates }: ExplainedLevel): number =>
          candidates.filter(({ verdict }) => TAKEN.has(verdict)).length;
        const actual = explained.map(({ outcome, taken, match, levels }) => ({
          isLimit: outcome === "limit",
          rule: match?.rule,
          limitAt: match && [model.domain, ...taken.map(compositeKey)].join("."),
          marks: levels.map(marked),
        }));
        const expected = requests.map((entriesOfRequest, index) => {
          const rule = matcher?.match(entriesOfRequest)?.rule;
          if (rule !== undefined) seen.limits += 1;
          const taken = explained[index]?.taken.length ?? 0;
          // One rule of each level is taken, but none of a last one where none matches.
          const marks = explained[index]?.levels.map((_, level) => (level < taken ? 1 : 0));
          return { isLimit: rule !== undefined, rule, limitAt: rule?.path, marks };
        });
        expect(actual).toEqual(expected);
      }),
      { numRuns: 400, seed: 5 },
    );
    expect(seen.limits).toBeGreaterThan(500);
  });
});

describe("explainRequest() windows", () => {
  it.each([
    { nowSeconds: 1234, windowSeconds: 1, window: { startSeconds: 1234, endSeconds: 1235, resetSeconds: 1 } },
    { nowSeconds: 1234, windowSeconds: 60, window: { startSeconds: 1200, endSeconds: 1260, resetSeconds: 26 } },
    {
      nowSeconds: 1_000_000,
      windowSeconds: 604_800,
      window: { startSeconds: 604_800, endSeconds: 1_209_600, resetSeconds: 209_600 },
    },
    {
      nowSeconds: 1_000_000,
      windowSeconds: 31_536_000,
      window: { startSeconds: 0, endSeconds: 31_536_000, resetSeconds: 30_536_000 },
    },
  ])("finds the window of $nowSeconds in windows of $windowSeconds s", ({ nowSeconds, windowSeconds, window }) => {
    const unit = Object.entries(UNIT_SECONDS).find(([, seconds]) => seconds === windowSeconds)?.[0] ?? "";
    const rules = [descriptor({ key: "user", rateLimit: limit(1, unit) })];
    const [explained] = explainRequest("shop", rules, {
      descriptors: [entries("user=1")],
      atMs: nowSeconds * 1000 + 999,
      keyPrefix: "",
    });
    expect(explained?.counter?.window).toEqual(window);
  });
});
