// The keys, numbers and expiry times of memcached.

/** Longest key, in bytes: memcached's. */
const KEY_MAX_BYTES = 250;

/** Most bytes of UTF-8 for one UTF-16 unit. */
const UNIT_MAX_BYTES = 3;

/**
 * Longest expiry that memcached reads as a duration, in seconds (30 days); a larger number is a
 * date.
 */
const RELATIVE_EXPIRY_MAX_SECONDS = 2_592_000;

/**
 * A number as `incr` stores it; spaces follow it after a shorter one has replaced a longer one.
 */
const NUMBER = /^(\d{1,20}) *$/;

/** Space, and below it the control characters. */
const SPACE = 0x20;
const DELETE = 0x7f;

/** Why memcached cannot store the key, to follow "the key"; undefined when it can. */
export function findKeyProblem(key: string): string | undefined {
  if (key.length * UNIT_MAX_BYTES > KEY_MAX_BYTES) {
    const bytes = Buffer.byteLength(key);
    if (bytes > KEY_MAX_BYTES) return `is longer than ${KEY_MAX_BYTES} bytes, it has ${bytes}`;
  }
  for (let index = 0; index < key.length; index++) {
    const unit = key.charCodeAt(index);
    if (unit <= SPACE || unit === DELETE) return "must hold no space and no control character";
  }
  // Half a surrogate pair would be sent as U+FFFD, and the counter shared with every other such
  // key.
  return key.isWellFormed() ? undefined : "must be well-formed text";
}

/**
 * The count in a stored value, at most the largest exact integer; undefined when it is not a number.
 */
export function parseCount(data: string): number | undefined {
  const digits = NUMBER.exec(data)?.[1];
  return digits === undefined ? undefined : Math.min(Number(digits), Number.MAX_SAFE_INTEGER);
}

/** The expiry to send with a key that has to live for so many seconds. */
export function expiryNumber(ttlSeconds: number, nowMs: number): number {
  return ttlSeconds > RELATIVE_EXPIRY_MAX_SECONDS ? Math.floor(nowMs / 1000) + ttlSeconds : ttlSeconds;
}
