// A secret must not leave by any way of printing.
import { inspect } from "node:util";

import { describe, expect, it } from "vitest";

import { maskCredentials, Secret } from "./secret.ts";

describe("Secret", () => {
  const secret = new Secret("hunter2");

  it("reveal() gives the value when it is asked for", () => {
    expect(secret.reveal()).toBe("hunter2");
  });

  it.each([
    { way: "String", text: String(secret) },
    { way: "concatenation", text: "".concat(secret as unknown as string) },
    { way: "JSON", text: JSON.stringify({ secret }) },
    { way: "inspect", text: inspect({ secret }, { showHidden: true, depth: 9 }) },
    { way: "entries", text: JSON.stringify(Object.entries(secret)) },
  ])("Secret hides the value when it is printed by $way", ({ text }) => {
    expect(text).not.toContain("hunter2");
  });

  it("toString() says that something is hidden when it is printed", () => {
    expect(secret.toString()).toBe("[redacted]");
  });
});

describe("maskCredentials()", () => {
  it.each([
    { text: "redis://user:pass@host:6379/0", masked: "redis://[redacted]@host:6379/0" },
    { text: "redis://:p/a@ss@host:6379", masked: "redis://[redacted]@host:6379" },
    { text: "redis://a:b@h1:1,redis://c:d@h2:2", masked: "redis://[redacted]@h2:2" },
    { text: "see http://u:p@a and http://b", masked: "see http://[redacted]@a and http://b" },
    { text: "redis://host:6379", masked: "redis://host:6379" },
    { text: "me@example.com", masked: "me@example.com" },
  ])("maskCredentials() gives $masked when it gets $text", ({ text, masked }) => {
    expect(maskCredentials(text)).toBe(masked);
  });
});
