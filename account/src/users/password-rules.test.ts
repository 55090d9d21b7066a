import { describe, expect, it } from "vitest";
import { findPasswordProblem, loadCommonPasswords } from "./password-rules.ts";

const RULES = { minLength: 8, isPeppered: false, common: new Set(["password", "12345678"]) };
const PERSONAL = ["ada@example.com", "Ada Lovelace"];

describe("findPasswordProblem()", () => {
  it.each([
    { name: "a common one", password: "password", code: "password_common" },
    { name: "a common one in other letters", password: "PassWord", code: "password_common" },
    { name: "a row of digits", password: "12345678", code: "password_common" },
    { name: "the e-mail address", password: "Ada@Example.com", code: "password_personal" },
    { name: "the name", password: "ada lovelace", code: "password_personal" },
    { name: "7 characters", password: "s3cret!", code: "password_too_short" },
    { name: "7 characters of two units each", password: "😀".repeat(7), code: "password_too_short" },
    { name: "8 blanks", password: "        ", code: "password_blank" },
    { name: "73 bytes", password: "x".repeat(73), code: "password_too_long" },
    { name: "37 letters of two bytes", password: "é".repeat(37), code: "password_too_long" },
    { name: "half a character", password: "abcdefgh\ud800", code: "password_malformed" },
  ])("refuses $name", ({ password, code }) => {
    expect(findPasswordProblem(password, PERSONAL, RULES)?.code).toBe(code);
  });

  it.each([
    { name: "72 bytes", password: "x".repeat(72) },
    { name: "36 letters of two bytes", password: "é".repeat(36) },
    { name: "8 characters of four bytes", password: "😀".repeat(8) },
    { name: "words with blanks", password: " correct horse " },
    { name: "a NUL", password: "a\u0000bcdefgh" },
  ])("takes $name", ({ password }) => {
    expect(findPasswordProblem(password, PERSONAL, RULES)).toBeUndefined();
  });

  it.each([
    { length: 128, code: undefined },
    { length: 129, code: "password_too_long" },
  ])("gives $code for $length characters with a pepper", ({ length, code }) => {
    expect(findPasswordProblem("é".repeat(length), PERSONAL, { ...RULES, isPeppered: true })?.code).toBe(code);
  });

  it("says in the message what is allowed", () => {
    expect(findPasswordProblem("short", PERSONAL, RULES)?.message).toBe(
      "The password must have at least 8 characters.",
    );
  });
});

describe("loadCommonPasswords()", () => {
  it("has the commonest 3000 and not what comes after", async () => {
    const common = await loadCommonPasswords();
    expect(common.size).toBeLessThanOrEqual(3000);
    expect(common.size).toBeGreaterThan(2900);
    expect(["123456", "password", "qwerty", "letmein"].every((password) => common.has(password))).toBe(true);
  });
});
