// Writes the protobuf wire format into a buffer. Every function returns the offset after what it
// wrote; the caller has made sure that it fits.

/** Longest varint of an unsigned 32-bit number, in bytes. */
export const VARINT_32_MAX_BYTES = 5;

/** Longest tag and length of a delimited field whose number is below 16, in bytes. */
export const DELIMITED_HEAD_MAX_BYTES = 1 + VARINT_32_MAX_BYTES;

/** Most bytes of UTF-8 for one UTF-16 code unit. */
const UTF_8_MAX_BYTES = 3;

/** Longest string, in UTF-16 code units, that is written character by character. */
const SHORT_STRING_MAX = 16;

/** Writes a varint; `value` is from 0 up to 2^53 − 1. */
export function writeVarint(target: Buffer, offset: number, value: number): number {
  let at = offset;
  let rest = value;
  while (rest > 0x7f_ff_ff_ff) {
    target[at++] = (rest % 0x80) | 0x80;
    rest = Math.floor(rest / 0x80);
  }
  while (rest > 0x7f) {
    target[at++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  target[at++] = rest;
  return at;
}

/** Bytes that a string takes as a delimited field at most. */
export function stringMaxBytes(text: string): number {
  return DELIMITED_HEAD_MAX_BYTES + text.length * UTF_8_MAX_BYTES;
}

/** Writes a string with its tag and length. */
export function writeString(target: Buffer, offset: number, tag: number, text: string): number {
  target[offset] = tag;
  const start = offset + 2;
  const { length } = text;
  if (length > SHORT_STRING_MAX) return closeDelimited(target, start, start + target.write(text, start));
  let at = start;
  for (let index = 0; index < length; index++) {
    const code = text.charCodeAt(index);
    if (code >= 0x80) return closeDelimited(target, start, start + target.write(text, start));
    target[at++] = code;
  }
  target[start - 1] = length;
  return at;
}

/**
 * Writes the length of a delimited field. Its contents are from `start` up to `end`, and one byte
 * before them is left for the length; they move when the length takes more.
 */
export function closeDelimited(target: Buffer, start: number, end: number): number {
  const length = end - start;
  if (length < 0x80) {
    target[start - 1] = length;
    return end;
  }
  let lengthBytes = 1;
  for (let rest = length >>> 7; rest > 0; rest >>>= 7) lengthBytes++;
  target.copyWithin(start + lengthBytes - 1, start, end);
  writeVarint(target, start - 1, length);
  return end + lengthBytes - 1;
}
