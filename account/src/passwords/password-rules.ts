// The rules for new passwords: length, and lists of what is guessed first, without rules of
// composition (NIST SP 800-63B section 3.1.1.2).
import type { FieldErrorCode } from "../errors.ts";
import type { BreachedPasswords } from "./breach-file.ts";
import { BCRYPT_MAX_BYTES } from "./password-hasher.ts";
import { coresOf, isPattern } from "./password-patterns.ts";

/** Longest password, in code points, when a pepper hashes it to a fixed size first. */
const PEPPERED_MAX_LENGTH = 128;

/** Bounds of new passwords. */
export interface PasswordRules {
  /** Fewest code points. */
  readonly minLength: number;
  /** With a pepper bcrypt's limit of 72 bytes does not apply. */
  readonly isPeppered: boolean;
  /** Lower-case passwords that are refused, also with digits and signs around them. */
  readonly common: ReadonlySet<string>;
  /** Words that no password may contain, in any case. */
  readonly forbiddenWords: readonly string[];
  /** Undefined: leaked passwords are not looked up. */
  readonly breached: BreachedPasswords | undefined;
}

/** A broken rule: a code for programs and a sentence for people. */
export interface PasswordProblem {
  readonly code: FieldErrorCode;
  readonly message: string;
}

/**
 * The form in which passwords are checked, hashed and compared: keyboards and systems write one
 * letter with an accent in two ways, which NFC makes equal.
 */
export function normalizePassword(password: string): string {
  return password.normalize("NFC");
}

/**
 * The first rule that `password`, normalized, breaks; `personal` holds the e-mail address, its part
 * before the @, and the name, which a password may not be.
 */
export async function findPasswordProblem(
  password: string,
  personal: readonly string[],
  rules: PasswordRules,
): Promise<PasswordProblem | undefined> {
  const problem = findFormProblem(password, rules) ?? findGuess(password, personal, rules);
  if (problem !== undefined || rules.breached === undefined) return problem;
  if (!(await rules.breached.has(password))) return undefined;
  return { code: "password_breached", message: "This password is in a list of leaked ones. Choose another." };
}

/** Loads the common passwords, in lower case; short ones too, as they are in longer passwords. */
export async function loadCommonPasswords(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import("@zxcvbn-ts/language-common");
  return new Set(dictionary["passwords-common"].map(fold));
}

function findFormProblem(
  password: string,
  { minLength, isPeppered }: Pick<PasswordRules, "minLength" | "isPeppered">,
): PasswordProblem | undefined {
  const length = Array.from(password).length;
  if (length < minLength)
    return { code: "password_too_short", message: `The password must have at least ${minLength} characters.` };
  if (isPeppered && length > PEPPERED_MAX_LENGTH) {
    return { code: "password_too_long", message: `The password must have at most ${PEPPERED_MAX_LENGTH} characters.` };
  }
  if (!isPeppered && Buffer.byteLength(password) > BCRYPT_MAX_BYTES) {
    return {
      code: "password_too_long",
      message: `The password must have at most ${BCRYPT_MAX_BYTES} bytes in UTF-8; letters outside ASCII count two to four.`,
    };
  }
  if (!password.isWellFormed())
    return { code: "password_malformed", message: "The password must be well-formed Unicode text." };
  if (password.trim() === "") return { code: "password_blank", message: "The password must not be only blanks." };
  return undefined;
}

function findGuess(
  password: string,
  personal: readonly string[],
  { common, forbiddenWords }: Pick<PasswordRules, "common" | "forbiddenWords">,
): PasswordProblem | undefined {
  const folded = fold(password);
  const cores = coresOf(folded);
  if (cores.some((core) => common.has(core))) {
    const message = "This password is among the most used ones, or one of them with digits or signs. Choose another.";
    return { code: "password_common", message };
  }
  if (isPattern(folded)) {
    const message = "The password must not be only repeated or sequential characters.";
    return { code: "password_pattern", message };
  }
  if (personal.some((value) => cores.includes(fold(value)))) {
    const message =
      "The password must not be the e-mail address, its part before the @, or the name, also with digits.";
    return { code: "password_personal", message };
  }
  if (forbiddenWords.some((word) => folded.includes(fold(word)))) {
    const message = "The password must not contain the name of this site or a word that belongs to it.";
    return { code: "password_forbidden_word", message };
  }
  return undefined;
}

/** The form in which passwords are compared with lists. */
function fold(text: string): string {
  return normalizePassword(text).toLowerCase();
}
