import { describe, expect, it } from "vitest";

import { parseHostPort, unmapAddress } from "./host-port.ts";

describe("parseHostPort()", () => {
  it.each([
    { text: "store.shop.svc:6379", parts: { host: "store.shop.svc", port: 6379 } },
    { text: "192.0.2.1:65535", parts: { host: "192.0.2.1", port: 65_535 } },
    { text: "[2001:db8::1]:80", parts: { host: "2001:db8::1", port: 80 } },
    { text: "[fe80::1%25]", parts: { host: "fe80::1%25", port: undefined } },
    { text: "store", parts: { host: "store", port: undefined } },
    { text: ":9090", parts: { host: undefined, port: 9090 } },
    { text: "", parts: undefined },
    { text: "store:65536", parts: undefined },
    { text: "store:", parts: undefined },
    { text: "2001:db8::1", parts: undefined },
    { text: "2001:db8::1:80", parts: undefined },
    { text: "user@store:80", parts: undefined },
    { text: "dns:///store:80", parts: undefined },
    { text: "a store:80", parts: undefined },
  ])("parseHostPort() of '$text'", ({ text, parts }) => {
    expect(parseHostPort(text)).toEqual(parts);
  });
});

describe("unmapAddress()", () => {
  it.each([
    { address: "::ffff:192.0.2.1", expected: "192.0.2.1" },
    { address: "::FFFF:192.0.2.1", expected: "192.0.2.1" },
    { address: "192.0.2.1", expected: "192.0.2.1" },
    { address: "::ffff:c000:201", expected: "::ffff:c000:201" },
    { address: "::ffff:0:192.0.2.1", expected: "::ffff:0:192.0.2.1" },
    { address: "2001:db8::ffff:192.0.2.1", expected: "2001:db8::ffff:192.0.2.1" },
    { address: "::1", expected: "::1" },
    { address: "unknown", expected: "unknown" },
  ])("unmapAddress() of $address is $expected", ({ address, expected }) => {
    expect(unmapAddress(address)).toBe(expected);
  });
});
