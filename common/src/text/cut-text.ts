// Cuts texts for fields and messages that have a bound.

/** Replaces the end that is cut. */
const ELLIPSIS = "…";

/**
 * The text, cut after a whole character when its UTF-8 has more than `maxBytes`. In bytes, because some
 * fields are bounded in bytes and others in characters; half of a character would come back changed.
 */
export function cutText(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  let end = maxBytes - Buffer.byteLength(ELLIPSIS);
  while (isContinuation(bytes[end])) end -= 1;
  return `${bytes.toString("utf8", 0, end)}${ELLIPSIS}`;
}

/** Returns true if a byte of UTF-8 is not the first one of its character. */
function isContinuation(byte = 0): boolean {
  return (byte & 0xc0) === 0x80;
}
