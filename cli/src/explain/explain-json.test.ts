// Tests of the output of `weir explain`: the fields of its JSON, and that its text is safe to print.
import { explainRequest } from "@weir/limits/explain/explain";
import type { Entry } from "@weir/limits/rules/rule";
import { parseDescriptor } from "@weir/proto/explain/descriptor-text";
import { describe, expect, it } from "vitest";

import { checkFiles } from "../check/check-files.ts";
import { findDomain } from "./configured-domain.ts";
import type { ConfiguredDomain } from "./configured-domain.ts";
import { explainJson } from "./explain-json.ts";
import { explainText } from "./explain-text.ts";

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
  - key: several
    rate_limits:
      - {name: short, unit: Second, requests_per_unit: 5, algorithm: token_bucket, burst: 3}
      - {name: long, unit: hour, unit_multiplier: 2, requests_per_unit: 90}
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

function entriesOf(text: string): readonly Entry[] {
  const entries = parseDescriptor(text);
  if (typeof entries === "string") throw new Error(entries);
  return entries;
}

describe("explainJson()", () => {
  it("has the fields of the manual and no others", () => {
    const domain = domainOf(RULES);
    const explained = explainRequest(domain.domain, domain.rules, {
      descriptors: ["path=/cart", "user=1"].map(entriesOf),
      atMs: AT_MS,
      keyPrefix: "",
    });
    const place = { path: "r.yaml", line: 1, column: 9 };
    const json = JSON.parse(explainJson(domain, explained)) as {
      readonly descriptors: readonly Record<string, unknown>[];
    };
    expect(json).toMatchObject({ domain: "shop", place });
    expect(Object.keys(json)).toEqual(["domain", "place", "shadowMode", "descriptors"]);
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

describe("explainJson() of several limits", () => {
  it("has all of them, and no window", () => {
    const domain = domainOf(RULES);
    const explained = explainRequest(domain.domain, domain.rules, {
      descriptors: [entriesOf("several=1")],
      atMs: AT_MS,
      keyPrefix: "",
    });
    const { descriptors } = JSON.parse(explainJson(domain, explained)) as { descriptors: { rule: object }[] };
    expect(descriptors[0]?.rule).toEqual({
      path: "shop.several",
      place: { path: "r.yaml", line: 30, column: 5 },
      unlimited: false,
      limits: [
        {
          name: "short",
          unit: "second",
          requestsPerUnit: 5,
          algorithm: "token_bucket",
          burst: 3,
          statistics: "ratelimit.service.rate_limit.shop.several.short",
        },
        {
          name: "long",
          unit: "hour",
          unitMultiplier: 2,
          requestsPerUnit: 90,
          statistics: "ratelimit.service.rate_limit.shop.several.long",
        },
      ],
      replaces: [],
      shadowMode: false,
      quotaMode: false,
      detailedMetric: false,
      counterKey: "shop_several_1_~b1f7200",
      sharesCounter: false,
    });
  });
});

describe("explainText()", () => {
  it("prints everything for people, and lets nothing of a file move the cursor", () => {
    const domain = domainOf(RULES);
    const text = explainText(
      domain,
      explainRequest(domain.domain, domain.rules, {
        descriptors: [entriesOf("user=1,method=\u001b[2J")],
        atMs: AT_MS,
        keyPrefix: "",
      }),
    );
    expect(text).toBe(
      [
        "domain shop (r.yaml:1:9)",
        "",
        "descriptor 1: user=1, method=\\u001b[2J",
        "  level 1: user=1",
        "    > user        taken: any value of this key (r.yaml:14:5)",
        "      user_admin  another value (r.yaml:21:5)",
        "      and 5 rules with another key",
        "  level 2: method=\\u001b[2J",
        "      method_GET  another value (r.yaml:17:9)",
        "  no limit: no rule of level 2 matches method=\\u001b[2J, and other rules are not tried again",
        "",
      ].join("\n"),
    );
  });
});
