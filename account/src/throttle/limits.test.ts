import { describe, expect, it } from "vitest";
import { addressCheck, loginCheck } from "./limits.ts";

const ADDRESS = "2001:db8:0:1::/64";

describe("addressCheck()", () => {
  it.each([
    { route: "login", keys: ["ip"] },
    { route: "register", keys: ["ip", "ip_day"] },
    { route: "refresh", keys: ["ip"] },
  ] as const)("counts $keys of a $route", ({ route, keys }) => {
    const entries = keys.map((key) => ({ key, value: ADDRESS }));
    expect(addressCheck(route, ADDRESS)).toEqual({ route, addressPrefix: ADDRESS, entries });
  });
});

describe("loginCheck()", () => {
  const attempt = { addressPrefix: ADDRESS, account: "aaaa", accountAndAddress: "bbbb" };

  it("counts the account, and the account at its address", () => {
    expect(loginCheck({ ...attempt, device: undefined })).toEqual({
      route: "login",
      addressPrefix: ADDRESS,
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
