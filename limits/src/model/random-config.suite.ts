// Random configurations for property tests: mostly valid, and wrong in every way that a model can
// be wrong.
import fc from "fast-check";

import type { DescriptorModel, RateLimitConfigModel, RateLimitModel } from "./model.ts";

/** Few texts, so that keys and names collide often. */
const key = fc.constantFrom("a", "b", "a_b", "a_b_c", "k*", "");
const value = fc.constantFrom("", "", "b", "b_c", "c", "*", "v*w");
const limitName = fc.constantFrom("", "one", "two");
const unit = fc.constantFrom(
  "second",
  "MINUTE",
  "Hour",
  "day",
  "week",
  "month",
  "YEAR",
  "",
  "unknown",
  "UNKNOWN",
  "fortnight",
);

/** The fields of limits beyond plain fixed windows; mostly absent. */
const windowFields = fc.record(
  {
    unitMultiplier: fc.constantFrom(0, 1, 5, 120, 4_294_967_295),
    algorithm: fc.constantFrom("fixed_window", "sliding_window", "token_bucket", "", "Token_Bucket"),
    burst: fc.constantFrom(0, 1, 4_294_967_295),
    countRejectedHits: fc.boolean(),
    timeZone: fc.constantFrom("UTC", "Europe/Zurich", "Mars/Base", "+01:00", ""),
    monthDay: fc.constantFrom(0, 1, 31, 32),
  },
  { requiredKeys: [] },
);

const rateLimit: fc.Arbitrary<RateLimitModel> = fc
  .record({
    unit,
    requestsPerUnit: fc.oneof(fc.constantFrom(0, 1, 4_294_967_295), fc.nat()),
    unlimited: fc.boolean(),
    name: limitName,
    replaces: fc.array(fc.record({ name: limitName }), { maxLength: 3 }),
  })
  .chain((limit) =>
    fc.oneof(
      fc.constant(limit),
      windowFields.map((fields) => ({ ...limit, ...fields })),
    ),
  );

/** Not empty, which messages cannot tell from absent. */
const rateLimits = fc.array(rateLimit, { minLength: 1, maxLength: 3 });

/** JSON that a google.protobuf.Struct can represent. */
const metadata = fc.dictionary(fc.string({ maxLength: 4 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 });

/** Deepest nesting of random rules. */
const LEVELS_MAX = 4;

/** Any configuration that has the right shape. */
export const randomConfig: fc.Arbitrary<RateLimitConfigModel> = fc.record({
  name: fc.constantFrom("default/one", "default/two"),
  domain: fc.constantFrom("", "shop", "login"),
  descriptors: fc.array(randomRule(LEVELS_MAX), { maxLength: 4 }),
});

/** A rule with at most so many levels, its own included. */
function randomRule(levels: number): fc.Arbitrary<DescriptorModel> {
  return fc
    .record({
      key,
      value,
      descriptors: levels === 1 ? fc.constant([]) : fc.array(randomRule(levels - 1), { maxLength: 3 }),
      shadowMode: fc.boolean(),
      detailedMetric: fc.boolean(),
      quotaMode: fc.boolean(),
      valueToMetric: fc.boolean(),
      shareThreshold: fc.boolean(),
    })
    .chain((rule) =>
      fc
        .record({ rateLimit, rateLimits, metadata, showValues: fc.constant(true) }, { requiredKeys: [] })
        .map((optional) => ({ ...rule, ...optional }) as DescriptorModel),
    );
}
