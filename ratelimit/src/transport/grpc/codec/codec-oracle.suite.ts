// The oracle of the codec: what @bufbuild/protobuf makes of the same bytes and decisions, and random
// ones of both. Unit tests compare some thousand, codec-fuzz.suite.ts as many as wanted.
import { isDeepStrictEqual } from "node:util";

import { fromBinary, type JsonObject, toBinary } from "@bufbuild/protobuf";
import {
  type RateLimitRequest,
  RateLimitRequestSchema,
  RateLimitResponseSchema,
} from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import fc from "fast-check";

import type { Decision } from "../../../decide/decision.ts";
import { responseMessage } from "../../response-message.ts";
import type { RequestDecoder } from "./request-decoder.ts";

/** The reasons for which ours rejects messages that @bufbuild/protobuf reads in some way. */
const STRICTER = [
  "a field has another wire type than its own",
  "a field is longer than its message",
  "a varint is longer than 64 bits",
  "the message is cut off", // By the end of a nested message; theirs reads on behind it.
];

/**
 * Decodes bytes by our decoder and by the library; returns the result. Throws when they differ in
 * anything that ours is not stricter about.
 */
export function compareDecoding(decoder: RequestDecoder, bytes: Buffer): "decoded" | "malformed" | "stricter" {
  const expected = attempt(() => decodeByLibrary(bytes));
  const actual = attempt(() => decoder.decode(bytes, 0, bytes.length));
  if (actual.reason === undefined && isDeepStrictEqual(actual, expected)) return "decoded";
  if (actual.reason !== undefined && expected.reason !== undefined) return "malformed";
  if (actual.reason !== undefined && STRICTER.includes(actual.reason)) return "stricter";
  throw new Error(
    `The decoders differ about ${bytes.toString("hex")}: ${JSON.stringify(actual)}, expected ${JSON.stringify(expected)}`,
  );
}

/** The request as our decoder returns it, by the library. */
export function decodeByLibrary(bytes: Uint8Array): unknown {
  return plain(fromBinary(RateLimitRequestSchema, bytes));
}

/** The bytes of a decision by the library, in hex. */
export function encodeByLibrary(decision: Decision): string {
  return Buffer.from(toBinary(RateLimitResponseSchema, responseMessage(decision))).toString("hex");
}

/** A random decision. */
export function randomDecision(): fc.Arbitrary<Decision> {
  const text = fc.oneof(fc.string({ maxLength: 20 }), fc.string({ maxLength: 60, unit: "grapheme" }));
  const code = fc.constantFrom(1 as const, 2 as const);
  const uint32 = fc.oneof(fc.nat({ max: 300 }), fc.nat({ max: 2 ** 32 - 1 }));
  const multiplier = fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 2 ** 32 - 1 }));
  const status = fc.record({
    code,
    currentLimit: fc.option(
      fc.record(
        { requestsPerUnit: uint32, unit: fc.nat({ max: 7 }), unitMultiplier: multiplier, name: text },
        { requiredKeys: ["requestsPerUnit", "unit", "name"] },
      ),
      { nil: undefined },
    ),
    limitRemaining: uint32,
    durationUntilResetSeconds: fc.option(uint32, { nil: undefined }),
  });
  return fc.record({
    overallCode: code,
    statuses: fc.array(status, { maxLength: 5 }),
    headers: fc.option(fc.array(fc.record({ key: text, value: text }), { maxLength: 4 }), { nil: undefined }),
    dynamicMetadata: fc.option(
      fc.dictionary(text, fc.jsonValue({ maxDepth: 3 }), {
        maxKeys: 4,
        noNullPrototype: true,
      }) as fc.Arbitrary<JsonObject>,
      { nil: undefined },
    ),
  });
}

/** The result of a decoder: the request, or why there is none. */
function attempt(decodeBytes: () => unknown): { readonly request?: unknown; readonly reason?: string } {
  try {
    return { request: decodeBytes() };
  } catch (error) {
    return { reason: error instanceof Error ? error.message : String(error) };
  }
}

/** A message of @bufbuild/protobuf as our decoder returns it. */
function plain({ domain, descriptors, hitsAddend }: RateLimitRequest): unknown {
  return {
    domain,
    descriptors: descriptors.map(({ entries, limit, hitsAddend: own, isNegativeHits }) => ({
      entries: entries.map(({ key, value }) => ({ key, value })),
      limit: limit && {
        requestsPerUnit: limit.requestsPerUnit,
        unit: limit.unit,
        unitMultiplier: limit.unitMultiplier,
      },
      hitsAddend: own === undefined ? undefined : Number(own),
      isNegativeHits,
    })),
    hitsAddend,
  };
}
