// The settings of passwords: what a new one must fulfil, and how it is hashed.
import { availableParallelism } from "node:os";
import type { EnvReader } from "@weir/common/settings/read-env";
import type { Secret } from "@weir/common/settings/secret";

/** Least cost of bcrypt in production (OWASP Password Storage Cheat Sheet). */
const PRODUCTION_COST_MIN = 10;

/**
 * Threads of libuv's pool when UV_THREADPOOL_SIZE is not set (libuv documentation, "Thread pool
 * work scheduling").
 */
const THREADS_DEFAULT = 4;

/** Fewest characters of a forbidden word: shorter ones are in too many passwords by chance. */
const FORBIDDEN_WORD_MIN_LENGTH = 3;

/** Everything about passwords. */
export interface PasswordSettings {
  readonly passwordMinLength: number;
  readonly passwordForbiddenWords: readonly string[];
  readonly passwordBreachFile: string | undefined;
  readonly bcryptCost: number;
  readonly bcryptConcurrency: number;
  readonly passwordPepper: Secret | undefined;
}

/** Reads them. */
export function readPasswords(read: EnvReader, isProduction: boolean): PasswordSettings {
  const threads = read.integer("UV_THREADPOOL_SIZE", {
    default: THREADS_DEFAULT,
    min: 1,
    max: 1024,
    effect:
      "Threads shared by hashing, files, DNS and cryptography; weir-account sets it to the number of CPUs and four.",
  });
  const concurrency = Math.max(1, Math.min(availableParallelism(), threads - 2));
  return {
    passwordMinLength: read.integer("PASSWORD_MIN", {
      default: 8,
      min: 8,
      max: 64,
      effect: "Fewest characters of a new password.",
    }),
    passwordForbiddenWords: readForbiddenWords(read),
    passwordBreachFile: read.optionalString("PASSWORD_BREACH_FILE", {
      effect:
        "File of leaked passwords that are refused: the SHA-1 list of Have I Been Pwned, one HASH:COUNT per line, ordered by hash.",
    }),
    bcryptCost: read.integer("BCRYPT_COST", {
      default: 12,
      min: isProduction ? PRODUCTION_COST_MIN : 4,
      max: 16,
      effect:
        "Base-2 logarithm of bcrypt's rounds: one more doubles the time of a login; at least 10 with NODE_ENV=production.",
    }),
    bcryptConcurrency: readConcurrency(read, concurrency),
    passwordPepper: read.secret("PASSWORD_PEPPER", {
      effect: "Mixed into passwords before bcrypt, which lifts its limit of 72 bytes; once set, it can never change.",
    }),
  };
}

function readForbiddenWords(read: EnvReader): readonly string[] {
  const words = read.list("PASSWORD_FORBIDDEN_WORDS", {
    effect: `Words that no new password may contain, in any case, such as the name of the site; at least ${FORBIDDEN_WORD_MIN_LENGTH} characters each.`,
  });
  for (const word of words.filter((entry) => Array.from(entry).length < FORBIDDEN_WORD_MIN_LENGTH))
    read.problem("PASSWORD_FORBIDDEN_WORDS", word, `words of at least ${FORBIDDEN_WORD_MIN_LENGTH} characters`);
  return words;
}

function readConcurrency(read: EnvReader, fallback: number): number {
  const limit = read.integer("BCRYPT_CONCURRENCY", {
    default: 0,
    min: 0,
    max: 128,
    effect:
      "Hashes in parallel; 0 takes the number of CPUs, but leaves two threads of UV_THREADPOOL_SIZE to other work.",
  });
  return limit === 0 ? fallback : limit;
}
