import { createSecretKey } from "node:crypto";
import { describe, expect, it } from "vitest";
import { isDeviceToken, issueDeviceToken } from "./device-cookie.ts";

const KEY = createSecretKey(Buffer.alloc(32, 1));
const OTHER_KEY = createSecretKey(Buffer.alloc(32, 2));
const NOW_MS = Date.UTC(2026, 0, 1);
const DAY_MS = 86_400_000;

const HOLDER = { id: "4f2c7a3e-0b51-4d0e-9a57-1d2f3c4b5a69", emailVerifiedAtMs: NOW_MS - DAY_MS };
const TOKEN = issueDeviceToken(KEY, HOLDER, NOW_MS);

/** Another character whose upper four bits are the same: base64url ignores the other two at the end. */
function sameBits(character: string): string {
  const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  return digits.charAt(digits.indexOf(character) ^ 1);
}

describe("isDeviceToken()", () => {
  it("accepts the holder that logged in, for 180 days", () => {
    expect(isDeviceToken(KEY, HOLDER, TOKEN, NOW_MS)).toBe(true);
    expect(isDeviceToken(KEY, HOLDER, TOKEN, NOW_MS + 180 * DAY_MS - 1)).toBe(true);
    expect(isDeviceToken(KEY, HOLDER, TOKEN, NOW_MS + 180 * DAY_MS)).toBe(false);
  });

  it("refuses another account, another holder of the account, and another key", () => {
    expect(isDeviceToken(KEY, { ...HOLDER, id: "5f2c7a3e-0b51-4d0e-9a57-1d2f3c4b5a69" }, TOKEN, NOW_MS)).toBe(false);
    for (const emailVerifiedAtMs of [null, NOW_MS])
      expect(isDeviceToken(KEY, { ...HOLDER, emailVerifiedAtMs }, TOKEN, NOW_MS)).toBe(false);
    expect(isDeviceToken(OTHER_KEY, HOLDER, TOKEN, NOW_MS)).toBe(false);
  });

  it.each([
    ["a later end", TOKEN.replace(/^\d+/, (seconds) => String(Number(seconds) + 1))],
    ["another signature", TOKEN.replace(/\..{4}/, ".AAAA")],
    ["no signature", TOKEN.replace(/\..*/, ".")],
    ["a longer signature", `${TOKEN}A`],
    ["no end", TOKEN.replace(/^\d+/, "")],
    ["an end in another form", TOKEN.replace(/^\d+/, "1e12")],
    ["an end with another zero", `0${TOKEN}`],
    ["another form of the signature", `${TOKEN.slice(0, -1)}${sameBits(TOKEN.slice(-1))}`],
    ["text", "device"],
    ["nothing", ""],
  ])("refuses %s", (_what, token) => {
    expect(isDeviceToken(KEY, HOLDER, token, NOW_MS)).toBe(false);
  });
});
