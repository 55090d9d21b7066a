import { describe, expect, it } from "vitest";
import type { UserRecord } from "../store/user-store.ts";
import { createToken, requireToken, userOfToken, withToken } from "./mail-links.ts";

const ID = "22222222-2222-4222-8222-0123456789ab";
const ABOUT = { purpose: "reset", email: "Ada@x.com", emailKey: "ada@x.com" } as const;
const NOW_MS = 1_800_000_000_000;

function token(
  byte: number,
  { nowMs = NOW_MS, purpose = "reset" }: { readonly nowMs?: number; readonly purpose?: "reset" | "email" } = {},
) {
  return createToken(ID, Buffer.alloc(32, byte), { ...ABOUT, purpose }, nowMs);
}

describe("createToken()", () => {
  it("names its user, and is stored as a hash for 30 minutes", () => {
    const { text, stored } = token(1);
    expect(userOfToken(text)).toBe(ID);
    expect(stored).toEqual({
      ...ABOUT,
      hash: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      expiresAtMs: NOW_MS + 1_800_000,
    });
  });
});

describe("userOfToken()", () => {
  it.each(["", "abc", `${token(1).text}A`, token(1).text.slice(1), `${token(1).text}=`, `\n${token(1).text}`])(
    "gives no user of %j",
    (text) => {
      expect(userOfToken(text)).toBeUndefined();
    },
  );
});

describe("withToken()", () => {
  it("keeps the newest three of a purpose, those of the other one, and none that has expired", () => {
    const expired = token(9, { nowMs: NOW_MS - 1_800_000 }).stored;
    const other = token(8, { purpose: "email" }).stored;
    const [a, b, c, d] = [1, 2, 3, 4].map((byte) => token(byte).stored);
    expect(withToken([expired, a!, other, b!, c!], d!, NOW_MS)).toEqual([other, b, c, d]);
  });
});

describe("requireToken()", () => {
  const user = { mailTokens: [token(1).stored] } as unknown as UserRecord;

  it("gives the stored token until it expires", () => {
    expect(requireToken(user, "reset", token(1).text, NOW_MS + 1_799_999)).toEqual(token(1).stored);
  });

  it.each([
    { what: "another token", of: user, purpose: "reset", text: token(2).text, nowMs: NOW_MS },
    { what: "another purpose", of: user, purpose: "email", text: token(1).text, nowMs: NOW_MS },
    { what: "a token that has expired", of: user, purpose: "reset", text: token(1).text, nowMs: NOW_MS + 1_800_000 },
    { what: "no user", of: undefined, purpose: "reset", text: token(1).text, nowMs: NOW_MS },
  ] as const)("throws link_invalid on the field for $what", ({ of, purpose, text, nowMs }) => {
    expect(() => requireToken(of, purpose, text, nowMs)).toThrow(
      expect.objectContaining({
        code: "link_invalid",
        details: { fields: [expect.objectContaining({ field: "token" })] },
      }),
    );
  });
});
