// The distribution of connections.
import { describe, expect, it } from "vitest";
import { indexOfFewest, surplusOf } from "./balance.ts";

describe("indexOfFewest()", () => {
  it.each([
    { connections: [], expected: -1 },
    { connections: [3], expected: 0 },
    { connections: [2, 1, 1], expected: 1 },
    { connections: [0, 0], expected: 0 },
  ])("gives $expected for $connections", ({ connections, expected }) => {
    expect(indexOfFewest(connections)).toBe(expected);
  });
});

describe("surplusOf()", () => {
  it.each([
    { connections: [], expected: [] },
    { connections: [5], expected: [0] },
    { connections: [4, 4], expected: [0, 0] },
    { connections: [5, 4], expected: [0, 0] },
    { connections: [8, 0], expected: [4, 0] },
    { connections: [5, 5, 0], expected: [1, 2, 0] },
    { connections: [1, 0, 0], expected: [0, 0, 0] },
    { connections: [10, 3, 0, 3], expected: [6, 0, 0, 0] },
  ])("gives $expected for $connections", ({ connections, expected }) => {
    expect(surplusOf(connections)).toEqual(expected);
  });
});
