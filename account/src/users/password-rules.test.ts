import { describe, expect, it } from "vitest";
import { findPasswordProblem, loadCommonPasswords, type PasswordRules } from "./password-rules.ts";

const RULES: PasswordRules = {
  minLength: 8,
  isPeppered: false,
  common: new Set(["password", "12345678"]),
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
    { name: "sequences", password: "ABCD4321", code: "password_pattern" },
    { name: "the e-mail address", password: "Ada@Example.com", code: "password_personal" },
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
  it("has the commonest 3000 that are long enough", async () => {
    const common = await loadCommonPasswords(8);
    expect(common.size).toBe(3000);
    expect([...common].every((password) => password.length >= 8)).toBe(true);
    for (const password of ["password", "12345678", "trustno1", "iloveyou", "1q2w3e4r"])
      expect(common.has(password)).toBe(true);
  });

  it("has fewer for longer passwords: the source has no more", async () => {
    const common = await loadCommonPasswords(12);
    expect(common.size).toBeGreaterThan(300);
    expect([...common].every((password) => password.length >= 12)).toBe(true);
  });
});
