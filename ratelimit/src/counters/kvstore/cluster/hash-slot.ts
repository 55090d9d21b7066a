// Computes the hash slot of a key: CRC16 of the key, or of its hash tag, as the Redis cluster
// specification defines it.

/** Number of slots of every cluster: Redis cluster specification, "Key distribution model". */
export const SLOT_COUNT = 16_384;

/** Polynomial of CRC16/XMODEM; start value 0, no reflection, no final XOR. */
const POLYNOMIAL = 0x1021;

/** CRC of each byte. */
const TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ POLYNOMIAL;
  return crc;
});

/** Largest UTF-16 unit that is one byte in UTF-8. */
const ASCII_MAX = 0x7f;

/**
 * The slot of a key, 0 to 16383. If the key contains a "{", then a "}" and something between them,
 * only the text between the first "{" and the first "}" after it counts.
 */
export function hashSlot(key: string): number {
  const open = key.indexOf("{");
  if (open === -1) return crc16(key, 0, key.length) % SLOT_COUNT;
  const close = key.indexOf("}", open + 1);
  const hasTag = close > open + 1;
  return (hasTag ? crc16(key, open + 1, close) : crc16(key, 0, key.length)) % SLOT_COUNT;
}

/** CRC16 of a part of a text in UTF-8, the bytes that are sent to the server. */
function crc16(text: string, from: number, to: number): number {
  let crc = 0;
  for (let at = from; at < to; at++) {
    const unit = text.charCodeAt(at);
    if (unit > ASCII_MAX) return crc16OfBytes(Buffer.from(text.slice(from, to)));
    crc = next(crc, unit);
  }
  return crc;
}

function crc16OfBytes(bytes: Buffer): number {
  let crc = 0;
  for (const byte of bytes) crc = next(crc, byte);
  return crc;
}

function next(crc: number, byte: number): number {
  return ((crc << 8) & 0xffff) ^ (TABLE[(crc >> 8) ^ byte] ?? 0);
}
