// Tests of alternative-names.ts.
import { describe, expect, it } from "vitest";

import { alternativeNames, readAlternativeNames } from "./alternative-names.ts";

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

describe("readAlternativeNames()", () => {
  it.each([
    {
      text: "DNS:a, URI:spiffe://weir/a, email:a@b",
      expected: [
        { kind: "DNS", name: "a" },
        { kind: "URI", name: "spiffe://weir/a" },
        { kind: "email", name: "a@b" },
      ],
    },
    // Node writes a comma in a name as an escape of JSON.
    {
      text: 'URI:"spiffe://weir/a\\u002c URI:spiffe://weir/b"',
      expected: [{ kind: "URI", name: "spiffe://weir/a, URI:spiffe://weir/b" }],
    },
    { text: 'URI:"no JSON \\x"', expected: [{ kind: "URI", name: undefined }] },
    { text: 'othername:"URI:spiffe://weir/a"', expected: [{ kind: "othername", name: "URI:spiffe://weir/a" }] },
    { text: 'URI:"unfinished, URI:spiffe://weir/a', expected: [] },
  ])("gives $expected for $text", ({ text, expected }) => {
    expect(readAlternativeNames({ subjectaltname: text })).toEqual(expected);
  });
});
