// Tests of explain-text.ts: what people read of limits, flags and of descriptors without a limit, word
// for word.
import { create } from "@bufbuild/protobuf";
import { type ExplainedDescriptor, explainRequest } from "@weir/limits/explain/explain";
import type { Entry } from "@weir/limits/rules/rule";
import { PodCountsSchema } from "@weir/proto/generated/weir/console/v1/console_pb";
import { parseDescriptor } from "@weir/proto/explain/descriptor-text";
import { describe, expect, it } from "vitest";

import { checkFiles } from "../check/check-files.ts";
import { type ConfiguredDomain, findDomain } from "./configured-domain.ts";
import { explainText } from "./explain-text.ts";

const RULES = `domain: shop
descriptors:
  - key: path
    value: /c*
    share_threshold: true
    shadow_mode: true
    rate_limit: {unit: hour, requests_per_unit: 20, name: cart}
  - key: user
    rate_limit: {unit: second, requests_per_unit: 0, replaces: [{name: cart}]}
    detailed_metric: true
  - key: plan
    quota_mode: true
    rate_limit: {unlimited: true}
  - key: free
  - key: team
    descriptors:
      - key: role
        rate_limit: {unit: day, requests_per_unit: 3}
  - key: quarter
    rate_limit: {unit: minute, unit_multiplier: 15, requests_per_unit: 9}
  - key: bill
    rate_limit: {unit: month, requests_per_unit: 9, time_zone: Europe/Zurich, month_day: 15}
  - key: bucket
    rate_limit: {unit: minute, requests_per_unit: 9, algorithm: token_bucket, burst: 3}
  - key: several
    rate_limits: [{name: short, unit: second, requests_per_unit: 5}, {name: long, unit: hour, requests_per_unit: 90}]
`;

/** 2026-01-31T12:34:56Z. */
const AT_MS = 1_769_862_896_000;

function explain(
  { domain, rules }: ConfiguredDomain,
  descriptors: readonly (readonly Entry[])[],
): readonly ExplainedDescriptor[] {
  return explainRequest(domain, rules, { descriptors, atMs: AT_MS, keyPrefix: "" });
}

/**
 * The lines that people read of a request with these descriptors, without the line of the domain and
 * the levels.
 */
function outcomes(...descriptors: readonly string[]): readonly string[] {
  const domain = findDomain(
    checkFiles([{ path: "r.yaml", text: RULES }], { mergeDomains: false, skipOtherKinds: false }),
    {
      domain: "",
      fleet: undefined,
    },
  );
  if (typeof domain === "string") throw new Error(domain);
  const entries = descriptors.map((text) => {
    const parsed = parseDescriptor(text);
    if (typeof parsed === "string") throw new Error(parsed);
    return parsed;
  });
  const text = explainText(domain, explain(domain, entries));
  return text.split("\n").filter((line) => /^ {2}[a-z]/.test(line) && !line.startsWith("  level"));
}

describe("explainText()", () => {
  it("prints limit, place, flags, counter and window of a rule", () => {
    expect(outcomes("path=/cart")).toEqual([
      "  limit       20 per hour, named cart",
      "  rule        shop.path_/c* (r.yaml:3:5)",
      "  flag        shadow mode: counted, never enforced",
      "  flag        share threshold: all values of the pattern share one counter",
      "  statistics  ratelimit.service.rate_limit.shop.path_/c*.*",
      "  counter     shop_path_/c*_1769860800",
      "  window      2026-01-31T12:00:00Z to 2026-01-31T13:00:00Z, begins anew in 1504 s",
    ]);
  });

  it.each([
    {
      descriptor: "quarter=1",
      lines: [
        "  limit       9 per 15 minutes",
        "  counter     shop_quarter_1_1769862600",
        "  window      2026-01-31T12:30:00Z to 2026-01-31T12:45:00Z, begins anew in 604 s",
      ],
    },
    {
      descriptor: "bill=1",
      lines: [
        "  limit       9 per month, in the time zone Europe/Zurich, from day 15 on",
        "  counter     shop_bill_1_1768431600",
        "  window      2026-01-14T23:00:00Z to 2026-02-14T23:00:00Z, begins anew in 1247104 s",
      ],
    },
    {
      descriptor: "bucket=1",
      lines: ["  limit       9 per minute, token bucket with a burst of 3", "  counter     shop_bucket_1_~b60"],
    },
    {
      descriptor: "several=1",
      lines: [
        "  limit       5 per second, named short",
        "  limit       90 per hour, named long",
        "  counter     shop_several_1_~f1f3600",
      ],
    },
  ])("prints the kind of the limit of $descriptor, and the window if it has one", ({ descriptor, lines }) => {
    expect(outcomes(descriptor).filter((line) => /^ {2}(?:limit|counter|window) /.test(line))).toEqual(lines);
  });

  it("prints that every request is rejected, and what a limit replaces, in both descriptors", () => {
    expect(
      outcomes("user=7", "path=/cart").filter((line) => !/statistics|counter|window|flag {8}s/.test(line)),
    ).toEqual([
      "  limit       0 per second: every request is rejected",
      "  rule        shop.user (r.yaml:8:5)",
      "  flag        detailed metric",
      "  replaces    cart",
      "  limit       20 per hour, named cart",
      "  rule        shop.path_/c* (r.yaml:3:5)",
      "  replaced: the limit of descriptor 1 replaces cart; this one is neither counted nor enforced",
    ]);
  });

  it("prints that all rules of a resource are in shadow mode, with its place", () => {
    const text = `apiVersion: ratelimit.weir.dev/v1alpha1
kind: RateLimitConfig
metadata: {name: a}
spec:
  domain: shop
  shadowMode: true
  descriptors: [{key: user, rateLimit: {unit: day, requestsPerUnit: 1}}]
`;
    const wanted = { domain: "", fleet: undefined };
    const domain = findDomain(
      checkFiles([{ path: "a.yaml", text }], { mergeDomains: false, skipOtherKinds: false }),
      wanted,
    );
    if (typeof domain === "string") throw new Error(domain);
    const lines = explainText(domain, explain(domain, [[{ key: "user", value: "ada" }]])).split("\n");
    expect(lines[1]).toBe("shadow mode of all rules: counted, never enforced (a.yaml:6:15)");
    expect(lines).toContain("  flag        shadow mode: counted, never enforced");
  });

  it("prints the present counts, and which rule they are of when the pod has another", () => {
    const domain = findDomain(
      checkFiles(
        [
          {
            path: "a.yaml",
            text: "domain: shop\ndescriptors: [{key: user, rate_limit: {unit: day, requests_per_unit: 5}}]\n",
          },
        ],
        { mergeDomains: false, skipOtherKinds: false },
      ),
      { domain: "", fleet: undefined },
    );
    if (typeof domain === "string") throw new Error(domain);
    const count = { limit: "5 per day", capacity: 5, hits: 3n, remaining: 2, resetSeconds: 40 };
    const counts = create(PodCountsSchema, {
      pod: "web/pod-1",
      descriptors: [
        { path: "shop.user", limits: [count] },
        { path: "shop.old", limits: [count, { ...count, limit: "9 per week", capacity: 9 }] },
      ],
    });
    const entries = [{ key: "user", value: "ada" }];
    const lines = explainText(domain, explain(domain, [entries, entries]), counts).split("\n");
    expect(lines[1]).toBe("counts as the pod web/pod-1 reads them");
    expect(lines.filter((line) => line.startsWith("  count now"))).toEqual([
      "  count now   3 of 5 used, 2 left, resets in 40 s",
      "  count now   of another rule, which the pod has: shop.old",
      "  count now   5 per day: 3 of 5 used, 2 left, resets in 40 s",
      "  count now   9 per week: 3 of 9 used, 2 left, resets in 40 s",
    ]);
  });

  it("prints no counter and no window of a rule without a bound", () => {
    expect(outcomes("plan=free")).toEqual([
      "  limit       unlimited",
      "  rule        shop.plan (r.yaml:11:5)",
      "  flag        quota mode: rejects only when every rule in quota mode is over its limit",
      "  statistics  ratelimit.service.rate_limit.shop.plan.*",
    ]);
  });

  it.each([
    { descriptor: "other=1", text: "no rule of level 1 matches other=1, and other rules are not tried again" },
    { descriptor: "team=a,user=1", text: "no rule of level 2 matches user=1, and other rules are not tried again" },
    { descriptor: "team=a", text: "the rule team has none; the rules below it want a further entry" },
    { descriptor: "free=a", text: "the rule free has none, which exempts what it matches" },
    {
      descriptor: "user=1,role=a",
      text: "the descriptor has 2 entries, the rules on this way end at level 1; the limit there is for descriptors that end there",
    },
    {
      descriptor: "several=1,role=a",
      text: "the descriptor has 2 entries, the rules on this way end at level 1; the limit there is for descriptors that end there",
    },
    { descriptor: "free=a,role=a", text: "the descriptor has 2 entries, the rules on this way end at level 1" },
  ])("prints why $descriptor has no limit", ({ descriptor, text }) => {
    expect(outcomes(descriptor)).toEqual([`  no limit: ${text}`]);
  });

  it("shows twelve rules of a level at most, the taken one among them, and how many more there are", () => {
    const rules = Array.from(
      { length: 15 },
      (_, index) => `  - { key: path, value: /${index}, rate_limit: { unit: day, requests_per_unit: 1 } }\n`,
    );
    const text = `domain: shop\ndescriptors:\n${rules.join("")}  - { key: other }\n`;
    const domain = findDomain(checkFiles([{ path: "r.yaml", text }], { mergeDomains: false, skipOtherKinds: false }), {
      domain: "",
      fleet: undefined,
    });
    const entries = parseDescriptor("path=/14");
    if (typeof domain === "string" || typeof entries === "string") throw new Error("No domain or no entries");
    const lines = explainText(domain, explain(domain, [entries])).split("\n");
    const shown = lines.filter((line) => /^ {4}[> ] path_/.test(line));
    expect([shown.length, shown.at(-1)]).toEqual([12, "    > path_/14  taken: exactly this value (r.yaml:17:5)"]);
    expect(lines.filter((line) => line.startsWith("      and"))).toEqual([
      "      and 3 more rules that were not taken",
      "      and 1 rule with another key",
    ]);
  });

  it("lines rules up also where values have wide characters", () => {
    const text = "domain: shop\ndescriptors:\n  - { key: city, value: 東京 }\n  - { key: city, value: Bonn }\n";
    const domain = findDomain(checkFiles([{ path: "r.yaml", text }], { mergeDomains: false, skipOtherKinds: false }), {
      domain: "",
      fleet: undefined,
    });
    const entries = parseDescriptor("city=Bonn");
    if (typeof domain === "string" || typeof entries === "string") throw new Error("No domain or no entries");
    const lines = explainText(domain, explain(domain, [entries])).split("\n");
    expect(
      lines
        .filter((line) => line.includes("city_"))
        .slice(0, 2)
        .map((line) => line.slice(0, 24)),
    ).toEqual(["      city_東京  another v", "    > city_Bonn  taken: "]);
  });
});
