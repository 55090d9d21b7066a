// Tests of the encoding of status messages.
import { expect, it } from "vitest";

import { encodeGrpcMessage } from "./status.ts";

it.each([
  ["", ""],
  ["no such domain: ~!", "no such domain: ~!"],
  ["100%", "100%25"],
  ["line\nnext\t", "line%0Anext%09"],
  ["grüße ☂ 🙂", "gr%C3%BC%C3%9Fe %E2%98%82 %F0%9F%99%82"],
  ["\u007f", "%7F"],
  ["\ud800", "%EF%BF%BD"],
  ["unknown service ", "unknown service%20"],
  ["  a b  ", "%20 a b %20"],
  [" ", "%20"],
])("encodeGrpcMessage() of %j is %s", (text, expected) => {
  expect(encodeGrpcMessage(text)).toBe(expected);
});

it("encodeGrpcMessage() cuts what is too long, at the end of an encoded byte", () => {
  expect(encodeGrpcMessage("x".repeat(5000))).toHaveLength(4096);
  const encoded = encodeGrpcMessage("ü".repeat(5000));
  expect(encoded.length).toBeLessThanOrEqual(4096);
  expect(encoded).toMatch(/^(%[0-9A-F]{2})+$/);
});
