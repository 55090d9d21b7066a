// Tests of what `weir explain` says: each way a descriptor can go, its counter and window, and that
// its answer is always the matcher's own.
import type { DescriptorModel } from "@weir/limits/model/model";
import { compileTrialRules } from "@weir/ratelimit/rules/trial-rules";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { checkFiles } from "../check/check-files.ts";
import { validConfig } from "../check/valid-rules.suite.ts";
import { parseDescriptor } from "./arguments.ts";
import type { RequestEntry } from "./arguments.ts";
import { findDomain } from "./configured-domain.ts";
import type { ConfiguredDomain } from "./configured-domain.ts";
import { explainRequest, windowAt } from "./explain.ts";
import type { ExplainedDescriptor } from "./explain.ts";
import { explainJson, explainText } from "./report.ts";

const RULES = `domain: shop
descriptors:
  - key: path
    value: /cart
    rate_limit: {unit: minute, requests_per_unit: 10, name: cart}
    shadow_mode: true
  - key: path
    value: /c*
    share_threshold: true
    rate_limit: {unit: hour, requests_per_unit: 20}
  - key: path
    value: "*"
    rate_limit: {unit: day, requests_per_unit: 30}
  - key: user
    rate_limit: {unit: second, requests_per_unit: 0, replaces: [{name: cart}]}
    descriptors:
      - key: method
        value: GET
        rate_limit: {unlimited: true}
        detailed_metric: true
  - key: user
    value: admin
  - key: plan
    value: free
    descriptors:
      - key: user
        value_to_metric: true
        quota_mode: true
        rate_limit: {unit: week, requests_per_unit: 5}
`;

/** 2026-01-31T12:34:56Z. */
const AT_MS = 1_769_862_896_000;

function domainOf(text: string, wanted = { domain: "", fleet: undefined as string | undefined }): ConfiguredDomain {
  const domain = findDomain(
    checkFiles([{ path: "r.yaml", text }], { mergeDomains: false, skipOtherKinds: false }),
    wanted,
  );
  if (typeof domain === "string") throw new Error(domain);
  return domain;
}

function entriesOf(text: string): readonly RequestEntry[] {
  const entries = parseDescriptor(text);
  if (typeof entries === "string") throw new Error(entries);
  return entries;
}

function explain(...descriptors: readonly string[]): readonly ExplainedDescriptor[] {
  return explainRequest(domainOf(RULES), descriptors.map(entriesOf), { atMs: AT_MS, keyPrefix: "" });
}

function verdicts({ trace }: ExplainedDescriptor): readonly string[] {
  return trace.levels.flatMap(({ candidates }) => candidates.map(({ rule, verdict }) => `${rule} ${verdict}`));
}

/**
 * The entries of a request that goes down the rules: at each level to the rule that the pick falls
 * on.
 */
function entriesAlong(rules: readonly DescriptorModel[], picks: readonly number[]): readonly RequestEntry[] {
  const entries: RequestEntry[] = [];
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
    expect(explained?.rule).toMatchObject({
      path: "shop.path_/cart",
      place: { path: "r.yaml", line: 3, column: 5 },
      requestsPerUnit: 10,
      unit: "minute",
      name: "cart",
      shadowMode: true,
      counterKey: "shop_path_/cart_1769862840",
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
    expect(explained?.rule).toMatchObject({ sharesCounter: true, counterKey: "shop_path_/c*_1769860800" });
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
    expect(explained?.trace).toMatchObject({ outcome, path });
    expect(explained?.rule?.counterKey).toBe(counterKey);
  });

  it.each([
    { descriptor: "plan=free,user=1", statistics: "ratelimit.service.rate_limit.shop.plan_free.user_1" },
    { descriptor: "user=7,method=GET", statistics: "ratelimit.service.rate_limit.shop.user_7.method_GET" },
    { descriptor: "path=/x", statistics: "ratelimit.service.rate_limit.shop.path_*" },
  ])("counts $descriptor under $statistics", ({ descriptor, statistics }) => {
    expect(explain(descriptor)[0]?.rule?.statistics).toBe(statistics);
  });

  it("says which limit of the call replaces another, which then is not counted", () => {
    const [cart, user] = explain("path=/cart", "user=1");
    expect(cart).toMatchObject({ replacedBy: { descriptor: 2, name: "cart" } });
    expect(cart?.rule?.counterKey).toBeUndefined();
    expect(user?.replacedBy).toBeUndefined();
    expect(user?.rule?.counterKey).toBe("shop_user_1_1769862896");
  });

  it("puts the prefix before the key", () => {
    const [explained] = explainRequest(domainOf(RULES), [entriesOf("user=1")], { atMs: AT_MS, keyPrefix: "blue:" });
    expect(explained?.rule?.counterKey).toBe("blue:shop_user_1_1769862896");
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
        const matcher = compileTrialRules([model]).domain(model.domain);
        const place = { path: "", line: 0, column: 0 };
        const placed = (rules: typeof model.descriptors): ConfiguredDomain["rules"] =>
          rules.map((rule) => ({ model: rule, place, children: placed(rule.descriptors) }));
        const domain = { domain: model.domain, place, rules: placed(model.descriptors) };
        explainRequest(domain, requests, { atMs: AT_MS, keyPrefix: "" }).forEach(({ trace, rule }, index) => {
          const entries = requests[index] ?? [];
          const match = entries.length === 0 ? undefined : matcher?.match(entries);
          expect(trace.outcome === "limit").toBe(match !== undefined);
          if (match === undefined) return;
          seen.limits += 1;
          expect([model.domain, ...trace.path].join(".")).toBe(match.rule.path);
          expect(rule?.path).toBe(match.rule.path);
        });
      }),
      { numRuns: 1000, seed: 5 },
    );
    expect(seen.limits).toBeGreaterThan(500);
  });
});

describe("findDomain()", () => {
  const manifest = (name: string, fleets: string): string =>
    `apiVersion: ratelimit.weir.dev/v1alpha1\nkind: RateLimitConfig\nmetadata: {name: ${name}}\nspec: {domain: shop, fleets: [${fleets}], descriptors: [{key: ${name}}]}\n---\n`;
  const files = checkFiles([{ path: "m.yaml", text: manifest("one", "edge") + manifest("two", "core") }], {
    mergeDomains: false,
    skipOtherKinds: false,
  });

  it("wants to know the fleet when fleets have different rules", () => {
    expect(findDomain(files, { domain: "shop", fleet: undefined })).toBe(
      'the domain "shop" has other rules in other fleets, choose one with --fleet: default/one (edge); default/two (core)',
    );
    expect(findDomain(files, { domain: "shop", fleet: "core" })).toMatchObject({ rules: [{ model: { key: "two" } }] });
  });

  it.each([
    { wanted: { domain: "api", fleet: undefined }, message: 'no file has rules for the domain "api": there is "shop"' },
    {
      wanted: { domain: "shop", fleet: "other" },
      message: 'no file has rules for the domain "shop" in the fleet "other": there is none',
    },
  ])("says what there is for $wanted", ({ wanted, message }) => {
    expect(findDomain(files, wanted)).toBe(message);
  });
});

describe("windowAt()", () => {
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
  ])("holds $nowSeconds in windows of $windowSeconds s", ({ nowSeconds, windowSeconds, window }) => {
    expect(windowAt(nowSeconds * 1000 + 999, windowSeconds)).toEqual(window);
  });
});

describe("explainJson()", () => {
  it("has the fields of the manual and no others", () => {
    const domain = domainOf(RULES);
    const explained = explainRequest(domain, ["path=/cart", "user=1"].map(entriesOf), { atMs: AT_MS, keyPrefix: "" });
    const place = { path: "r.yaml", line: 1, column: 9 };
    const json = JSON.parse(explainJson(domain, explained)) as {
      readonly descriptors: readonly Record<string, unknown>[];
    };
    expect(json).toMatchObject({ domain: "shop", place });
    expect(Object.keys(json)).toEqual(["domain", "place", "descriptors"]);
    const [cart, user] = json.descriptors;
    expect(cart).toMatchObject({ outcome: "replaced", replacedBy: { descriptor: 2, name: "cart" } });
    expect({ ...user, levels: [] }).toEqual({
      entries: [{ key: "user", value: "1" }],
      outcome: "limit",
      path: ["user"],
      rule: {
        path: "shop.user",
        place: { path: "r.yaml", line: 14, column: 5 },
        unlimited: false,
        requestsPerUnit: 0,
        unit: "second",
        name: "",
        replaces: ["cart"],
        shadowMode: false,
        quotaMode: false,
        detailedMetric: false,
        statistics: "ratelimit.service.rate_limit.shop.user",
        counterKey: "shop_user_1_1769862896",
        window: { startSeconds: 1_769_862_896, endSeconds: 1_769_862_897, resetSeconds: 1 },
        sharesCounter: false,
      },
      levels: [],
    });
  });
});

describe("explainText()", () => {
  it("tells people everything, and lets nothing of a file move the cursor", () => {
    const domain = domainOf(RULES);
    const text = explainText(
      domain,
      explainRequest(domain, [entriesOf("user=1,method=\u001b[2J")], { atMs: AT_MS, keyPrefix: "" }),
    );
    expect(text).toBe(
      [
        "domain shop (r.yaml:1:9)",
        "",
        "descriptor 1: user=1, method=\\u001b[2J",
        "  level 1: user=1",
        "    > user        taken: any value of this key (r.yaml:14:5)",
        "      user_admin  another value (r.yaml:21:5)",
        "      and 4 rules with another key",
        "  level 2: method=\\u001b[2J",
        "      method_GET  another value (r.yaml:17:9)",
        "  no limit: no rule of level 2 matches method=\\u001b[2J, and other rules are not tried again",
        "",
      ].join("\n"),
    );
  });
});
