// Reads the integers and strings of a header block (RFC 7541, 5).
import { decodeHuffman, huffmanLength, maxDecoded } from "./huffman-decoder.ts";
import { IntegerReader } from "./integer-reader.ts";
import { classesOf, hasBlankEdge, ILLEGAL_IN_VALUE } from "./octet-class.ts";

/** The result of reading a block at an offset where it is broken. */
export const BROKEN = -1;

/** The string that was found last, and how to read it. */
export class StringReader {
  /** Why something was BROKEN. */
  fault = "";
  /** The offset at which the last integer ended. */
  integerEnd = 0;
  /** The string, encoded. */
  start = 0;
  end = 0;
  isHuffman = false;
  /** The classes of the octets that were read last. */
  classes = 0;
  readonly #integers = new IntegerReader();

  /** The integer at `start` whose prefix is `prefix`; it ends at `integerEnd`. */
  readInteger(block: Buffer, start: number, end: number, prefix: number): number {
    this.#integers.at = start;
    const value = this.#integers.read(block, end, prefix);
    this.integerEnd = this.#integers.at;
    return value < 0 ? this.fail("an integer that is cut off or too large") : value;
  }

  /** Finds the string that begins at `start` (RFC 7541, 5.2); where it ends. */
  find(block: Buffer, start: number, end: number): number {
    const octet = start < end ? (block[start] ?? 0) : 0x7f;
    let length = octet & 0x7f;
    let at = start + 1;
    if (length === 0x7f) {
      length = this.readInteger(block, start, end, 0x7f);
      if (length < 0) return BROKEN;
      at = this.integerEnd;
    }
    if (length > end - at) return this.fail("a string beyond the block's end");
    this.isHuffman = octet >= 0x80;
    this.start = at;
    this.end = at + length;
    return this.end;
  }

  /** Bytes of the string at most, decoded. */
  get maxBytes(): number {
    const encodedBytes = this.end - this.start;
    return this.isHuffman ? maxDecoded(encodedBytes) : encodedBytes;
  }

  /** Bytes of the string, decoded. */
  countBytes(block: Buffer): number {
    if (!this.isHuffman) return this.end - this.start;
    const bytes = huffmanLength(block, this.start, this.end);
    return bytes < 0 ? this.fail(BAD_HUFFMAN) : bytes;
  }

  /** Reads the string into `target`, which has room for it; where it ends there. */
  readInto(block: Buffer, target: Buffer, offset: number): number {
    let end: number;
    if (this.isHuffman) {
      const decoded = decodeHuffman(block, this.start, this.end, target, offset);
      if (decoded < 0) return this.fail(BAD_HUFFMAN);
      end = decoded >>> 2;
      this.classes = decoded & 3;
    } else {
      end = offset + this.end - this.start;
      copyBytes(block, this.start, target, offset, end - offset);
      this.classes = classesOf(target, offset, end);
    }
    if (hasBlankEdge(target, offset, end)) this.classes |= ILLEGAL_IN_VALUE;
    return end;
  }

  /** Notes why the block is broken. */
  fail(fault: string): typeof BROKEN {
    this.fault = fault;
    return BROKEN;
  }
}

const BAD_HUFFMAN = "a string with invalid Huffman code";

/** Copies so many bytes; a loop, because a call of native code costs more than a short copy. */
export function copyBytes(from: Buffer, start: number, to: Buffer, offset: number, length: number): void {
  for (let at = 0; at < length; at++) to[offset + at] = from[start + at] ?? 0;
}
