// Checks what callers send, before anything acts on it: types and rules with zod, one error per
// field, in the order of the form.
import { z } from "zod";
import { AccountError, fieldError, type FieldError, type FieldErrorCode } from "../errors.ts";
import { type EmailAddress, parseEmail } from "./email.ts";
import { findPasswordProblem, normalizePassword, type PasswordRules } from "../passwords/password-rules.ts";

/** Longest name in code points. */
const NAME_MAX_LENGTH = 80;

/** Longest password that a login compares, in UTF-16 units; longer ones belong to no user. */
const LOGIN_PASSWORD_MAX_LENGTH = 1024;

/**
 * Controls, line separators, lone surrogates, and what turns the direction of text around. Joiners
 * are allowed: Persian names and many emoji need them.
 */
const FORBIDDEN_IN_NAME = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/u;

/** Something that can be seen. */
const VISIBLE = /[\p{L}\p{N}\p{P}\p{S}]/u;

/** The problem of a form without its image. */
export const AVATAR_MISSING: FieldError = {
  field: "avatar",
  message: "Choose an image as avatar.",
  code: "avatar_required",
};

/** The text of a checked registration. */
export interface Registration {
  readonly email: EmailAddress;
  /** Normalized. */
  readonly password: string;
  readonly name: string | null;
}

/** A checked login. */
export interface Credentials {
  readonly email: EmailAddress;
  /** Normalized. */
  readonly password: string;
}

const EMAIL_TEXT = {
  description: "E-mail address of at most 254 characters; blanks around it are removed.",
  examples: ["ada@example.com"],
};

const NAME_TEXT = {
  description: "1 to 80 characters without control characters; blanks around it are removed.",
  examples: ["Ada Lovelace"],
};

const NEW_PASSWORD_TEXT = {
  description: "At least PASSWORD_MIN characters (8), at most 72 bytes in UTF-8; neither common nor personal.",
};

const email = z
  .string("Enter an e-mail address.")
  .meta(EMAIL_TEXT)
  .transform((text, context): EmailAddress => {
    const address = parseEmail(text);
    if (address !== undefined) return address;
    addIssue(context, "invalid_email", "Enter a valid e-mail address, such as ada@example.com.");
    return z.NEVER;
  });

const name = z
  .string("The name must be text.")
  .meta(NAME_TEXT)
  .transform((text, context) => {
    const trimmed = text.trim();
    const length = Array.from(trimmed).length;
    if (FORBIDDEN_IN_NAME.test(text)) addIssue(context, "invalid_name", "The name must not hold control characters.");
    else if (!VISIBLE.test(trimmed) || length > NAME_MAX_LENGTH)
      addIssue(context, "invalid_name", `The name must have 1 to ${NAME_MAX_LENGTH} characters.`);
    return trimmed;
  });

/** A password that is compared: the rules for new ones do not apply, they may have changed. */
const presentPassword = z
  .string("Enter the password.")
  .min(1, { message: "Enter the password." })
  .max(LOGIN_PASSWORD_MAX_LENGTH, { message: `A password has at most ${LOGIN_PASSWORD_MAX_LENGTH} characters.` })
  .meta({ description: "The present password.", examples: ["correct horse battery"] })
  .transform(normalizePassword);

const newPassword = (example: string) =>
  z
    .string("Enter a password.")
    .meta({ ...NEW_PASSWORD_TEXT, examples: [example] })
    .transform(normalizePassword);

/** The text fields of a registration. */
export const REGISTRATION = z.object({ email, password: newPassword("correct horse battery"), name: name.optional() });

/** The body of a login. */
export const CREDENTIALS = z.object({ email, password: presentPassword });

/** The body of a call that asks for the password again. */
export const PASSWORD = z.object({ password: presentPassword });

/** The body of a change of the password. */
export const PASSWORD_CHANGE = z.object({
  password: presentPassword,
  newPassword: newPassword("a better horse battery"),
});

/** The body of a change of the profile. */
export const PROFILE = z.object({ name: name.nullable().meta({ description: "The name; null removes it." }) });

/** The body of a call about an address. */
export const ADDRESS = z.object({ email });

/** The body of a change of the address. */
export const EMAIL_CHANGE = z.object({ password: presentPassword, email });

const token = z
  .string("Open the link of the mail again.")
  .meta({ description: "From the fragment of the link in the mail.", examples: ["TOKEN"] });

/** The body of a call with the token of a mail. */
export const TOKEN = z.object({ token });

/** The body of a call that sets a password by the token of a mail. */
export const RESET = z.object({ token, newPassword: newPassword("a better horse battery") });

/**
 * Checks the text fields of a registration; `further` are problems of other fields, reported together.
 * Rejects with `validation_failed`.
 */
export async function parseRegistration(
  fields: ReadonlyMap<string, string>,
  further: readonly FieldError[],
  rules: PasswordRules,
): Promise<Registration> {
  const parsed = REGISTRATION.safeParse(
    { email: fields.get("email"), password: fields.get("password"), name: fields.get("name") },
    { reportInput: true },
  );
  const problems = parsed.success ? [] : fieldErrors(parsed.error);
  const password = fields.get("password");
  const person = { email: fields.get("email"), name: fields.get("name") };
  if (password !== undefined) problems.push(...(await newPasswordProblems("password", password, person, rules)));
  problems.push(...further);
  if (!parsed.success || problems.length > 0) throw validationError(inFormOrder(problems));
  return { email: parsed.data.email, password: parsed.data.password, name: parsed.data.name ?? null };
}

/**
 * Checks the body of a login; the rules for new passwords do not apply, they may have changed.
 * Throws `validation_failed`.
 */
export function parseCredentials(body: unknown): Credentials {
  return parseBody(CREDENTIALS, body, "email and password");
}

/** Checks the body of a call that asks for the password again. Throws `validation_failed`. */
export function parsePassword(body: unknown): { readonly password: string } {
  return parseBody(PASSWORD, body, "password");
}

/** Checks the body of a change of the profile. Throws `validation_failed`. */
export function parseProfile(body: unknown): { readonly name: string | null } {
  return parseBody(PROFILE, body, "name");
}

/** Checks a body with an address. Throws `validation_failed`. */
export function parseAddress(body: unknown): { readonly email: EmailAddress } {
  return parseBody(ADDRESS, body, "email");
}

/** Checks the body of a change of the address. Throws `validation_failed`. */
export function parseEmailChange(body: unknown): { readonly password: string; readonly email: EmailAddress } {
  return parseBody(EMAIL_CHANGE, body, "password and email");
}

/** Checks a body with the token of a mail. Throws `validation_failed`. */
export function parseToken(body: unknown): { readonly token: string } {
  return parseBody(TOKEN, body, "token");
}

/** Checks the types of a body that sets a password by a token. Throws `validation_failed`. */
export function parseReset(body: unknown): { readonly token: string; readonly newPassword: string } {
  return parseBody(RESET, body, "token and newPassword");
}

/** Rejects with `validation_failed` when a new password, normalized, breaks a rule for the user `person`. */
export async function requireAcceptablePassword(
  field: string,
  password: string,
  person: Person,
  rules: PasswordRules,
): Promise<void> {
  const problems = await newPasswordProblems(field, password, person, rules);
  if (problems.length > 0) throw validationError(problems);
}

/**
 * Checks the body of a change of the password, of the user `person`. Rejects with `validation_failed`.
 */
export async function parsePasswordChange(
  body: unknown,
  person: Person,
  rules: PasswordRules,
): Promise<{ readonly password: string; readonly newPassword: string }> {
  const change = parseBody(PASSWORD_CHANGE, body, "password and newPassword");
  await requireAcceptablePassword("newPassword", change.newPassword, person, rules);
  return change;
}

/** The error for a form that brings an image only, and has none. */
export function avatarMissing(): AccountError {
  return validationError([AVATAR_MISSING]);
}

/** The error for a password that is not the one of the signed-in user. */
export function wrongPassword(): AccountError {
  return fieldError("invalid_credentials", { field: "password", message: "The password is incorrect." });
}

/** The texts of a user that a password may not be. */
interface Person {
  readonly email: string | undefined;
  readonly name: string | null | undefined;
}

async function newPasswordProblems(
  field: string,
  password: string,
  { email: address, name: called }: Person,
  rules: PasswordRules,
): Promise<readonly FieldError[]> {
  const personal = [address, address?.split("@", 1)[0], called].flatMap((value) => value?.trim() ?? []);
  const problem = await findPasswordProblem(normalizePassword(password), personal, rules);
  return problem === undefined ? [] : [{ field, ...problem }];
}

/** The body as `schema` has it; `fields` names its fields for the error of one that is no object. */
function parseBody<Schema extends z.ZodType>(schema: Schema, body: unknown, fields: string): z.output<Schema> {
  if (typeof body !== "object" || body === null || Array.isArray(body))
    throw new AccountError("malformed_json", `The body must be a JSON object with ${fields}.`);
  const parsed = schema.safeParse(body, { reportInput: true });
  if (!parsed.success) throw validationError(fieldErrors(parsed.error));
  return parsed.data;
}

function addIssue(context: z.core.$RefinementCtx, code: FieldErrorCode, message: string): void {
  context.addIssue({ code: "custom", message, params: { code } });
}

/**
 * The error for one or more bad inputs. With exactly one, its message is the message of the whole.
 */
function validationError(fields: readonly FieldError[]): AccountError {
  const [first] = fields;
  const message =
    fields.length === 1 && first !== undefined
      ? first.message
      : `Correct these fields: ${fields.map(({ field }) => field).join(", ")}.`;
  return new AccountError("validation_failed", message, { fields });
}

/** The first issue of each field; a wrong type would otherwise be reported twice. */
function fieldErrors(error: z.ZodError): FieldError[] {
  const found = new Map<string, FieldError>();
  for (const issue of error.issues) {
    const field = String(issue.path[0]);
    if (found.has(field)) continue;
    const code: unknown = issue.code === "custom" ? issue.params?.["code"] : undefined;
    found.set(field, {
      field,
      message: issue.message,
      code: typeof code === "string" ? (code as FieldErrorCode) : issueCode(issue, field),
    });
  }
  return [...found.values()];
}

/** The code of an issue of zod's own. The schemas have no others than those of `FIELD_ERRORS`. */
function issueCode(issue: z.core.$ZodIssue, name: string): FieldErrorCode {
  const field = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  if (issue.code === "too_big") return `${field}_too_long` as FieldErrorCode;
  const isMissing = issue.code === "too_small" || (issue.code === "invalid_type" && issue.input === undefined);
  return (isMissing ? `${field}_required` : `invalid_${field}`) as FieldErrorCode;
}

function inFormOrder(problems: readonly FieldError[]): readonly FieldError[] {
  const order = ["email", "password", "name", "avatar"];
  return problems.toSorted((a, b) => order.indexOf(a.field) - order.indexOf(b.field));
}
