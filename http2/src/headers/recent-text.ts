// The string that was made last, for values that hardly ever change from one request to the next.

/** Longest string that is kept, in bytes. */
const KEPT_MAX_BYTES = 256;

/** Makes strings of bytes, and the same one again while the bytes are the same. */
export class RecentText {
  #text = "";
  #bytes = Buffer.alloc(0);

  /** The bytes from `start` up to `end` as a string, those above 127 as Latin-1. */
  of(bytes: Buffer, start: number, end: number): string {
    if (end - start > KEPT_MAX_BYTES) return bytes.toString("latin1", start, end);
    if (!this.#isSame(bytes, start, end)) {
      this.#bytes = Buffer.from(bytes.subarray(start, end));
      this.#text = bytes.toString("latin1", start, end);
    }
    return this.#text;
  }

  #isSame(bytes: Buffer, start: number, end: number): boolean {
    const recent = this.#bytes;
    if (end - start !== recent.length) return false;
    for (let at = 0; at < recent.length; at++) if (recent[at] !== bytes[start + at]) return false;
    return true;
  }
}
