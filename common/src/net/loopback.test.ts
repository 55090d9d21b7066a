import { describe, expect, it } from "vitest";

import { isLocalName, isLoopback } from "./loopback.ts";

describe("isLoopback()", () => {
  it.each([
    ["127.0.0.1", true],
    ["127.0.0.6", false],
    ["::1", true],
    ["::ffff:127.0.0.1", true],
    ["::FFFF:127.0.0.1", true],
    ["10.0.0.1", false],
    ["::ffff:10.0.0.1", false],
    ["2001:db8::127", false],
    ["127.0.0.1.example", false],
    [undefined, false],
  ])("isLoopback() of %s is %s", (address, expected) => {
    expect(isLoopback(address)).toBe(expected);
  });
});

describe("isLocalName()", () => {
  it.each([
    ["127.0.0.1:8092", true],
    ["LOCALHOST", true],
    ["localhost:1", true],
    ["[::1]:8092", true],
    [undefined, true],
    ["", false],
    ["rebound.example:8092", false],
    ["localhost.example", false],
    ["127.0.0.1.example", false],
    ["10.0.0.1", false],
  ])("isLocalName() of %s is %s", (host, expected) => {
    expect(isLocalName(host)).toBe(expected);
  });
});
