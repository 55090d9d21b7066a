// Reads a count from the text that a GET brings, by the rule of INCRBY, so that both refuse the
// same values.

/** What INCRBY takes for a number: decimal digits without superfluous zeros or signs. */
const INTEGER = /^(?:0|-?[1-9]\d{0,18})$/;

/** The range of the numbers of a store: 64 bits with a sign. */
const MIN = -(2n ** 63n);
const MAX = 2n ** 63n - 1n;

/** Numbers of so many characters are within the range, whatever they are. */
const SAFE_DIGITS = 18;

/**
 * The count that a reply to GET holds, 0 when there is nothing at the key, or the error that INCRBY
 * would have answered.
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
