// Parses a count from the reply to GET by the rule of INCRBY, so that both refuse the same values.

/** The numbers that INCRBY accepts: decimal digits without superfluous zeros or signs. */
const INTEGER = /^(?:0|-?[1-9]\d{0,18})$/;

/** The range of numbers in Redis: 64 bits with a sign. */
const MIN = -(2n ** 63n);
const MAX = 2n ** 63n - 1n;

/** Numbers of at most so many characters are within the range. */
const SAFE_DIGITS = 18;

/**
 * The count in a reply to GET, 0 when the key does not exist, or the error that INCRBY would
 * return.
 */
export function countIn(reply: unknown): number | Error {
  if (reply === null) return 0;
  if (typeof reply !== "string") return new Error("unexpected reply to GET");
  if (!INTEGER.test(reply)) return notAnInteger();
  if (reply.length <= SAFE_DIGITS) return Number(reply);
  const exact = BigInt(reply);
  return exact < MIN || exact > MAX ? notAnInteger() : Number(reply);
}

function notAnInteger(): Error {
  return new Error("ERR value is not an integer or out of range");
}
