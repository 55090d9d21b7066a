// Tests of machine-address.ts with made-up interfaces.
import type { NetworkInterfaceInfo } from "node:os";

import { describe, expect, it } from "vitest";

import { machineAddress } from "./machine-address.ts";

function ipv4(address: string): NetworkInterfaceInfo {
  return { address, family: "IPv4", netmask: "", mac: "", internal: false, cidr: null };
}

describe("machineAddress()", () => {
  it.each([
    { addresses: ["127.0.0.1", "192.0.2.7"], expected: "192.0.2.7" },
    { addresses: ["127.0.0.1", "10.88.0.1"], expected: "10.88.0.1" },
    { addresses: ["169.254.3.4", "192.0.2.7", "192.0.2.8"], expected: "192.0.2.7" },
  ])("takes $expected of $addresses", ({ addresses, expected }) => {
    expect(machineAddress({ lo: addresses.map((address) => ipv4(address)) })).toBe(expected);
  });

  it("gives the machine one that has none", () => {
    const given: string[] = [];
    expect(machineAddress({ lo: [ipv4("127.0.0.1")] }, (address) => void given.push(address))).toBe("10.88.0.1");
    expect(given).toEqual(["10.88.0.1"]);
  });

  it("says what is missing when it cannot", () => {
    const refuse = (): void => {
      throw new Error("not permitted");
    };
    expect(() => machineAddress({ lo: [ipv4("127.0.0.1")], eth0: undefined }, refuse)).toThrow(
      "this machine has no other IPv4 address",
    );
  });
});
