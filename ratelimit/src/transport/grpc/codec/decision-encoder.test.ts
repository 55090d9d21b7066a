import type { JsonObject } from "@bufbuild/protobuf";
import type { RuleLimit } from "@weir/limits/model/rule-limit";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import type { Decision } from "../../../decide/decision.ts";
import { PLAIN_OK } from "../../transport.suite.ts";
import { encodeByLibrary, randomDecision } from "./codec-oracle.suite.ts";
import { DecisionEncoder } from "./decision-encoder.ts";

/** Random decisions: the same ones in every run. */
const RUNS = { seed: 20_261_122, numRuns: 1500 };

/** The bytes of the target before; those outside the message must not change. */
const FILLER = 0xa5;
const OFFSET = 7;

const encoder = new DecisionEncoder();

/** The encoded decision, in hex. Fails when it does not fit into the size that was announced. */
function encode(decision: Decision): string {
  const maxBytes = encoder.maxBytes(decision);
  const target = Buffer.alloc(OFFSET + maxBytes + OFFSET, FILLER);
  const end = encoder.encode(decision, target, OFFSET);
  expect(end - OFFSET).toBeLessThanOrEqual(maxBytes);
  const outside = Buffer.concat([target.subarray(0, OFFSET), target.subarray(OFFSET + maxBytes)]);
  expect(outside.equals(Buffer.alloc(2 * OFFSET, FILLER))).toBe(true);
  return target.toString("hex", OFFSET, end);
}

function withLimit(currentLimit: RuleLimit): Decision {
  return {
    ...PLAIN_OK,
    statuses: [{ code: 1, currentLimit, limitRemaining: 300, durationUntilResetSeconds: 604_800 }],
  };
}

describe("DecisionEncoder", () => {
  it("encode() writes every field of a status", () => {
    const decision: Decision = {
      ...PLAIN_OK,
      overallCode: 2,
      statuses: [
        {
          code: 2,
          currentLimit: { requestsPerUnit: 300, unit: 2, name: "n" },
          limitRemaining: 5,
          durationUntilResetSeconds: 35,
        },
      ],
    };
    expect(encode(decision)).toBe(
      "0802" + "1212" + "0802" + "1208" + "08ac02" + "1002" + "1a016e" + "1805" + "22020823",
    );
  });

  it("encode() writes the units in a window after the name", () => {
    const limit: RuleLimit = { requestsPerUnit: 300, unit: 2, unitMultiplier: 300, name: "n" };
    expect(encode(withLimit(limit))).toBe(
      "0801" + "121a" + "0801" + "120d" + "08ac02" + "1002" + "1a016e" + "220308ac02" + "18ac02" + "22040880f524",
    );
  });

  it.each<[string, Decision]>([
    ["no status", { ...PLAIN_OK, statuses: [] }],
    ["a status without a limit", PLAIN_OK],
    ["a limit of zeros", withLimit({ requestsPerUnit: 0, unit: 0, name: "" })],
    ["the largest limit", withLimit({ requestsPerUnit: 4_294_967_295, unit: 7, name: "" })],
    [
      "a name that makes the status longer than one byte can say",
      withLimit({ requestsPerUnit: 1, unit: 1, name: "n".repeat(120) }),
    ],
    ["a name longer than two bytes can say", withLimit({ requestsPerUnit: 1, unit: 1, name: "ж".repeat(10_000) })],
    ["a name with a lone surrogate", withLimit({ requestsPerUnit: 1, unit: 1, name: "\ud800" })],
    [
      "numbers at the edges of their lengths",
      {
        ...PLAIN_OK,
        statuses: [0, 1, 127, 128, 16_383, 16_384, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1].map((limitRemaining) => ({
          code: 1,
          currentLimit: undefined,
          limitRemaining,
          durationUntilResetSeconds: limitRemaining,
        })),
      },
    ],
    ["empty headers", { ...PLAIN_OK, headers: [{ key: "", value: "" }] }],
    ["empty metadata", { ...PLAIN_OK, dynamicMetadata: {} }],
    [
      "metadata with a key that objects have",
      { ...PLAIN_OK, dynamicMetadata: JSON.parse('{"__proto__":{"a":1}}') as JsonObject },
    ],
    ["metadata that is deep and long", { ...PLAIN_OK, dynamicMetadata: nested(50) }],
  ])("encode() writes the bytes of @bufbuild/protobuf for %s", (_what, decision) => {
    expect(encode(decision)).toBe(encodeByLibrary(decision));
  });

  it("encode() writes the bytes of @bufbuild/protobuf for random decisions", () => {
    fc.assert(
      fc.property(randomDecision(), (decision) => {
        expect(encode(decision)).toBe(encodeByLibrary(decision));
      }),
      RUNS,
    );
  });

  it("encode() writes the same limit again as the first time", () => {
    const decision = withLimit({ requestsPerUnit: 70_000, unit: 3, name: "again" });
    expect([encode(decision), encode(decision)]).toEqual([encodeByLibrary(decision), encodeByLibrary(decision)]);
  });
});

/** Structs and lists within each other, each longer than 127 bytes. */
function nested(levels: number): JsonObject {
  const text = "x".repeat(130);
  return levels === 0 ? { text } : { text, inner: [null, -0.5, true, nested(levels - 1)] };
}
