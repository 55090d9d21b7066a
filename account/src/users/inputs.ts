// Checks what callers send, before anything acts on it: types and rules with zod, one error per
// field, in the order of the form.
import { z } from "zod";
import { AccountError, type FieldError } from "../errors.ts";
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

const email = z.string("Enter an e-mail address.").transform((text, context): EmailAddress => {
  const address = parseEmail(text);
  if (address !== undefined) return address;
  addIssue(context, "invalid_email", "Enter a valid e-mail address, such as ada@example.com.");
  return z.NEVER;
});

const name = z
  .string("The name must be text.")
  .transform((text, context) => {
    const trimmed = text.trim();
    const length = Array.from(trimmed).length;
    if (FORBIDDEN_IN_NAME.test(text)) addIssue(context, "invalid_name", "The name must not hold control characters.");
    else if (!VISIBLE.test(trimmed) || length > NAME_MAX_LENGTH)
      addIssue(context, "invalid_name", `The name must have 1 to ${NAME_MAX_LENGTH} characters.`);
    return trimmed;
  })
  .optional();

const registrationSchema = z.object({
  email,
  password: z.string("Enter a password.").transform(normalizePassword),
  name,
});

const credentialsSchema = z.object({
  email,
  password: z
    .string("Enter the password.")
    .min(1, { message: "Enter the password." })
    .max(LOGIN_PASSWORD_MAX_LENGTH, { message: `A password has at most ${LOGIN_PASSWORD_MAX_LENGTH} characters.` })
    .transform(normalizePassword),
});

/**
 * Checks the text fields of a registration; `further` are problems of other fields, reported together.
 * Rejects with `validation_failed`.
 */
export async function parseRegistration(
  fields: ReadonlyMap<string, string>,
  further: readonly FieldError[],
  rules: PasswordRules,
): Promise<Registration> {
  const parsed = registrationSchema.safeParse(
    { email: fields.get("email"), password: fields.get("password"), name: fields.get("name") },
    { reportInput: true },
  );
  const problems = parsed.success ? [] : fieldErrors(parsed.error);
  const password = fields.get("password");
  if (password !== undefined) {
    const personal = [fields.get("email"), fields.get("email")?.split("@", 1)[0], fields.get("name")]
      .map((value) => value?.trim())
      .filter((value) => value !== undefined);
    const problem = await findPasswordProblem(normalizePassword(password), personal, rules);
    if (problem !== undefined) problems.push({ field: "password", ...problem });
  }
  problems.push(...further);
  if (!parsed.success || problems.length > 0) throw validationError(inFormOrder(problems));
  return { email: parsed.data.email, password: parsed.data.password, name: parsed.data.name ?? null };
}

/**
 * Checks the body of a login; the rules for new passwords do not apply, they may have changed.
 * Throws `validation_failed`.
 */
export function parseCredentials(body: unknown): Credentials {
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw new AccountError("malformed_json", "The body must be a JSON object with email and password.");
  }
  const parsed = credentialsSchema.safeParse(body, { reportInput: true });
  if (!parsed.success) throw validationError(fieldErrors(parsed.error));
  return parsed.data;
}

function addIssue(context: z.core.$RefinementCtx, code: string, message: string): void {
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
      code: typeof code === "string" ? code : issueCode(issue, field),
    });
  }
  return [...found.values()];
}

function issueCode(issue: z.core.$ZodIssue, field: string): string {
  if (issue.code === "too_big") return `${field}_too_long`;
  const isMissing = issue.code === "too_small" || (issue.code === "invalid_type" && issue.input === undefined);
  return isMissing ? `${field}_required` : `invalid_${field}`;
}

function inFormOrder(problems: readonly FieldError[]): readonly FieldError[] {
  const order = ["email", "password", "name", "avatar"];
  return problems.toSorted((a, b) => order.indexOf(a.field) - order.indexOf(b.field));
}
