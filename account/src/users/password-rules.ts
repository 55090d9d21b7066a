// The rules for new passwords: length and a list of the commonest ones, without rules of composition
// (NIST SP 800-63B section 3.1.1.2).
import { BCRYPT_MAX_BYTES } from "./password-hasher.ts";

/** How many of the commonest passwords are refused (OWASP ASVS 6.2.4). */
const COMMON_PASSWORDS = 3000;

/** Longest password, in code points, when a pepper hashes it to a fixed size first. */
const PEPPERED_MAX_LENGTH = 128;

/** Bounds of new passwords. */
export interface PasswordRules {
  /** Fewest code points. */
  readonly minLength: number;
  /** With a pepper bcrypt's limit of 72 bytes does not apply. */
  readonly isPeppered: boolean;
  /** Lower-case passwords that are refused. */
  readonly common: ReadonlySet<string>;
}

/** A broken rule: a code for programs and a sentence for people. */
export interface PasswordProblem {
  readonly code: string;
  readonly message: string;
}

/**
 * The first rule that `password` breaks; `personal` holds the e-mail address and name, which a
 * password may not equal.
 */
export function findPasswordProblem(
  password: string,
  personal: readonly string[],
  rules: PasswordRules,
): PasswordProblem | undefined {
  const length = Array.from(password).length;
  if (length < rules.minLength) {
    return { code: "password_too_short", message: `The password must have at least ${rules.minLength} characters.` };
  }
  if (rules.isPeppered && length > PEPPERED_MAX_LENGTH) {
    return { code: "password_too_long", message: `The password must have at most ${PEPPERED_MAX_LENGTH} characters.` };
  }
  if (!rules.isPeppered && Buffer.byteLength(password) > BCRYPT_MAX_BYTES) {
    return {
      code: "password_too_long",
      message: `The password must have at most ${BCRYPT_MAX_BYTES} bytes in UTF-8; letters outside ASCII count two to four.`,
    };
  }
  if (!password.isWellFormed())
    return { code: "password_malformed", message: "The password must be well-formed Unicode text." };
  if (password.trim() === "") return { code: "password_blank", message: "The password must not be only blanks." };
  const folded = password.toLowerCase();
  if (rules.common.has(folded))
    return { code: "password_common", message: "This password is among the most used ones. Choose another." };
  if (personal.some((value) => value.toLowerCase() === folded)) {
    return { code: "password_personal", message: "The password must not be the e-mail address or the name." };
  }
  return undefined;
}

/** Loads the list of common passwords. */
export async function loadCommonPasswords(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import("@zxcvbn-ts/language-common");
  return new Set(dictionary["passwords-common"].slice(0, COMMON_PASSWORDS).map((password) => password.toLowerCase()));
}
