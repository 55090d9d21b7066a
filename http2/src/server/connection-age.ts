// The age at which a connection is closed gracefully.

/** Part by which ages differ in both directions: connections of one moment are not closed in one. */
const JITTER = 0.1;

/** The age of one connection in milliseconds; `random` is a number from 0 up to 1. */
export function connectionAgeMs(ageMs: number, random: number): number {
  return ageMs * (1 + JITTER * (2 * random - 1));
}
