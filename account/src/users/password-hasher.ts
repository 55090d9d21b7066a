// Hashes and compares passwords with bcrypt, few at a time: bcrypt works on the threads that DNS,
// files and WebCrypto need too.
import { createHmac, randomBytes } from "node:crypto";
import { compare, hash } from "bcrypt";
import type { Secret } from "@weir/common/settings/secret";
import { AccountError } from "../errors.ts";
import type { WorkQueue } from "./work-queue.ts";

/** bcrypt ignores what follows. */
export const BCRYPT_MAX_BYTES = 72;

/** A bcrypt hash: version, cost, 22 characters of salt and 31 of hash. */
const BCRYPT_HASH = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/;

/** Marks a stored hash whose password went through the pepper first. */
const PEPPER_PREFIX = "{hmac-sha384}";

/** Makes and checks stored hashes. Calls reject with `busy` when too much is waiting. */
export interface PasswordHasher {
  /**
   * A salted hash to store. The password must fit bcrypt, as password-rules.ts sees to; a longer
   * one is a fault and rejects with a RangeError. Callers of one `group` share the turns of one.
   * `checkWanted` is called when the turn comes, right before the work; when it rejects, so does the
   * call.
   */
  hash(password: string, group: string, checkWanted?: () => Promise<void>): Promise<string>;
  /**
   * Takes as long for an undefined (no such user) or unusable hash as for a real one, and is then
   * false.
   */
  verify(password: string, storedHash: string | undefined, group: string): Promise<boolean>;
  /** Whether a hash is weaker than the service would make it today. */
  isOutdated(storedHash: string): boolean;
}

/** How hashes are made. */
export interface HasherOptions {
  /** Base-2 logarithm of the rounds. */
  readonly cost: number;
  /** Mixed into every password before bcrypt; undefined hashes the password itself. */
  readonly pepper: Secret | undefined;
}

/** A hasher whose work passes through `queue`. */
export function createPasswordHasher(queue: Pick<WorkQueue, "run">, options: HasherOptions): PasswordHasher {
  const dummyHash = unmatchableHash(options.cost);
  const pepper = (password: string): string =>
    options.pepper === undefined
      ? password
      : createHmac("sha384", options.pepper.reveal()).update(password).digest("base64");
  return {
    async hash(password, group, checkWanted) {
      if (options.pepper === undefined && isTooLong(password))
        throw new RangeError("Cannot hash the password: bcrypt would ignore its end");
      const bcryptHash = await queue.run(group, async () => {
        await checkWanted?.();
        return hash(pepper(password), options.cost);
      });
      return options.pepper === undefined ? bcryptHash : PEPPER_PREFIX + bcryptHash;
    },
    async verify(password, storedHash, group) {
      const isPeppered = storedHash?.startsWith(PEPPER_PREFIX) === true;
      const bcryptHash = isPeppered ? storedHash.slice(PEPPER_PREFIX.length) : storedHash;
      const isUsable =
        bcryptHash !== undefined && BCRYPT_HASH.test(bcryptHash) && (!isPeppered || options.pepper !== undefined);
      const input = isPeppered ? pepper(password) : password;
      const matches = await queue.run(group, () => compare(input, isUsable ? bcryptHash : dummyHash));
      return matches && isUsable && !isTooLong(input);
    },
    isOutdated(storedHash) {
      if (storedHash.startsWith(PEPPER_PREFIX) !== (options.pepper !== undefined)) return true;
      const cost = BCRYPT_HASH.exec(storedHash.replace(PEPPER_PREFIX, ""))?.[1];
      return cost === undefined || Number(cost) < options.cost;
    },
  };
}

/** The error for a call that found the queue full or waited in it too long. */
export function busyError(): AccountError {
  return new AccountError("busy", "The service is busy. Try again in a moment.", { retryAfterSeconds: 1 });
}

/**
 * A hash of the given cost that no password has; comparing with it costs what comparing with a real
 * one does.
 */
function unmatchableHash(cost: number): string {
  const random = randomBytes(40).toString("base64").replaceAll("+", ".").replaceAll("=", "").slice(0, 52);
  // The last character of salt (position 22) carries only two bits: "." is a value that every
  // bcrypt writes there.
  return `$2b$${String(cost).padStart(2, "0")}$${random.slice(0, 21)}.${random.slice(21, 52)}`;
}

function isTooLong(password: string): boolean {
  return Buffer.byteLength(password) > BCRYPT_MAX_BYTES;
}
