// The hash of keys, by published vectors.
import { describe, expect, it } from "vitest";
import { CLOSING_WORDS, hashWords } from "./key-hash.ts";

/** The words 0x03020100, 0x07060504, … of the vectors. */
const MESSAGE = [0x03020100, 0x07060504, 0x0b0a0908, 0x0f0e0d0c];

describe("hashWords()", () => {
  // test_vectors_hsiphash for 32 bits in lib/tests/siphash_kunit.c of Linux, by bytes of the message.
  it.each([
    { words: 0, expected: 0x5814c896 },
    { words: 1, expected: 0x7e059ea6 },
    { words: 2, expected: 0x577999b1 },
  ])("gives the hash of HalfSipHash-1-3 for $words words", ({ words, expected }) => {
    const message = Int32Array.of(...MESSAGE.slice(0, words), ...Array.from({ length: CLOSING_WORDS }, () => -1));
    expect(hashWords(message, words, { low: 0x03020100, high: 0x07060504 }) >>> 0).toBe(expected);
  });

  it("gives another hash under another seed", () => {
    const hash = (low: number, high: number) => hashWords(Int32Array.of(1, 0, 0, 0, 0), 1, { low, high });
    expect(new Set([hash(0, 0), hash(1, 0), hash(0, 1)]).size).toBe(3);
  });
});
