// Tests of ads-security.ts.
import { describe, expect, it } from "vitest";

import { isAllowed } from "./ads-security.ts";

describe("isAllowed()", () => {
  it.each([
    { when: "nothing is listed", names: [], allowed: [], expected: true },
    { when: "the certificate has no name", names: [], allowed: ["a"], expected: false },
    { when: "one of several names is listed", names: ["x", "a"], allowed: ["a", "b"], expected: true },
    {
      when: "a host name differs in letter case",
      names: ["RateLimit.Example"],
      allowed: ["ratelimit.example"],
      expected: true,
    },
    {
      when: "the path of a URI differs in letter case",
      names: ["spiffe://weir/A"],
      allowed: ["spiffe://weir/a"],
      expected: false,
    },
    {
      when: "the name only begins as the listed one",
      names: ["ratelimit.evil"],
      allowed: ["ratelimit"],
      expected: false,
    },
  ])("says $expected when $when", ({ names, allowed, expected }) => {
    expect(isAllowed(names, allowed)).toBe(expected);
  });
});
