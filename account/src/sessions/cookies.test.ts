import { describe, expect, it } from "vitest";
import { clearCookie, cookieName, type CookieOptions, readCookie, serializeCookie } from "./cookies.ts";

const HOST: CookieOptions = { scope: "host", sameSite: "strict", insecureDevelopment: false };
const PATH: CookieOptions = { ...HOST, scope: "path" };
const INSECURE: CookieOptions = { ...HOST, insecureDevelopment: true };

describe("serializeCookie()", () => {
  it.each([
    {
      kind: "access",
      options: HOST,
      text: "__Host-accessToken=t; Max-Age=600; Path=/; Secure; HttpOnly; SameSite=Strict",
    },
    {
      kind: "refresh",
      options: HOST,
      text: "__Host-refreshToken=t; Max-Age=600; Path=/; Secure; HttpOnly; SameSite=Strict",
    },
    {
      kind: "access",
      options: PATH,
      text: "__Host-accessToken=t; Max-Age=600; Path=/; Secure; HttpOnly; SameSite=Strict",
    },
    {
      kind: "refresh",
      options: PATH,
      text: "__Secure-refreshToken=t; Max-Age=600; Path=/api/v1/user; Secure; HttpOnly; SameSite=Strict",
    },
    {
      kind: "access",
      options: { ...HOST, sameSite: "none" },
      text: "__Host-accessToken=t; Max-Age=600; Path=/; Secure; HttpOnly; SameSite=None",
    },
    {
      kind: "refresh",
      options: { ...INSECURE, sameSite: "lax" },
      text: "refreshToken=t; Max-Age=600; Path=/; HttpOnly; SameSite=Lax",
    },
    { kind: "device", options: PATH, text: "__Host-device=t; Max-Age=600; Path=/; Secure; HttpOnly; SameSite=Strict" },
    { kind: "device", options: INSECURE, text: "device=t; Max-Age=600; Path=/; HttpOnly; SameSite=Strict" },
  ] as const)("writes $text", ({ kind, options, text }) => {
    expect(serializeCookie(kind, "t", 600, options)).toBe(text);
  });

  it("never gives a negative age", () => {
    expect(serializeCookie("access", "t", -3, HOST)).toContain("Max-Age=0;");
  });
});

describe("clearCookie()", () => {
  it("repeats path and attributes with no age", () => {
    expect(clearCookie("refresh", PATH)).toBe(
      "__Secure-refreshToken=; Max-Age=0; Path=/api/v1/user; Secure; HttpOnly; SameSite=Strict",
    );
  });
});

describe("readCookie()", () => {
  it.each([
    { name: "no header", header: undefined, read: { kind: "absent" } },
    { name: "another cookie", header: "a=b", read: { kind: "absent" } },
    { name: "an empty value", header: "__Host-accessToken=", read: { kind: "absent" } },
    {
      name: "the cookie among others",
      header: "a=b; __Host-accessToken=x=y; c=d",
      read: { kind: "present", value: "x=y" },
    },
    { name: "no blank between cookies", header: "a=b;__Host-accessToken=t", read: { kind: "present", value: "t" } },
    {
      name: "the cookie twice",
      header: "__Host-accessToken=bad; __Host-accessToken=t",
      read: { kind: "duplicate" },
    },
    {
      name: "the cookie twice in the other order",
      header: "__Host-accessToken=t; __Host-accessToken=bad",
      read: { kind: "duplicate" },
    },
    {
      name: "the cookie twice, once empty",
      header: "__Host-accessToken=; __Host-accessToken=t",
      read: { kind: "duplicate" },
    },
    { name: "the name in another case", header: "__host-accesstoken=t", read: { kind: "absent" } },
    {
      name: "blanks and a tab before the name",
      header: "a=b;  \t__Host-accessToken=t",
      read: { kind: "present", value: "t" },
    },
    ...["\u00a0", "\u0085", "\v", "\f", "\ufeff", "\u2028", "\u2003"].map((space) => ({
      name: `a name after U+${space.charCodeAt(0).toString(16)}`,
      header: `a=b; ${space}__Host-accessToken=t`,
      read: { kind: "absent" },
    })),
    { name: "a name that only ends alike", header: "x__Host-accessToken=t", read: { kind: "absent" } },
  ])("gives $read.kind for $name", ({ header, read }) => {
    expect(readCookie(header, "access", HOST)).toEqual(read);
  });

  it("does not choose between two refresh cookies in path mode", () => {
    expect(readCookie("__Secure-refreshToken=evil; __Secure-refreshToken=mine", "refresh", PATH)).toEqual({
      kind: "duplicate",
    });
  });
});

describe("cookieName()", () => {
  it("has no prefix when cookies are insecure", () => {
    expect(cookieName("access", INSECURE)).toBe("accessToken");
  });
});
