import { describe, expect, it, vi } from "vitest";

import { everyHost, isLocalName, isLoopback, loopbackHosts } from "./loopback.ts";

const interfaces = vi.hoisted(() => vi.fn());
vi.mock("node:os", () => ({ networkInterfaces: interfaces }));

describe("everyHost() and loopbackHosts()", () => {
  it.each([
    { families: ["IPv4", "IPv6"], every: "::", loopback: ["127.0.0.1", "::1"] },
    { families: ["IPv4"], every: "0.0.0.0", loopback: ["127.0.0.1"] },
  ])("are $every and $loopback on a machine with $families", ({ families, every, loopback }) => {
    const lo = families.map((family) => ({ family, address: family === "IPv6" ? "::1" : "127.0.0.1" }));
    interfaces.mockReturnValue({ lo });
    expect([everyHost(), loopbackHosts()]).toEqual([every, loopback]);
  });
});

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
