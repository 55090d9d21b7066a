// HalfSipHash-1-3 with a 32-bit result: a hash under a secret seed, so that no caller can compose
// keys that share a place in a table.

/** The secret of a hash: two random 32-bit numbers. */
export interface HashSeed {
  readonly low: number;
  readonly high: number;
}

/** The constants of HalfSipHash (J.-P. Aumasson, https://github.com/veorq/SipHash, halfsiphash.c). */
const V2 = 0x6c796765;
const V3 = 0x74656462;

/** The constant that separates the message from the rounds that close the hash, and the number of these. */
const END = 0xff;
const CLOSING_ROUNDS = 3;

/** Words after the message that `hashWords` overwrites: its length, and one for each closing round. */
export const CLOSING_WORDS = 1 + CLOSING_ROUNDS;

/**
 * The hash of the first `count` words, as a message of 4 × count bytes in little-endian order. The
 * array has CLOSING_WORDS more.
 */
export function hashWords(words: Int32Array, count: number, { low, high }: HashSeed): number {
  let v0 = low;
  let v1 = high;
  let v2 = V2 ^ low;
  let v3 = V3 ^ high;
  const end = count + CLOSING_WORDS;
  words[count] = count << 26; // The number of bytes in the highest byte.
  for (let index = count + 1; index < end; index++) words[index] = 0;
  for (let index = 0; index < end; index++) {
    const block = words[index] ?? 0;
    v3 ^= block;
    v0 = (v0 + v1) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v0 = (v0 << 16) | (v0 >>> 16);
    v2 = (v2 + v3) | 0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
    v0 ^= block;
    if (index === count) v2 ^= END;
  }
  return v1 ^ v3;
}
