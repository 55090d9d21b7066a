// Tests of padding.
import { expect, it } from "vitest";

import { paddingBytes } from "./padding.ts";

it.each([
  [Buffer.from([0]), 0],
  [Buffer.from([0, 1, 2]), 0],
  [Buffer.from([2, 0, 0]), 2],
])("paddingBytes() of %j is %i", (payload, expected) => {
  expect(paddingBytes(payload, 0, payload.length)).toBe(expected);
});

it.each([Buffer.alloc(0), Buffer.from([1]), Buffer.from([3, 0, 0])])("paddingBytes() refuses %j", (payload) => {
  expect(() => paddingBytes(payload, 0, payload.length)).toThrow("The padding exceeds its frame");
});
