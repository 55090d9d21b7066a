// Tests of the way between message and model.
import { create, equals, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { JsonObject } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import {
  RateLimitConfigSchema,
  RateLimitPolicySchema,
  type RateLimitUnit,
} from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";
import { messageOfModel, modelOfMessage } from "./message.ts";
import type { DescriptorModel, RateLimitConfigModel, RateLimitModel } from "./model.ts";
import { randomConfig } from "./random-config.suite.ts";
import { findProblems } from "../validate/validate.ts";

const FULL: RateLimitConfigModel = {
  name: "default/shop",
  domain: "shop",
  descriptors: [
    {
      key: "tenant",
      value: "a*",
      rateLimit: {
        unit: "WEEK",
        requestsPerUnit: 4_294_967_295,
        unlimited: false,
        name: "week",
        replaces: [{ name: "day" }],
      },
      descriptors: [
        {
          key: "user",
          value: "",
          descriptors: [],
          shadowMode: false,
          detailedMetric: true,
          quotaMode: false,
          valueToMetric: true,
          shareThreshold: false,
        },
      ],
      shadowMode: true,
      detailedMetric: false,
      quotaMode: true,
      valueToMetric: false,
      shareThreshold: true,
      metadata: { team: "checkout", weights: [1, 2.5], owner: null },
    },
  ],
};

describe("modelOfMessage()", () => {
  it("gives back what messageOfModel() was given, field by field", () => {
    expect(modelOfMessage(messageOfModel(FULL))).toEqual(FULL);
  });

  it.each([
    { unit: 0 as const, written: "UNKNOWN" },
    { unit: 7 as const, written: "WEEK" },
    { unit: 42 as RateLimitUnit, written: "42" },
    { unit: 100 as const, written: "100" },
  ])("writes the unit $unit as $written", ({ unit, written }) => {
    const message = create(RateLimitConfigSchema, { domain: "d", descriptors: [{ key: "k", rateLimit: { unit } }] });
    expect(modelOfMessage(message).descriptors[0]?.rateLimit?.unit).toBe(written);
  });

  it("lets the validator name the unit of a message as envoyproxy/ratelimit does when it has none", () => {
    const message = create(RateLimitConfigSchema, {
      domain: "d",
      descriptors: [{ key: "k", rateLimit: { requestsPerUnit: 1 } }],
    });
    expect(findProblems(modelOfMessage(message))).toEqual([
      { path: ["descriptors", 0, "rateLimit", "unit"], message: "invalid rate limit unit 'UNKNOWN'" },
    ]);
  });

  it("distinguishes an absent limit from a limit of 0", () => {
    const message = create(RateLimitConfigSchema, { descriptors: [{ key: "a" }, { key: "b", rateLimit: {} }] });
    expect(modelOfMessage(message).descriptors.map(({ rateLimit }) => rateLimit?.requestsPerUnit)).toEqual([
      undefined,
      0,
    ]);
  });
});

describe("messageOfModel()", () => {
  it("round-trips when models are random, over the wire, but for the spelling of units", () => {
    fc.assert(
      fc.property(randomConfig, (model) => {
        const bytes = toBinary(RateLimitConfigSchema, messageOfModel(model));
        expect(modelOfMessage(fromBinary(RateLimitConfigSchema, bytes))).toEqual(withUnitNames(model));
      }),
      { numRuns: 150, seed: 30 },
    );
  });

  it.each<{ what: string; limit: Partial<RateLimitModel>; hex: string }>([
    { what: "a plain limit", limit: {}, hex: "08021005" },
    {
      what: "what is the default",
      limit: { algorithm: "fixed_window" },
      hex: "08021005da3e0c66697865645f77696e646f77",
    },
    { what: "a multiplier of 1", limit: { unitMultiplier: 1 }, hex: "08021005d03e01" },
    { what: "counted rejected hits", limit: { countRejectedHits: true }, hex: "08021005e83e01" },
    { what: "a multiplier", limit: { unitMultiplier: 5 }, hex: "08641005c83e02d03e05" },
    { what: "another algorithm", limit: { algorithm: "x", burst: 3 }, hex: "08641005c83e02da3e0178e03e03" },
    { what: "uncounted rejected hits", limit: { countRejectedHits: false }, hex: "08641005c83e02e83e00" },
    { what: "a time zone", limit: { timeZone: "UTC", monthDay: 15 }, hex: "08641005c83e02f23e03555443f83e0f" },
  ])(
    "gives a limit the unit 100 only when pods that know fixed windows would enforce another: $what",
    ({ limit, hex }) => {
      const message = messageOfModel(oneRule({ rateLimit: { ...PLAIN, ...limit } }));
      const policy = message.descriptors[0]?.rateLimit;
      expect(policy && Buffer.from(toBinary(RateLimitPolicySchema, policy)).toString("hex")).toBe(hex);
      expect(modelOfMessage(message)).toEqual(oneRule({ rateLimit: { ...PLAIN, ...limit } }));
    },
  );

  it("gives a list of limits a limit of the unit 100 next to it, and reads it as no limit", () => {
    const model = oneRule({ rateLimits: [PLAIN, { ...PLAIN, name: "long", unitMultiplier: 5 }] });
    const message = messageOfModel(model);
    const { rateLimit, rateLimits } = message.descriptors[0] ?? {};
    expect(rateLimit).toMatchObject({ unit: 100, requestsPerUnit: 0, unlimited: false, extendedUnit: 0 });
    expect(rateLimits?.map(({ unit }) => unit)).toEqual([2, 100]);
    expect(modelOfMessage(message)).toEqual(model);
  });

  it("stays readable when rules nest six levels deep, and their metadata twenty", () => {
    // Decoders stop at 100 levels of messages; the custom resource allows as much as this.
    const model = { name: "n", domain: "d", descriptors: [deepRule(6, 11)] };
    const bytes = toBinary(RateLimitConfigSchema, messageOfModel(model));
    expect(modelOfMessage(fromBinary(RateLimitConfigSchema, bytes))).toEqual(model);
  });

  it("gives the same message when it is turned into a model and back", () => {
    fc.assert(
      fc.property(randomConfig, (model) => {
        const message = messageOfModel(model);
        expect(equals(RateLimitConfigSchema, messageOfModel(modelOfMessage(message)), message)).toBe(true);
      }),
      { numRuns: 150, seed: 31 },
    );
  });
});

const PLAIN: RateLimitModel = { unit: "MINUTE", requestsPerUnit: 5, unlimited: false, name: "", replaces: [] };

function oneRule(limits: Pick<DescriptorModel, "rateLimit" | "rateLimits">): RateLimitConfigModel {
  const [{ metadata: _metadata, ...rule }] = [deepRule(1, 1)];
  return { name: "n", domain: "d", descriptors: [{ ...rule, ...limits }] };
}

/** A rule with so many levels of rules and, at the bottom, of metadata. */
function deepRule(levels: number, metadataLevels: number): DescriptorModel {
  let metadata: JsonObject = {};
  for (let level = 1; level < metadataLevels; level += 1) metadata = { a: [metadata] };
  const flags = {
    value: "",
    shadowMode: false,
    detailedMetric: false,
    quotaMode: false,
    valueToMetric: false,
    shareThreshold: false,
  };
  let rule: DescriptorModel = { key: "k", ...flags, descriptors: [], metadata };
  for (let level = 1; level < levels; level += 1) rule = { key: "k", ...flags, descriptors: [rule] };
  return rule;
}

/** The model with units as messages name them. */
function withUnitNames(model: RateLimitConfigModel): RateLimitConfigModel {
  return { ...model, descriptors: model.descriptors.map(descriptorWithUnitNames) };
}

function descriptorWithUnitNames(descriptor: DescriptorModel): DescriptorModel {
  const { rateLimit, rateLimits } = descriptor;
  return {
    ...descriptor,
    ...(rateLimit === undefined ? {} : { rateLimit: limitWithUnitName(rateLimit) }),
    ...(rateLimits === undefined ? {} : { rateLimits: rateLimits.map(limitWithUnitName) }),
    descriptors: descriptor.descriptors.map(descriptorWithUnitNames),
  };
}

function limitWithUnitName(limit: RateLimitModel): RateLimitModel {
  const isUnit = /^(second|minute|hour|day|week|month|year)$/i.test(limit.unit);
  return { ...limit, unit: isUnit ? limit.unit.toUpperCase() : "UNKNOWN" };
}
