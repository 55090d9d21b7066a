import { describe, expect, it } from "vitest";
import { callerGroup } from "@weir/common/callers/caller-group";
import { addressCheck, loginCheck, mailCheck, sessionCheck } from "./limits.ts";

const IPV4 = callerGroup("203.0.113.7");
const IPV6 = callerGroup("2001:db8:0:1ff::9");

describe("addressCheck()", () => {
  it.each([
    { route: "login", group: IPV4, entries: ["ip 203.0.113.7"] },
    { route: "register", group: IPV4, entries: ["ip 203.0.113.7", "ip_day 203.0.113.7"] },
    { route: "refresh", group: IPV6, entries: ["ip 2001:db8:0:1ff::/64", "ip_net 2001:db8:0:100::/56"] },
    {
      route: "register",
      group: IPV6,
      entries: ["ip 2001:db8:0:1ff::/64", "ip_net 2001:db8:0:100::/56", "ip_day 2001:db8:0:100::/56"],
    },
  ] as const)("counts a $route by $entries", ({ route, group, entries }) => {
    const check = addressCheck(route, group);
    expect(check.entries.map(({ key, value }) => `${key} ${value}`)).toEqual(entries);
  });
});

describe("sessionCheck()", () => {
  it.each(["refresh", "profile"] as const)("counts a %s by its session", (route) => {
    expect(sessionCheck(route, "aaaa", IPV4)).toEqual({
      route,
      group: IPV4,
      entries: [{ key: "session", value: "aaaa" }],
    });
  });
});

describe("loginCheck()", () => {
  const attempt = { group: IPV6, account: "aaaa", accountAndAddress: "bbbb" };

  it("counts the account, and the account at its address", () => {
    expect(loginCheck({ ...attempt, device: undefined })).toEqual({
      route: "login",
      group: IPV6,
      entries: [
        { key: "account_ip", value: "bbbb" },
        { key: "account", value: "aaaa" },
      ],
    });
  });

  it("counts a known device by itself in place of what all browsers share", () => {
    expect(loginCheck({ ...attempt, device: "cccc" }).entries).toEqual([
      { key: "account_ip", value: "bbbb" },
      { key: "device", value: "cccc" },
    ]);
  });
});

describe("mailCheck()", () => {
  it("counts the address of the caller, its line, and the account that the mail is for", () => {
    expect(mailCheck(IPV6, "aaaa").entries).toEqual([
      { key: "ip", value: "2001:db8:0:1ff::/64" },
      { key: "ip_net", value: "2001:db8:0:100::/56" },
      { key: "account", value: "aaaa" },
    ]);
  });
});
