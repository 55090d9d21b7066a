// Broken resources by the hundred thousand: whatever the bytes of a RateLimitConfig are, they are
// an offer or a reason. A throw would end the process.
import { create, toBinary } from "@bufbuild/protobuf";
import { type Any, AnySchema } from "@bufbuild/protobuf/wkt";
import { DiscoveryResponseSchema } from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { RateLimitConfigSchema, RateLimitUnit } from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";
import { RATE_LIMIT_CONFIG_TYPE_URL } from "@weir/proto/grpc/type-url";
import { findSetProblems } from "@weir/limits/validate/validate";
import { mutate } from "@weir/harness/processes/mutation";
import { Random } from "@weir/harness/processes/random";
import { describe, expect, it } from "vitest";

import { compileRules } from "@weir/limits/rules/compile";
import { attachKeys } from "@weir/limits/rules/configuration.suite";
import { decodeResponse } from "./ads-messages.ts";

const INPUTS = 100_000;

/** Printed in the name of the test; any other number makes other inputs. */
const SEED = 20_261_123;

/** Longest input, in bytes. */
const LENGTH_MAX = 600;

/** Longest time of the test, in milliseconds: some seconds on a machine that does nothing else. */
const TIMEOUT_MS = 180_000;

const GOOD = [
  toBinary(
    RateLimitConfigSchema,
    create(RateLimitConfigSchema, {
      name: "n",
      domain: "d",
      descriptors: [
        {
          key: "a",
          value: "b*",
          shareThreshold: true,
          rateLimit: { unit: RateLimitUnit.WEEK, requestsPerUnit: 7, name: "x" },
        },
        {
          key: "c",
          metadata: { a: [1, null, { b: "c" }] },
          descriptors: [{ key: "d", descriptors: [{ key: "e", quotaMode: true }] }],
        },
      ],
    }),
  ),
  toBinary(
    RateLimitConfigSchema,
    create(RateLimitConfigSchema, {
      domain: "d",
      descriptors: [
        {
          key: "k",
          rateLimit: { unlimited: true, replaces: [{ name: "y" }] },
          valueToMetric: true,
          detailedMetric: true,
        },
      ],
    }),
  ),
].map((bytes) => Buffer.from(bytes));

/** Tags of fields, lengths and numbers that mean something to a decoder. */
const TOKENS = [
  "\x0a",
  "\x12",
  "\x1a",
  "\x22",
  "\x42",
  "\x08\x01",
  "\x10",
  "\x00",
  "\x7f",
  "\x0b\x0c",
  "\x1a\x00",
  "a*",
  "d",
].map((text) => Buffer.from(text, "latin1"));

describe("decodeResponse", () => {
  it(`decodes or refuses ${INPUTS} broken resources (seed ${SEED})`, { timeout: TIMEOUT_MS }, () => {
    const random = new Random(SEED);
    const seen = { good: 0, refused: 0, invalid: 0 };
    for (let index = 0; index < INPUTS; index++) {
      const value = random.oneIn(5)
        ? random.bytes(random.between(0, LENGTH_MAX))
        : mutate(random, random.pick(GOOD), random.between(1, 8), TOKENS).subarray(0, LENGTH_MAX);
      try {
        seen[readAll(create(AnySchema, { typeUrl: RATE_LIMIT_CONFIG_TYPE_URL, value }))] += 1;
      } catch (cause) {
        throw new Error(`input ${index} of seed ${SEED} failed: ${value.toString("hex")}`, { cause });
      }
    }
    // Inputs that all came to the same end would prove little.
    for (const end of ["good", "refused", "invalid"] as const) expect(seen[end], end).toBeGreaterThan(INPUTS / 100);
  });

  it("refuses descriptors that are nested as deep as the bytes allow", () => {
    // Field 4 of a descriptor is a list of descriptors; field 3 of the configuration too. Lengths
    // are those of what is inside.
    let bytes = Buffer.alloc(0);
    for (let depth = 0; depth < 20_000; depth++)
      bytes = Buffer.concat([Buffer.from([depth === 19_999 ? 0x1a : 0x22]), varint(bytes.length), bytes]);
    const content = decodeResponse(
      responseOf(create(AnySchema, { typeUrl: RATE_LIMIT_CONFIG_TYPE_URL, value: bytes })),
    );
    expect(content).toMatchObject({ kind: "invalid" });
  });
});

function readAll(resource: Any): "good" | "refused" | "invalid" {
  const content = decodeResponse(responseOf(resource));
  if (content.kind === "foreign") throw new Error("foreign");
  if (content.kind === "invalid") {
    if (!content.reason.startsWith("resource 0: ")) throw new Error(content.reason);
    return "refused";
  }
  if (findSetProblems(content.configs, { mergeDomains: false }).length > 0) return "invalid";
  compileRules(content.configs, attachKeys).dump();
  return "good";
}

function responseOf(resource: Any): ReturnType<typeof create<typeof DiscoveryResponseSchema>> {
  return create(DiscoveryResponseSchema, {
    versionInfo: "v",
    nonce: "n",
    typeUrl: RATE_LIMIT_CONFIG_TYPE_URL,
    resources: [resource],
  });
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest >>>= 7) bytes.push((rest & 127) | 128);
  return Buffer.from([...bytes, rest]);
}
