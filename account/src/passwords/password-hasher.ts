// Hashes and compares passwords with bcrypt, few at a time: bcrypt works on the threads that DNS,
// files and WebCrypto need too.
import { createHmac, randomBytes } from "node:crypto";
import { compare, hash } from "bcrypt";
import type { Secret } from "@weir/common/settings/secret";
import { AccountError } from "../errors.ts";
import type { Place, WorkQueue } from "../fairness/work-queue.ts";

/** bcrypt ignores what follows. */
export const BCRYPT_MAX_BYTES = 72;

/** A bcrypt hash: version, cost from 4 to 31, 22 characters of salt and 31 of hash. */
const BCRYPT_HASH = /^\$2[aby]\$(0[4-9]|[12]\d|3[01])\$[./A-Za-z0-9]{53}$/;

/** Least cost that bcrypt has. */
const COST_MIN = 4;

/** Marks a stored hash whose password went through the pepper first. */
const PEPPER_PREFIX = "{hmac-sha384}";

/** Makes and checks stored hashes. Calls reject with `busy` when too much is waiting. */
export interface PasswordHasher {
  /** A place in the queue for `hash`, for a caller that has other work to do first; see WorkQueue. */
  reserve(networks: readonly string[], call: AbortController): Place;
  /**
   * A salted hash to store, made when its turn comes at `place`. The password must fit bcrypt, as
   * password-rules.ts sees to; a longer one is a fault and rejects with a RangeError. `checkWanted` is
   * called right before the work; when it rejects, so does the call.
   */
  hash(password: string, place: Pick<Place, "run">, checkWanted?: () => Promise<void>): Promise<string>;
  /**
   * Resolves to true if the password has the hash. A false answer takes the same work for every hash
   * up to today's cost, and for an undefined (no such user) or unusable one: it does not reveal which
   * accounts exist, nor that the cost was raised since an account's last login.
   */
  verify(password: string, storedHash: string | undefined, networks: readonly string[]): Promise<boolean>;
  /** Returns true if the service would hash otherwise today: at a higher cost, with a pepper, or without one. */
  isOutdated(storedHash: string): boolean;
}

/** How hashes are made. */
export interface HasherOptions {
  /** Base-2 logarithm of the rounds. */
  readonly cost: number;
  /** Mixed into every password before bcrypt; undefined hashes the password itself. */
  readonly pepper: Secret | undefined;
}

/** The functions of bcrypt; tests count their work. */
export interface Bcrypt {
  /** A hash with a new salt, of 2^cost rounds. */
  hash(password: string, cost: number): Promise<string>;
  /** Resolves to true if the password has the hash; takes the rounds that the hash names. */
  compare(password: string, bcryptHash: string): Promise<boolean>;
}

/** A hasher whose work passes through `queue`. */
export function createPasswordHasher(
  queue: Pick<WorkQueue, "run" | "reserve">,
  options: HasherOptions,
  bcrypt: Bcrypt = { hash, compare },
): PasswordHasher {
  const dummyHash = unmatchableHash(options.cost);
  const padding = paddingHashes(options.cost);
  const pepper = (password: string): string =>
    options.pepper === undefined
      ? password
      : createHmac("sha384", options.pepper.reveal()).update(password).digest("base64");
  return {
    reserve: (networks, call) => queue.reserve(networks, call),
    async hash(password, place, checkWanted) {
      if (options.pepper === undefined && isTooLong(password))
        throw new RangeError("Cannot hash the password: bcrypt would ignore its end");
      const bcryptHash = await place.run(async () => {
        await checkWanted?.();
        return bcrypt.hash(pepper(password), options.cost);
      });
      return options.pepper === undefined ? bcryptHash : PEPPER_PREFIX + bcryptHash;
    },
    async verify(password, storedHash, networks) {
      const isPeppered = storedHash?.startsWith(PEPPER_PREFIX) === true;
      const bcryptHash = isPeppered ? storedHash.slice(PEPPER_PREFIX.length) : storedHash;
      const cost = costOf(bcryptHash);
      const isUsable = cost !== undefined && (!isPeppered || options.pepper !== undefined);
      const input = isPeppered ? pepper(password) : password;
      return queue.run(networks, async () => {
        if (!isUsable || bcryptHash === undefined) {
          await bcrypt.compare(input, dummyHash);
          return false;
        }
        if ((await bcrypt.compare(input, bcryptHash)) && !isTooLong(input)) return true;
        for (const { cost: paddingCost, bcryptHash: paddingHash } of padding)
          if (paddingCost >= cost) await bcrypt.compare(input, paddingHash);
        return false;
      });
    },
    isOutdated(storedHash) {
      if (storedHash.startsWith(PEPPER_PREFIX) !== (options.pepper !== undefined)) return true;
      const cost = costOf(storedHash.replace(PEPPER_PREFIX, ""));
      return cost === undefined || cost < options.cost;
    },
  };
}

/** The error for a call that found the queue full or waited in it too long. */
export function busyError(): AccountError {
  return new AccountError("busy", "The service is busy. Try again in a moment.", { retryAfterSeconds: 1 });
}

function costOf(bcryptHash: string | undefined): number | undefined {
  const cost = BCRYPT_HASH.exec(bcryptHash ?? "")?.[1];
  return cost === undefined ? undefined : Number(cost);
}

/**
 * Hashes of every cost below `cost`. Comparing with one of cost c and then with those from c up
 * takes 2^c + 2^c + … + 2^(cost-1) = 2^cost rounds, as one comparison at `cost` does.
 */
function paddingHashes(cost: number): readonly { readonly cost: number; readonly bcryptHash: string }[] {
  return Array.from({ length: Math.max(0, cost - COST_MIN) }, (_, index) => ({
    cost: COST_MIN + index,
    bcryptHash: unmatchableHash(COST_MIN + index),
  }));
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
