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

/** Longest text that is encoded into `encoded`, in UTF-16 units of at most three bytes. */
const TEXT_MAX_LENGTH = 1024;

/** The bytes of one text: reading them is several times as fast as reading units of the text. */
const encoded = Buffer.allocUnsafeSlow(3 * TEXT_MAX_LENGTH);

/**
 * The slot of a key, 0 to 16383. If the key contains a "{", then a "}" and something between them,
 * only the text between the first "{" and the first "}" after it counts.
 */
export function hashSlot(key: string): number {
  const open = key.indexOf("{");
  if (open === -1) return crc16(key) % SLOT_COUNT;
  const close = key.indexOf("}", open + 1);
  const hasTag = close > open + 1;
  return crc16(hasTag ? key.slice(open + 1, close) : key) % SLOT_COUNT;
}

/** CRC16 of a text in UTF-8, the bytes that are sent to the server. */
function crc16(text: string): number {
  const isLong = text.length > TEXT_MAX_LENGTH;
  const bytes = isLong ? Buffer.from(text) : encoded;
  const end = isLong ? bytes.length : encoded.write(text);
  let crc = 0;
  for (let at = 0; at < end; at++) crc = ((crc << 8) & 0xffff) ^ (TABLE[(crc >> 8) ^ (bytes[at] ?? 0)] ?? 0);
  return crc;
}
