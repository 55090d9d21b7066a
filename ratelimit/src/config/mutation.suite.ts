// Bytes for tests that feed broken input: random ones, and mutations of good ones. The same seed
// gives the same bytes.

/** A generator of numbers from 0 up to but not including 1 (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Random bytes, at most so many. */
export function randomBytes(random: () => number, lengthMax: number): Buffer {
  return Buffer.from(Array.from({ length: Math.floor(random() * (lengthMax + 1)) }, () => Math.floor(random() * 256)));
}

/**
 * One of the good inputs after up to eight changes: bytes and tokens put in, taken out, doubled and
 * exchanged. The result has at most `lengthMax` bytes.
 */
export function mutate(
  random: () => number,
  good: readonly Buffer[],
  tokens: readonly string[],
  lengthMax: number,
): Buffer {
  let bytes = pick(random, good);
  for (let changes = 1 + Math.floor(random() * 8); changes > 0; changes--) {
    const from = Math.floor(random() * (bytes.length + 1));
    const to = Math.min(bytes.length, from + Math.floor(random() * 20));
    const [head, part, tail] = [bytes.subarray(0, from), bytes.subarray(from, to), bytes.subarray(to)];
    const middle = replacement(random, part, good, tokens);
    bytes = Buffer.concat([head, middle, tail]);
  }
  return bytes.subarray(0, lengthMax);
}

function replacement(random: () => number, part: Buffer, good: readonly Buffer[], tokens: readonly string[]): Buffer {
  switch (Math.floor(random() * 6)) {
    case 0:
      return Buffer.alloc(0);
    case 1:
      return Buffer.concat([part, part]);
    case 2:
      return randomBytes(random, 4);
    case 3: {
      const other = pick(random, good);
      const at = Math.floor(random() * other.length);
      return other.subarray(at, at + 40);
    }
    case 4:
      return Buffer.from(pick(random, tokens).repeat(1 + Math.floor(random() * 20)));
    default:
      return Buffer.from(pick(random, tokens));
  }
}

function pick<T>(random: () => number, from: readonly T[]): T {
  return from[Math.floor(random() * from.length)] as T;
}
