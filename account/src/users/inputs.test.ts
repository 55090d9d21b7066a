import { describe, expect, it } from "vitest";
import { AccountError } from "../errors.ts";
import { parseCredentials, parseRegistration, type Registration } from "./inputs.ts";
import type { PasswordRules } from "../passwords/password-rules.ts";

const RULES: PasswordRules = {
  minLength: 8,
  isPeppered: false,
  common: new Set(["password"]),
  forbiddenWords: [],
  breached: undefined,
};
const GOOD = { email: "Ada@Example.com", password: "correct horse", name: " Ada " };

async function errorOf(run: () => unknown): Promise<AccountError> {
  try {
    await run();
  } catch (error) {
    if (error instanceof AccountError) return error;
    throw error;
  }
  throw new Error("expected an error");
}

function registration(fields: Readonly<Record<string, string>>): Promise<Registration> {
  return parseRegistration(new Map(Object.entries(fields)), [], RULES);
}

function fieldCodes(error: AccountError): readonly string[] {
  return (error.details.fields ?? []).map(({ field, code }) => `${field}: ${code}`);
}

describe("parseRegistration()", () => {
  it("gives the checked values", async () => {
    expect(await registration(GOOD)).toEqual({
      email: { typed: "Ada@Example.com", key: "ada@example.com" },
      password: "correct horse",
      name: "Ada",
    });
  });

  it("gives null for a name that was not sent", async () => {
    expect(await registration({ email: GOOD.email, password: GOOD.password })).toMatchObject({ name: null });
  });

  it("reports every field once, in the order of the form", async () => {
    const error = await errorOf(() =>
      parseRegistration(
        new Map([["name", "\u0007"]]),
        [{ field: "avatar", message: "Choose an image.", code: "avatar_required" }],
        RULES,
      ),
    );
    expect(fieldCodes(error)).toEqual([
      "email: email_required",
      "password: password_required",
      "name: invalid_name",
      "avatar: avatar_required",
    ]);
    expect(error.message).toBe("Correct these fields: email, password, name, avatar.");
  });

  it("makes the only field's message the message", async () => {
    const error = await errorOf(() => registration({ ...GOOD, email: "unknown" }));
    expect([error.code, error.message, fieldCodes(error)]).toEqual([
      "validation_failed",
      "Enter a valid e-mail address, such as ada@example.com.",
      ["email: invalid_email"],
    ]);
  });

  it.each([
    { name: "an empty name", value: "" },
    { name: "a blank name", value: "   " },
    { name: "81 characters", value: "x".repeat(81) },
    { name: "a line end", value: "Ada\nLovelace" },
    { name: "a bidi override", value: "Ada\u202e" },
    { name: "a bidi isolate", value: "\u2067Ada" },
    { name: "a paragraph separator", value: "Ada\u2029Lovelace" },
    { name: "only what cannot be seen", value: "\u200d" },
  ])("refuses $name as name", async ({ value }) => {
    expect(fieldCodes(await errorOf(() => registration({ ...GOOD, name: value })))).toEqual(["name: invalid_name"]);
  });

  it.each(["\u0639\u0644\u06cc\u200c\u0631\u0636\u0627", "Ada \u{1f469}\u200d\u{1f4bb}", "O'Neil-Zo\u00eb"])(
    "takes the name %j",
    async (value) => {
      expect(await registration({ ...GOOD, name: value })).toMatchObject({ name: value });
    },
  );

  it("counts a name in characters, not in units", async () => {
    expect(await registration({ ...GOOD, name: "😀".repeat(80) })).toMatchObject({ name: "😀".repeat(80) });
  });

  it("does not trim the password", async () => {
    expect(await registration({ ...GOOD, password: " correct horse " })).toMatchObject({ password: " correct horse " });
  });

  it("composes the accents of the password before it counts and keeps it", async () => {
    expect(await registration({ ...GOOD, password: "Cafe\u0301 noir" })).toMatchObject({ password: "Caf\u00e9 noir" });
    // Eight characters with a mark of its own, seven without.
    const error = await errorOf(() => registration({ ...GOOD, password: "e\u0301tudias" }));
    expect(fieldCodes(error)).toEqual(["password: password_too_short"]);
  });

  it.each(["ada.king@example.com", "ADA.KING", "ada.king1815!"])(
    "compares the password %s with the trimmed e-mail address and its part before the @",
    async (password) => {
      const error = await errorOf(() => registration({ email: " ada.king@example.com ", password }));
      expect(fieldCodes(error)).toEqual(["password: password_personal"]);
    },
  );

  it("never repeats what was sent", async () => {
    const error = await errorOf(() => registration({ email: "SECRET-IN", password: "SECRET1", name: "SECRET\u0007" }));
    expect(JSON.stringify([error.message, error.details])).not.toContain("SECRET");
  });
});

describe("parseCredentials()", () => {
  it("gives the checked values and ignores the rest", () => {
    const body: unknown = JSON.parse('{"email":"a@x.com","password":"p","__proto__":{"isAdmin":true},"role":"admin"}');
    expect(parseCredentials(body)).toEqual({ email: { typed: "a@x.com", key: "a@x.com" }, password: "p" });
  });

  it("composes the accents of the password", () => {
    expect(parseCredentials({ email: "a@x.com", password: "cafe\u0301" })).toMatchObject({ password: "caf\u00e9" });
  });

  it("applies no rule for new passwords", () => {
    expect(parseCredentials({ email: "a@x.com", password: "password" })).toMatchObject({ password: "password" });
  });

  it.each([
    {
      name: "operators",
      body: { email: { $gt: "" }, password: { $ne: null } },
      codes: ["email: invalid_email", "password: invalid_password"],
    },
    {
      name: "a list",
      body: { email: "a@x.com", password: ["correct horse"] },
      codes: ["password: invalid_password"],
    },
    { name: "a number", body: { email: "a@x.com", password: 1 }, codes: ["password: invalid_password"] },
    { name: "true", body: { email: "a@x.com", password: true }, codes: ["password: invalid_password"] },
    { name: "null", body: { email: "a@x.com", password: null }, codes: ["password: invalid_password"] },
    { name: "code", body: { email: { $where: "sleep(5000)" }, password: "p" }, codes: ["email: invalid_email"] },
    { name: "nothing", body: {}, codes: ["email: email_required", "password: password_required"] },
    { name: "an empty password", body: { email: "a@x.com", password: "" }, codes: ["password: password_required"] },
    {
      name: "1025 characters",
      body: { email: "a@x.com", password: "x".repeat(1025) },
      codes: ["password: password_too_long"],
    },
  ])("refuses $name", async ({ body, codes }) => {
    const error = await errorOf(() => parseCredentials(body));
    expect([error.code, fieldCodes(error)]).toEqual(["validation_failed", codes]);
  });

  it.each([{ body: "str" }, { body: [1] }, { body: null }, { body: 7 }])(
    "refuses $body as no object",
    async ({ body }) => {
      expect((await errorOf(() => parseCredentials(body))).code).toBe("malformed_json");
    },
  );
});
