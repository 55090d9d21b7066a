import { describe, expect, it } from "vitest";

import { callerGroup, withoutPorts } from "./caller-group.ts";

describe("callerGroup()", () => {
  it.each([
    ["203.0.113.7", "203.0.113.0/24 203.0.113.7"],
    ["::ffff:203.0.113.7", "203.0.113.0/24 203.0.113.7"],
    ["::FFFF:cb00:7107", "203.0.113.0/24 203.0.113.7"],
    ["0:0:0:0:0:ffff:203.0.113.7", "203.0.113.0/24 203.0.113.7"],
    ["203.0.113.7:51234", "203.0.113.0/24 203.0.113.7"],
    ["2001:db8::1", "2001:db8::/48 2001:db8::/56 2001:db8::/64"],
    ["2001:0DB8:0001:02ff:0002:0003:0004:0005", "2001:db8:1::/48 2001:db8:1:200::/56 2001:db8:1:2ff::/64"],
    ["[2001:db8:1:2ff::9]:443", "2001:db8:1::/48 2001:db8:1:200::/56 2001:db8:1:2ff::/64"],
    ["[2001:db8:1:2ff::9]", "2001:db8:1::/48 2001:db8:1:200::/56 2001:db8:1:2ff::/64"],
    ["fe80::1%eth0", "fe80::/48 fe80::/56 fe80::/64"],
    ["::1", "::/48 ::/56 ::/64"],
    ["::ffff:0:203.0.113.7", "::/48 ::/56 ::/64"],
  ])("finds the networks of %s", (address, networks) => {
    const group = callerGroup(address);
    expect(group.networks.join(" ")).toBe(networks);
    expect([group.address, group.customer]).toEqual([group.networks.at(-1), group.networks[1]]);
  });

  it.each([
    "",
    "unknown",
    "01.2.3.4",
    "1.2.3",
    "1",
    "0x7f000001",
    "::1]/x[",
    ":::",
    "a\r\nb",
    "1.2.3.4, 1.2.3.4",
    "1.2.3.4:x",
  ])("takes the address of the connection in place of %j", (text) => {
    expect(callerGroup(text, "::ffff:198.51.100.1").address).toBe("198.51.100.1");
  });

  it("gives callers without any address one group", () => {
    const unknown = { address: "unknown", customer: "unknown", networks: ["unknown"] };
    expect([callerGroup(undefined, undefined), callerGroup("nonsense")]).toEqual([unknown, unknown]);
  });
});

describe("withoutPorts()", () => {
  it("removes the ports, and nothing else", () => {
    expect(withoutPorts("203.0.113.7:51234, [2001:db8::1]:443,2001:db8::2 , 10.0.0.1, unknown:80")).toBe(
      "203.0.113.7, 2001:db8::1, 2001:db8::2, 10.0.0.1, unknown:80",
    );
  });
});
