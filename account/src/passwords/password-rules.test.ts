import { describe, expect, it } from "vitest";
import { findPasswordProblem, loadCommonPasswords, type PasswordRules } from "./password-rules.ts";

const RULES: PasswordRules = {
  minLength: 8,
  isPeppered: false,
  common: new Set(["password", "12345678", "p@ssw0rd", "1234", "cat"]),
  forbiddenWords: ["Weir", "Café"],
  breached: { has: (password) => Promise.resolve(password === "correct leaked") },
};
const PERSONAL = ["ada@example.com", "Ada Lovelace", "Caf\u00e9 Noir"];
const LETTERS = "abdefgjkmpqrtvxz".repeat(9);

async function codeOf(password: string, rules = RULES): Promise<string | undefined> {
  return (await findPasswordProblem(password, PERSONAL, rules))?.code;
}

describe("findPasswordProblem()", () => {
  it.each([
    { name: "a common one", password: "password", code: "password_common" },
    { name: "a common one in other letters", password: "PassWord", code: "password_common" },
    { name: "a row of digits that is common", password: "12345678", code: "password_common" },
    { name: "a common one with a year", password: "Password2024", code: "password_common" },
    { name: "a common one between digits and signs", password: "2024 password!?", code: "password_common" },
    { name: "a common one with a sign in it, and digits", password: "P@ssw0rd123", code: "password_common" },
    { name: "a short common one with a date", password: "cat19840217", code: "password_common" },
    { name: "sequences", password: "ABCD4321", code: "password_pattern" },
    { name: "the e-mail address", password: "Ada@Example.com", code: "password_personal" },
    { name: "the name with a year", password: "Ada Lovelace1815", code: "password_personal" },
    { name: "the name", password: "ada lovelace", code: "password_personal" },
    { name: "the name in another case with an accent", password: "CAF\u00c9 NOIR", code: "password_personal" },
    { name: "a forbidden word", password: "i love WEIR 2026", code: "password_forbidden_word" },
    { name: "a forbidden word with an accent", password: "my CAF\u00c9 2026", code: "password_forbidden_word" },
    { name: "a leaked one", password: "correct leaked", code: "password_breached" },
    { name: "7 characters", password: "s3cret!", code: "password_too_short" },
    { name: "7 characters of two units each", password: "😀".repeat(7), code: "password_too_short" },
    { name: "8 blanks", password: "        ", code: "password_blank" },
    { name: "73 bytes", password: LETTERS.slice(0, 73), code: "password_too_long" },
    { name: "37 letters of two bytes", password: "é".repeat(37), code: "password_too_long" },
    { name: "half a character", password: "abcdefgh\ud800", code: "password_malformed" },
  ])("refuses $name", async ({ password, code }) => {
    expect(await codeOf(password)).toBe(code);
  });

  it.each([
    { name: "72 bytes", password: LETTERS.slice(0, 72) },
    { name: "36 letters of two bytes", password: "éàöüñçøåßžšđ".repeat(3) },
    { name: "8 characters of four bytes", password: "😀🚀🍎🎩🐋🎹🧊🌵" },
    { name: "words with blanks", password: " correct horse " },
    { name: "two common ones", password: "password cat" },
    { name: "a common one in a longer word", password: "passwordless" },
    { name: "digits with a common row of them", password: "7712349130" },
    { name: "a NUL", password: "a\u0000bcdefgh" },
    { name: "a leaked one in another case", password: "Correct leaked" },
  ])("takes $name", async ({ password }) => {
    expect(await codeOf(password)).toBeUndefined();
  });

  it.each([
    { length: 128, code: undefined },
    { length: 129, code: "password_too_long" },
  ])("gives $code for $length characters with a pepper", async ({ length, code }) => {
    expect(await codeOf(LETTERS.slice(0, length), { ...RULES, isPeppered: true })).toBe(code);
  });

  it("says in the message what is allowed", async () => {
    expect((await findPasswordProblem("short", PERSONAL, RULES))?.message).toBe(
      "The password must have at least 8 characters.",
    );
  });

  it("does not look up what another rule refuses, nor anything without a list", async () => {
    const breached = { has: () => Promise.reject(new Error("not expected")) };
    expect(await codeOf("password", { ...RULES, breached })).toBe("password_common");
    expect(await codeOf("correct leaked", { ...RULES, breached: undefined })).toBeUndefined();
  });
});

describe("loadCommonPasswords()", () => {
  it("has all 17,950 that are long enough, and words that are shorter", async () => {
    const common = await loadCommonPasswords();
    expect(common.size).toBe(49_233);
    expect([8, 12, 15].map((length) => [...common].filter((each) => each.length >= length).length)).toEqual([
      17_950, 308, 41,
    ]);
    for (const password of ["password", "12345678", "trustno1", "1q2w3e4r", "sunshine", "autumn"])
      expect(common.has(password)).toBe(true);
  });

  it.each(["sunshine2024", "password123!", "foreveryoung"])("is what %s is refused by", async (password) => {
    expect(await codeOf(password, { ...RULES, common: await loadCommonPasswords() })).toBe("password_common");
  });
});
