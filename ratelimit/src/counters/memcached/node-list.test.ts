// The choice of a node, against known values of CRC32.
import { describe, expect, it } from "vitest";
import { nodeIndex } from "./node-list.ts";

describe("nodeIndex()", () => {
  // CRC32 of "123456789" is 0xCBF43926 = 3421780262 (the check value of the algorithm); of "" 0; of
  // "a" 0xE8B7BE43 = 3904355907; of "The quick brown fox jumps over the lazy dog" 0x414FA339 =
  // 1095738169.
  it.each([
    { key: "123456789", count: 3, index: 2 },
    { key: "123456789", count: 5, index: 2 },
    { key: "a", count: 3, index: 0 },
    { key: "a", count: 100, index: 7 },
    { key: "The quick brown fox jumps over the lazy dog", count: 3, index: 1 },
    { key: "The quick brown fox jumps over the lazy dog", count: 1000, index: 169 },
    { key: "", count: 3, index: 0 },
    { key: "anything", count: 1, index: 0 },
  ])("nodeIndex() is $index when '$key' is one of $count nodes", ({ key, count, index }) => {
    expect(nodeIndex(key, count)).toBe(index);
  });
});
