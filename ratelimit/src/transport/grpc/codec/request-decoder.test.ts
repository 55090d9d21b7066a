import { create, toBinary } from "@bufbuild/protobuf";
import { mutate } from "@weir/harness/processes/mutation";
import { Random } from "@weir/harness/processes/random";
import { type RateLimitRequest, RateLimitRequestSchema } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { randomMessage } from "@weir/proto/random-message.suite";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { compareDecoding, decodeByLibrary } from "./codec-oracle.suite.ts";
import { MalformedMessage } from "@weir/http2/grpc/malformed-message";
import { RequestDecoder } from "./request-decoder.ts";

/** Random messages, and random changes of them: the same ones in every run. */
const RUNS = { seed: 20_261_122, numRuns: 1500 };

const decoder = new RequestDecoder({ maxDescriptors: 1000, maxEntries: 100 });

/** Decodes bytes that are in the middle of a larger buffer, as those of a socket are. */
function decode(bytes: Uint8Array, using = decoder): unknown {
  const around = Buffer.concat([Buffer.alloc(3, 0xff), bytes, Buffer.alloc(3, 0x08)]);
  return using.decode(around, 3, 3 + bytes.length);
}

function hex(text: string): Buffer {
  return Buffer.from(text.replaceAll(" ", ""), "hex");
}

describe("RequestDecoder.decode()", () => {
  it("decode() returns every field", () => {
    const bytes = toBinary(
      RateLimitRequestSchema,
      create(RateLimitRequestSchema, {
        domain: "mongo_cps",
        hitsAddend: 4_294_967_295,
        descriptors: [
          { entries: [{ key: "k", value: "v" }, { key: "ключ" }] },
          {
            entries: [{ key: "a", value: "b".repeat(300) }],
            limit: { requestsPerUnit: 300, unit: 3, unitMultiplier: 15 },
            hitsAddend: 2n ** 40n,
            isNegativeHits: true,
          },
        ],
      }),
    );
    expect(decode(bytes)).toEqual({
      domain: "mongo_cps",
      hitsAddend: 4_294_967_295,
      descriptors: [
        {
          entries: [
            { key: "k", value: "v" },
            { key: "ключ", value: "" },
          ],
          limit: undefined,
          hitsAddend: undefined,
          isNegativeHits: false,
        },
        {
          entries: [{ key: "a", value: "b".repeat(300) }],
          limit: { requestsPerUnit: 300, unit: 3, unitMultiplier: 15 },
          hitsAddend: 2 ** 40,
          isNegativeHits: true,
        },
      ],
    });
  });

  it.each([
    ["no bytes at all", ""],
    ["the last of several domains and addends", "0a0161 1801 0a0162 1802"],
    ["an empty descriptor", "1200"],
    ["an empty entry", "1202 0a00"],
    ["limits of a descriptor merged", "1208 1202 0864 1202 1003"],
    ["a limit that an empty one follows", "1206 1202 0864 1200"],
    ["the last of several fields of a limit", "1206 1204 0801 0802"],
    ["addends of a descriptor merged", "1206 1a02 0805 1a00"],
    ["an addend without a number", "1202 1a00"],
    ["a multiplier of 1, and one merged", "120a 1208 1a02 0801 1a02 0803"],
    ["a unit that no enum has", "1204 1202 1063"],
    ["a negative unit", "120d 120b 10ffffffffffffffffff01"],
    ["numbers longer than they need be", "18 8180808000 1207 1a05 08 83808000"],
    ["a number of 64 bits where 32 are expected", "18 ffffffffffffffffff01"],
    ["flags of any bit", "1203 20 8002 120b 2080808080808080808001"],
    ["unknown fields of every wire type", "2001 29 0102030405060708 3202 aabb 35 01020304 0a0161"],
    ["unknown groups, also nested", "23 0801 2b 0a0161 2c 24 0a0162"],
    ["an unknown field of the largest number", "f8ffffff0f 01 0a0161"],
    ["tags longer than they need be", "8a00 0161 9880808000 05"],
    ["a string with the replacement character", "0a03 efbfbd"],
    ["a string with a byte-order mark", "0a04 efbbbf61"],
    ["a string with NUL", "0a03 610062"],
  ])("decode() agrees with @bufbuild/protobuf about %s", (_what, text) => {
    const bytes = hex(text);
    expect(decode(bytes)).toEqual(decodeByLibrary(bytes));
  });

  it("decode() agrees with @bufbuild/protobuf about random messages", () => {
    fc.assert(
      fc.property(randomMessage(RateLimitRequestSchema), (message) => {
        const bytes = toBinary(RateLimitRequestSchema, message as RateLimitRequest);
        expect(decode(bytes)).toEqual(decodeByLibrary(bytes));
      }),
      RUNS,
    );
  });

  it("decode() agrees with @bufbuild/protobuf about changed messages, but for what it is stricter about", () => {
    const seen = { decoded: 0, malformed: 0, stricter: 0 };
    fc.assert(
      fc.property(randomMessage(RateLimitRequestSchema), fc.array(fc.nat(), { maxLength: 12 }), (message, seeds) => {
        const original = Buffer.from(toBinary(RateLimitRequestSchema, message as RateLimitRequest));
        for (const seed of seeds) seen[compareDecoding(decoder, mutate(new Random(seed), original, 1))]++;
      }),
      RUNS,
    );
    // Each of the three happens often, so that the comparison means something.
    expect(Math.min(seen.decoded, seen.malformed)).toBeGreaterThan(1000);
    expect(seen.stricter).toBeGreaterThan(100);
  });

  it.each([
    ["a tag that is cut off", "0a0161 80", "the message is cut off"],
    ["field number 0", "00", "a tag has an illegal field number"],
    ["field number 0 in two bytes", "8200 01", "a tag has an illegal field number"],
    ["a tag of more than 32 bits", "9880808010 05", "a tag has an illegal field number"],
    ["a tag of six bytes", "988080808000 05", "a tag has an illegal field number"],
    ["wire type 6", "0e01", "a field has another wire type than its own"],
    ["wire type 7 of an unknown field", "27", "a tag has an illegal wire type"],
    ["a domain as a number", "0805", "a field has another wire type than its own"],
    ["descriptors as a group", "1314", "a field has another wire type than its own"],
    ["an addend as bytes", "1a0105", "a field has another wire type than its own"],
    ["a key of four bytes", "1207 0a05 0d01020304", "a field has another wire type than its own"],
    ["an addend of a descriptor as a number", "1202 1805", "a field has another wire type than its own"],
    ["a string without its end", "0a05 61", "a field is longer than its message"],
    ["an entry longer than its descriptor", "1202 0a02 0a00", "a field is longer than its message"],
    ["a value longer than its entry", "1206 0a02 1203 616263", "a field is longer than its message"],
    ["a length of more than 32 bits", "0a818080808001 61", "a field is longer than its message"],
    ["a varint without its end", "18ff", "the message is cut off"],
    ["a varint of eleven bytes", "18 8080808080808080808001", "a varint is longer than 64 bits"],
    ["a varint of 65 bits", "18 80808080808080808002", "a varint is longer than 64 bits"],
    ["a fixed field without its end", "31 01020304050607", "the message is cut off"],
    ["a group without an end", "23 0801", "the message is cut off"],
    ["the end of another group", "23 2c", "a group ends that did not begin"],
    ["the end of no group", "24", "a group ends that did not begin"],
    ["groups in groups in groups", "23".repeat(101) + "24".repeat(101), "groups are nested too deeply"],
    ["a domain that is not UTF-8", "0a02 c328", "a string is not UTF-8"],
    ["a lone surrogate in a value", "1207 0a05 1203 eda080", "a string is not UTF-8"],
    ["a long value that is not UTF-8", `1244 0a42 1240 ${"61".repeat(63)}ff`, "a string is not UTF-8"],
  ])("decode() throws for %s", (_what, text, reason) => {
    expect(() => decode(hex(text))).toThrow(new MalformedMessage(reason));
  });

  it("decode() decodes the next message after a malformed one", () => {
    expect(() => decode(hex("1206 0a02 1203"))).toThrow(MalformedMessage);
    expect(decode(hex("0a0161"))).toEqual({ domain: "a", descriptors: [], hitsAddend: 0 });
  });

  it("decode() returns the length of lists that are too long, without their contents", () => {
    const small = new RequestDecoder({ maxDescriptors: 2, maxEntries: 1 });
    // Descriptors with two entries each; in the third the second entry is not even one.
    const request = decode(hex("1204 0a00 0a00 1204 0a00 0a00 1204 0a00 0a7f 0a0161"), small) as RateLimitRequest;
    expect(request.domain).toBe("a");
    expect(request.descriptors.map(({ entries }) => entries.length)).toEqual([2, 2, 0]);
  });
});
