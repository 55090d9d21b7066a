import { describe, expect, it } from "vitest";
import { firstVersion } from "./machine.ts";

describe("firstVersion()", () => {
  it.each([
    {
      text: "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.2.1 bits=64 build=5281bc5f10f9df79",
      version: "7.0.15",
    },
    { text: "memcached 1.6.18\n", version: "1.6.18" },
    { text: "no number 7 with a dot", version: undefined },
  ])("is $version when the program wrote '$text'", ({ text, version }) => {
    expect(firstVersion(text)).toBe(version);
  });
});
