// Slots of keys: the values of the Redis cluster specification, hash tags, and a second
// implementation bit by bit.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hashSlot } from "./hash-slot.ts";

/** CRC16/XMODEM as its definition reads: a shift register, bit by bit over the bytes. */
function slotBitByBit(key: string): number {
  const bytes = Buffer.from(key);
  const open = bytes.indexOf("{");
  const close = open === -1 ? -1 : bytes.indexOf("}", open);
  const hashed = close > open + 1 ? bytes.subarray(open + 1, close) : bytes;
  let register = 0;
  for (const byte of hashed) {
    for (let bit = 7; bit >= 0; bit--) {
      const carry = ((register >> 15) & 1) ^ ((byte >> bit) & 1);
      register = (register << 1) & 0xffff;
      if (carry === 1) register ^= 0x1021;
    }
  }
  return register & 0x3fff;
}

describe("hashSlot()", () => {
  it.each([
    { key: "123456789", slot: 0x31c3 }, // The check value of the Redis cluster specification, which is below 16384.
    { key: "", slot: 0 },
    { key: "foo", slot: 12_182 },
    { key: "bar", slot: 5061 },
    { key: "hello", slot: 866 },
    { key: "somekey", slot: 11_058 },
    { key: "foo{hash_tag}", slot: 2515 },
    { key: "bar{hash_tag}", slot: 2515 },
    { key: "hash_tag", slot: 2515 },
    { key: "{user1000}.following", slot: 3443 },
    { key: "{user1000}.followers", slot: 3443 },
  ])("hashSlot() gives $slot when the key is '$key'", ({ key, slot }) => {
    expect(hashSlot(key)).toBe(slot);
  });

  it.each([
    { key: "foo{}{bar}", same: "foo{}{bar}", how: "an empty first tag counts the whole key" },
    { key: "foo{{bar}}zap", same: "{bar", how: "the tag reaches from the first { to the first } behind it" },
    { key: "foo{bar}{zap}", same: "bar", how: "only the first tag counts" },
    { key: "}foo{bar}", same: "bar", how: "a } before the first { counts for nothing" },
    { key: "foo{bar", same: "foo{bar", how: "a { that is not closed is no tag" },
    { key: "ä{ö€😀}", same: "ö€😀", how: "a tag may contain any text" },
  ])("hashSlot() obeys: $how", ({ key, same }) => {
    expect(hashSlot(key)).toBe(slotBitByBit(same));
    if (key === same) expect(slotBitByBit(same.replace(/[{}]/g, "_"))).not.toBe(hashSlot(key)); // The braces themselves are hashed.
  });

  it("hashSlot() agrees with the definition of the CRC when keys are any texts", () => {
    const braces = fc
      .array(fc.constantFrom("{", "}", "a", "ä", "\ud800", "_"), { maxLength: 12 })
      .map((parts) => parts.join(""));
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.string(), braces), (key) => {
        expect(hashSlot(key)).toBe(slotBitByBit(key));
      }),
      { numRuns: 5000, seed: 16_384 },
    );
  }, 60_000);
});
