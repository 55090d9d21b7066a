// Compares with literal bytes the fields and units that no published module carries: the newer ones of
// envoyproxy/ratelimit's configuration, and our own.
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";

import { RateLimitRequestSchema } from "./generated/envoy/service/ratelimit/v3/rls_pb.ts";
import {
  RateLimitConfigSchema,
  RateLimitDescriptorSchema,
} from "./generated/ratelimit/config/ratelimit/v3/rls_conf_pb.ts";

describe("RateLimitDescriptor on the wire", () => {
  it.each([
    { field: "shadow_mode = 5", init: { shadowMode: true }, hex: "2801" },
    { field: "detailed_metric = 6", init: { detailedMetric: true }, hex: "3001" },
    { field: "quota_mode = 7", init: { quotaMode: true }, hex: "3801" },
    // 8, length 10, one entry { "a": true } of a Struct.
    { field: "metadata = 8", init: { metadata: { a: true } }, hex: "42090a070a016112022001" },
    // (1001 << 3) = 0x1f48 and (1002 << 3) = 0x1f50, as varints.
    { field: "value_to_metric = 1001", init: { valueToMetric: true }, hex: "c83e01" },
    { field: "share_threshold = 1002", init: { shareThreshold: true }, hex: "d03e01" },
    // (1003 << 3) + 2 = 0x1f5a.
    { field: "rate_limits = 1003", init: { rateLimits: [{ unit: 1 as const }] }, hex: "da3e020801" },
    // (1004 << 3) = 0x1f60.
    { field: "show_values = 1004", init: { showValues: true }, hex: "e03e01" },
    { field: "unit MONTH = 5", init: { rateLimit: { unit: 5 as const } }, hex: "1a020805" },
    { field: "unit YEAR = 6", init: { rateLimit: { unit: 6 as const } }, hex: "1a020806" },
    { field: "unit WEEK = 7", init: { rateLimit: { unit: 7 as const } }, hex: "1a020807" },
    { field: "unit EXTENDED = 100", init: { rateLimit: { unit: 100 as const } }, hex: "1a020864" },
    { field: "extended_unit = 1001", init: { rateLimit: { extendedUnit: 7 as const } }, hex: "1a03c83e07" },
    { field: "unit_multiplier = 1002", init: { rateLimit: { unitMultiplier: 0 } }, hex: "1a03d03e00" },
    { field: "algorithm = 1003", init: { rateLimit: { algorithm: "" } }, hex: "1a03da3e00" },
    { field: "burst = 1004", init: { rateLimit: { burst: 2 ** 32 - 1 } }, hex: "1a07e03effffffff0f" },
    { field: "count_rejected_hits = 1005", init: { rateLimit: { countRejectedHits: false } }, hex: "1a03e83e00" },
    { field: "time_zone = 1006", init: { rateLimit: { timeZone: "UTC" } }, hex: "1a06f23e03555443" },
    { field: "month_day = 1007", init: { rateLimit: { monthDay: 31 } }, hex: "1a03f83e1f" },
    { field: "replaces = 5", init: { rateLimit: { replaces: [{ name: "x" }] } }, hex: "1a052a030a0178" },
  ])("has $field", ({ init, hex }) => {
    const message = create(RateLimitDescriptorSchema, init);
    expect(Buffer.from(toBinary(RateLimitDescriptorSchema, message)).toString("hex")).toBe(hex);
    expect(fromBinary(RateLimitDescriptorSchema, Buffer.from(hex, "hex"))).toEqual(message);
  });
});

describe("RateLimitConfig on the wire", () => {
  it("has name, domain and descriptors as 1, 2 and 3", () => {
    const message = create(RateLimitConfigSchema, {
      name: "n",
      domain: "d",
      descriptors: [{ key: "k", value: "v", descriptors: [{ key: "c" }] }],
    });
    expect(Buffer.from(toBinary(RateLimitConfigSchema, message)).toString("hex")).toBe(
      "0a016e1201641a0b0a016b1201762203" + "0a0163",
    );
  });
});

describe("RateLimitDescriptor of a request on the wire", () => {
  it("reads an override in weeks, hits_addend 0 apart from none, and is_negative_hits", () => {
    // descriptors { limit { unit: WEEK } hits_addend {} is_negative_hits: true } descriptors {}
    const bytes = Buffer.from("1208" + "12021007" + "1a00" + "2001" + "1200", "hex");
    const [first, second] = fromBinary(RateLimitRequestSchema, bytes).descriptors;
    expect(first).toMatchObject({ limit: { unit: 7 }, hitsAddend: 0n, isNegativeHits: true });
    expect([second?.limit, second?.hitsAddend, second?.isNegativeHits]).toEqual([undefined, undefined, false]);
  });
});
