// Small damage to bytes: what a fault on the wire, a broken client or an attacker makes of a good
// message.
import type { Random } from "./random.ts";

/** Longest result, in bytes. */
const LENGTH_MAX = 64 * 1024;

/** Bytes on which parsers turn. */
const SPECIAL_BYTES = [
  0x00, 0x01, 0x0a, 0x0d, 0x20, 0x22, 0x2c, 0x3a, 0x5c, 0x7b, 0x7d, 0x7f, 0x80, 0xc0, 0xfe, 0xff,
] as const;

/** Does `count` random changes to a copy; `tokens` are words of its language, put in as well. */
export function mutate(random: Random, bytes: Buffer, count: number, tokens: readonly Buffer[] = []): Buffer {
  let result: Buffer = Buffer.from(bytes);
  for (let change = 0; change < count; change++) result = changeOnce(random, result, tokens);
  return result.subarray(0, LENGTH_MAX);
}

function changeOnce(random: Random, bytes: Buffer, tokens: readonly Buffer[]): Buffer {
  const at = random.below(bytes.length + 1);
  const length = Math.min(bytes.length - at, random.between(1, random.oneIn(4) ? 64 : 4));
  const [before, piece, after] = [bytes.subarray(0, at), bytes.subarray(at, at + length), bytes.subarray(at + length)];
  switch (random.below(tokens.length === 0 ? 8 : 11)) {
    case 0: // One bit.
      if (at < bytes.length) bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8));
      return bytes;
    case 1: // One byte.
      if (at < bytes.length) bytes[at] = random.pick(SPECIAL_BYTES);
      return bytes;
    case 2: // Away.
      return Buffer.concat([before, after]);
    case 3: // Twice.
      return Buffer.concat([before, piece, piece, after]);
    case 4: // Something in between.
      return Buffer.concat([before, random.bytes(random.between(1, 8)), piece, after]);
    case 5: // Cut off.
      return Buffer.from(before);
    case 6: // Many times.
      return Buffer.concat([before, ...Array.from({ length: random.between(2, 200) }, () => piece), after]);
    case 7: // From elsewhere in the same message.
      return Buffer.concat([before, bytes.subarray(random.below(bytes.length + 1)).subarray(0, length), after]);
    default: {
      const token = random.pick(tokens);
      const put = Array<Buffer>(random.oneIn(2) ? 1 : random.between(1, 20)).fill(token);
      return Buffer.concat([before, ...put, random.oneIn(2) ? piece : Buffer.of(), after]);
    }
  }
}
