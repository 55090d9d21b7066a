import { describe, expect, it } from "vitest";
import { addressPrefix, queueGroup } from "./address-prefix.ts";

describe("addressPrefix()", () => {
  it.each([
    ["203.0.113.7", "203.0.113.7"],
    ["::ffff:203.0.113.7", "203.0.113.7"],
    ["::FFFF:cb00:7107", "203.0.113.7"],
    ["0:0:0:0:0:ffff:203.0.113.7", "203.0.113.7"],
    ["2001:db8::1", "2001:db8:0:0::/64"],
    ["2001:0DB8:0000:0001:0002:0003:0004:0005", "2001:db8:0:1::/64"],
    ["2001:db8:0:1::", "2001:db8:0:1::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["::", "0:0:0:0::/64"],
    ["1:2:3:4:5:6:7::", "1:2:3:4::/64"],
  ])("gives %s the prefix %s", (address, prefix) => {
    expect(addressPrefix(address)).toBe(prefix);
  });

  it.each([
    "",
    "unknown",
    "1.2.3.4:80",
    "01.2.3.4",
    "1.2.3",
    "[::1]",
    "::1]/x[",
    ":::",
    "a\r\nb",
    "203.0.113.7, 1.2.3.4",
  ])("takes the address of the connection in place of %j", (text) => {
    expect(addressPrefix(text, "::ffff:198.51.100.1")).toBe("198.51.100.1");
  });

  it("gives callers without any address one prefix", () => {
    expect(addressPrefix(undefined, undefined)).toBe("unknown");
    expect(addressPrefix("nonsense")).toBe("unknown");
  });
});

describe("queueGroup()", () => {
  it.each([
    ["2001:db8:1:2::3", "2001:db8:1::/48"],
    ["2001:db8:1:ff02::3", "2001:db8:1::/48"],
    ["2001:db8:2:2::3", "2001:db8:2::/48"],
    ["::1", "0:0:0::/48"],
    ["203.0.113.7", "203.0.113.7"],
    ["::ffff:203.0.113.7", "203.0.113.7"],
    ["nonsense", "unknown"],
  ])("gives %s the group %s", (address, group) => {
    expect(queueGroup(addressPrefix(address))).toBe(group);
  });
});
