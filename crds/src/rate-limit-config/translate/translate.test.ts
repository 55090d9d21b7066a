// Tests of the way from the custom resource to the model, and on to the wire.
import { messageOfModel, modelOfMessage } from "@weir/limits/model/message";
import type { DescriptorModel } from "@weir/limits/model/model";
import { describe, expect, it } from "vitest";

import type { RateLimitConfigResource } from "../schema/schema.ts";
import { parseRateLimitConfigResource } from "../schema/schema.ts";
import { modelOfResource } from "./translate.ts";

function resource(metadata: object, spec: object): RateLimitConfigResource {
  const parsed = parseRateLimitConfigResource({
    apiVersion: "ratelimit.weir.dev/v1alpha1",
    kind: "RateLimitConfig",
    metadata,
    spec,
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.resource;
}

describe("modelOfResource()", () => {
  it("fills in what is absent", () => {
    expect(
      modelOfResource(
        resource(
          { name: "shop" },
          { domain: "d", descriptors: [{ key: "k" }, { key: "u", rateLimit: { unlimited: true } }] },
        ),
      ),
    ).toEqual({
      name: "default/shop",
      domain: "d",
      descriptors: [
        {
          key: "k",
          value: "",
          descriptors: [],
          shadowMode: false,
          detailedMetric: false,
          quotaMode: false,
          valueToMetric: false,
          shareThreshold: false,
        },
        {
          key: "u",
          value: "",
          rateLimit: { unit: "", requestsPerUnit: 0, unlimited: true, name: "", replaces: [] },
          descriptors: [],
          shadowMode: false,
          detailedMetric: false,
          quotaMode: false,
          valueToMetric: false,
          shareThreshold: false,
        },
      ],
    });
  });

  it("puts every rule with a limit, at each level, into shadow mode when the resource is, and no other rule", () => {
    const rateLimit = { unit: "day", requestsPerUnit: 1 };
    const rateLimits = ["a", "b"].map((name) => ({ ...rateLimit, name }));
    const inner = [{ key: "limited", rateLimit, quotaMode: true }, { key: "exempt" }, { key: "several", rateLimits }];
    const descriptors = [
      { key: "way", descriptors: inner },
      { key: "both", rateLimit, descriptors: inner },
    ];
    const shadowed = (rules: readonly DescriptorModel[]): readonly string[] =>
      rules.flatMap((rule) => [...(rule.shadowMode ? [rule.key] : []), ...shadowed(rule.descriptors)]);
    const shadowedWith = (spec: object): readonly string[] =>
      shadowed(modelOfResource(resource({ name: "shop" }, { domain: "d", descriptors, ...spec })).descriptors);
    expect(shadowedWith({ shadowMode: true })).toEqual(["limited", "several", "both", "limited", "several"]);
    expect([shadowedWith({}), shadowedWith({ shadowMode: false })]).toEqual([[], []]);
  });

  it("takes the empty value, which API servers add, for an absent one", () => {
    const rules = (rule: object): unknown =>
      modelOfResource(resource({ name: "shop" }, { domain: "d", descriptors: [{ key: "k", ...rule }] }));
    expect(rules({ value: "" })).toEqual(rules({}));
  });

  it("carries everything that is written, also over the wire", () => {
    const spec = {
      domain: "d",
      descriptors: [
        {
          key: "k",
          value: "v*",
          rateLimit: { unit: "week", requestsPerUnit: 7, name: "one", replaces: [{ name: "two" }] },
          shadowMode: true,
          detailedMetric: true,
          quotaMode: true,
          valueToMetric: true,
          shareThreshold: true,
          showValues: true,
          metadata: { team: "a", list: [1, null] },
          descriptors: [
            {
              key: "x",
              value: "y",
              showValues: false,
              rateLimits: [
                {
                  name: "a",
                  unit: "minute",
                  requestsPerUnit: 9,
                  unitMultiplier: 5,
                  algorithm: "token_bucket",
                  burst: 3,
                },
                { name: "b", unit: "month", requestsPerUnit: 99, timeZone: "UTC", monthDay: 15 },
              ],
            },
          ],
        },
      ],
    };
    const model = modelOfResource(resource({ name: "shop", namespace: "team-a" }, spec));
    const leaf = {
      descriptors: [],
      shadowMode: false,
      detailedMetric: false,
      quotaMode: false,
      valueToMetric: false,
      shareThreshold: false,
    };
    expect(model).toEqual({
      name: "team-a/shop",
      domain: "d",
      descriptors: [
        {
          key: "k",
          value: "v*",
          rateLimit: { unit: "week", requestsPerUnit: 7, unlimited: false, name: "one", replaces: [{ name: "two" }] },
          shadowMode: true,
          detailedMetric: true,
          quotaMode: true,
          valueToMetric: true,
          shareThreshold: true,
          showValues: true,
          metadata: { team: "a", list: [1, null] },
          descriptors: [
            {
              key: "x",
              value: "y",
              ...leaf,
              rateLimits: [
                {
                  name: "a",
                  unit: "minute",
                  requestsPerUnit: 9,
                  unlimited: false,
                  replaces: [],
                  unitMultiplier: 5,
                  algorithm: "token_bucket",
                  burst: 3,
                },
                {
                  name: "b",
                  unit: "month",
                  requestsPerUnit: 99,
                  unlimited: false,
                  replaces: [],
                  timeZone: "UTC",
                  monthDay: 15,
                },
              ],
            },
          ],
        },
      ],
    });
    expect(modelOfMessage(messageOfModel(model)).descriptors[0]).toMatchObject({
      rateLimit: { unit: "WEEK" },
      metadata: { team: "a", list: [1, null] },
    });
  });
});
