// Tests of ads-security.ts.
import { describe, expect, it } from "vitest";

import { alternativeNames, isAllowed } from "./ads-security.ts";

describe("alternativeNames()", () => {
  it.each([
    { text: undefined, expected: [] },
    { text: "", expected: [] },
    { text: "DNS:ratelimit", expected: ["ratelimit"] },
    {
      text: "DNS:a, URI:spiffe://weir/ratelimit, IP Address:192.0.2.1",
      expected: ["a", "spiffe://weir/ratelimit", "192.0.2.1"],
    },
    { text: "IP Address:2001:DB8:0:0:0:0:0:1", expected: ["2001:DB8:0:0:0:0:0:1"] },
    // A name that itself looks like a list of names: Node quotes it, and it stays one name.
    { text: 'URI:"spiffe://a, DNS:ratelimit"', expected: ["spiffe://a, DNS:ratelimit"] },
    { text: 'DNS:"say \\"x\\", DNS:ratelimit", DNS:b', expected: ['say "x", DNS:ratelimit', "b"] },
    { text: 'DNS:"unfinished, DNS:ratelimit', expected: [] },
    { text: 'DNS:"no JSON \\x", DNS:b', expected: ["b"] },
    { text: "nonsense", expected: [] },
  ])("gives $expected for $text", ({ text, expected }) => {
    expect(alternativeNames(text === undefined ? undefined : { subjectaltname: text })).toEqual(expected);
  });
});

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
