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

it.each([
  ["x", 4096],
  ["ü", 4092], // 6 bytes each: 682 characters.
  ["☂", 4095], // 9 bytes.
  ["🙂", 4092], // 12 bytes, and two UTF-16 units.
  ["a🙂", 4096], // 13 bytes: 315 times, and another a.
])("encodeGrpcMessage() cuts many %s after a whole character", (character, lengthBytes) => {
  const encoded = encodeGrpcMessage(character.repeat(5000));
  expect(encoded).toHaveLength(lengthBytes);
  expect(decodeURIComponent(encoded)).toMatch(new RegExp(`^(${character})*a?$`, "u"));
});
