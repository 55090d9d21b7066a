// The :path that a connection received last. Encoders send it as a literal with every request, never as
// an entry of the table, and it hardly ever changes: equal octets are not decoded again. Its gain is that of RecentValues,
// which compares where values come from.

/** Longest path that is kept, encoded and decoded, in bytes. */
const KEPT_MAX_BYTES = 256;

const NONE = Buffer.alloc(0);

/** The encoded string, and what it decodes to. */
export class RecentPath {
  /** A number for each string that was kept; 0 when the last one was too long. */
  serial = 0;
  /** The decoded string: the first `length` bytes. */
  bytes: Buffer = NONE;
  length = 0;
  /** The classes of its octets. */
  classes = 0;
  #strings = 0;
  #encoded: Buffer = NONE;
  #encodedLength = 0;
  #isHuffman = false;

  /** Returns true if the octets from `start` up to `end` are the string that is kept. */
  isSame(block: Buffer, start: number, end: number, isHuffman: boolean): boolean {
    const length = end - start;
    if (this.serial === 0 || length !== this.#encodedLength || isHuffman !== this.#isHuffman) return false;
    const encoded = this.#encoded;
    for (let at = 0; at < length; at++) if (encoded[at] !== block[start + at]) return false;
    return true;
  }

  /** Keeps a string that is short enough: its octets, and what they decode to. */
  keep(encoded: Buffer, isHuffman: boolean, decoded: Buffer, classes: number): void {
    this.serial = 0;
    if (encoded.length > KEPT_MAX_BYTES || decoded.length > KEPT_MAX_BYTES) return;
    if (this.#encoded.length === 0) {
      this.#encoded = Buffer.alloc(KEPT_MAX_BYTES);
      this.bytes = Buffer.alloc(KEPT_MAX_BYTES);
    }
    this.#encoded.set(encoded);
    this.#encodedLength = encoded.length;
    this.#isHuffman = isHuffman;
    this.bytes.set(decoded);
    this.length = decoded.length;
    this.classes = classes;
    this.serial = ++this.#strings;
  }
}
