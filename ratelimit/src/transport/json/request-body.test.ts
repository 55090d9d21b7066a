import { describe, expect, it } from "vitest";

import { parseRequestBody } from "./request-body.ts";

describe("parseRequestBody", () => {
  it.each([
    ["lowerCamelCase names", '{"domain":"d","hitsAddend":3}', { domain: "d", hitsAddend: 3 }],
    ["snake_case names (case 171)", '{"domain":"d","hits_addend":3}', { domain: "d", hitsAddend: 3 }],
    ["null as absent", '{"domain":"d","descriptors":null}', { domain: "d", descriptors: [] }],
    [
      "entries",
      '{"domain":"d","descriptors":[{"entries":[{"key":"k","value":"v"},{"key":"empty"}]}]}',
      {
        descriptors: [
          {
            entries: [
              { key: "k", value: "v" },
              { key: "empty", value: "" },
            ],
          },
        ],
      },
    ],
    [
      "a unit by name",
      '{"descriptors":[{"limit":{"requestsPerUnit":4294967295,"unit":"DAY"}}]}',
      { descriptors: [{ limit: { requestsPerUnit: 4294967295, unit: 4 } }] },
    ],
    ["a unit by number", '{"descriptors":[{"limit":{"unit":7}}]}', { descriptors: [{ limit: { unit: 7 } }] }],
    ["a 64-bit addend as a number", '{"descriptors":[{"hitsAddend":5}]}', { descriptors: [{ hitsAddend: 5n }] }],
    [
      "a 64-bit addend as text",
      '{"descriptors":[{"hitsAddend":"18446744073709551615"}]}',
      { descriptors: [{ hitsAddend: 18446744073709551615n }] },
    ],
    ["an empty message", "{}", { domain: "", descriptors: [] }],
  ])("parseRequestBody() reads %s", (_what, text, request) => {
    expect(parseRequestBody(Buffer.from(text))).toMatchObject({ ok: true, request });
  });

  it.each([
    ["an empty body (case 168)", "", "the body is empty, it must be a RateLimitRequest as JSON"],
    ["spaces", " \n", "the body is empty, it must be a RateLimitRequest as JSON"],
    ["a broken body (case 168)", "}", "JSON"],
    ["an unknown field (case 171)", '{"domain":"d","domains":[]}', '"domains" is unknown'],
    ["an unknown field deep inside", '{"descriptors":[{"entries":[{"key":"k","val":"v"}]}]}', '"val" is unknown'],
    ["a number for a text", '{"domain":1}', "domain"],
    ["a text for a list", '{"descriptors":"a"}', "descriptors"],
    ["a negative addend", '{"hitsAddend":-1}', "hits_addend"],
    ["a fraction as an addend", '{"hitsAddend":1.5}', "hits_addend"],
    ["an unknown unit", '{"descriptors":[{"limit":{"unit":"FORTNIGHT"}}]}', "FORTNIGHT"],
    ["a list as the whole", "[]", "JSON"],
    ["two values", "{} {}", "JSON"],
  ])("parseRequestBody() refuses %s", (_what, text, reason) => {
    expect(parseRequestBody(Buffer.from(text))).toEqual({ ok: false, message: expect.stringContaining(reason) });
  });

  it("parseRequestBody() refuses bytes that are no UTF-8", () => {
    expect(parseRequestBody(Buffer.from([0x22, 0xff, 0x22]))).toEqual({
      ok: false,
      message: "the body is no RateLimitRequest as JSON: it is not UTF-8",
    });
  });

  it("parseRequestBody() quotes no more than the start of a long reason", () => {
    const parsed = parseRequestBody(Buffer.from(`{"${"x".repeat(5000)}":1}`));
    expect(parsed.ok ? "" : parsed.message.length).toBeLessThan(400);
  });
});
