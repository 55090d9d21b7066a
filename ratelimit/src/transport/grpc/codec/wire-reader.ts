// Reads the protobuf wire format from a range of a buffer: tags, varints, lengths, strings, and
// fields to skip. https://protobuf.dev/programming-guides/encoding/
import { isUtf8 } from "node:buffer";

import type { KnownStrings } from "./known-strings.ts";
import { MalformedMessage } from "@weir/http2/grpc/malformed-message";

/** Wire type of numbers, flags and enums; the wire type is the three lowest bits of a tag. */
export const VARINT = 0;

/** Wire type of strings and messages. */
export const DELIMITED = 2;

/** Wire types that none of our messages has, but that unknown fields may have. */
const FIXED_64 = 1;
const GROUP_START = 3;
const GROUP_END = 4;
const FIXED_32 = 5;

/** Longest varint in bytes, and the largest value of its last byte: 64 bits in all. */
const VARINT_MAX_BYTES = 10;
const VARINT_LAST_MAX = 1;

/** Longest varint of a tag in bytes, and the largest value of its last byte: 32 bits in all. */
const TAG_MAX_BYTES = 5;
const TAG_LAST_MAX = 15;

/** Deepest nesting of groups that are skipped, as in protobuf libraries. */
const GROUP_DEPTH_MAX = 100;

/** Longest string, in bytes, whose bytes are looked at one by one before it is made. */
const SHORT_STRING_MAX = 32;

/** The character that replaces bytes that are not UTF-8. */
const REPLACEMENT = "\ufffd";

/**
 * A cursor over the bytes of a message. Nothing is read beyond `end`, which is the end of the
 * innermost message: `enter` sets it and `leave` restores it. Methods throw MalformedMessage.
 */
export class WireReader {
  /** The next byte to read. */
  at = 0;
  /** The byte after the last one. */
  end = 0;
  #bytes: Buffer = Buffer.alloc(0);
  /** The upper 32 bits of the varint that was read last. */
  #high = 0;

  /** Begins to read `bytes` from `start` up to `end`. */
  open(bytes: Buffer, start: number, end: number): void {
    this.#bytes = bytes;
    this.at = start;
    this.end = end;
  }

  /** Forgets the bytes, so that they can be collected. */
  close(): void {
    this.#bytes = EMPTY;
  }

  /** Reads a tag: the number of a field, times 8, plus a wire type. */
  tag(): number {
    const { at } = this;
    if (at < this.end) {
      const tag = this.#bytes[at] ?? 0;
      if (tag < 0x80 && tag > 7) {
        this.at = at + 1;
        return tag;
      }
    }
    return this.#longTag();
  }

  /** Reads a varint and returns its lower 32 bits, without a sign. */
  uint32(): number {
    const { at } = this;
    if (at < this.end) {
      const byte = this.#bytes[at] ?? 0;
      if (byte < 0x80) {
        this.at = at + 1;
        return byte;
      }
    }
    return this.#longVarint();
  }

  /** Reads a varint as a number; above 2^53 it is not exact. */
  uint64(): number {
    const { at } = this;
    if (at < this.end) {
      const byte = this.#bytes[at] ?? 0;
      if (byte < 0x80) {
        this.at = at + 1;
        return byte;
      }
    }
    const low = this.#longVarint();
    return this.#high * 2 ** 32 + low;
  }

  /** Reads a varint and returns whether any of its bits is set. */
  bool(): boolean {
    return this.uint64() !== 0;
  }

  /** Enters a nested message: reads its length, and returns the end of the outer one for `leave`. */
  enter(): number {
    const outerEnd = this.end;
    const length = this.#length();
    this.end = this.at + length;
    return outerEnd;
  }

  /** Leaves a nested message that was read up to its end. */
  leave(outerEnd: number): void {
    this.end = outerEnd;
  }

  /** Reads a string, which must be UTF-8. */
  string(): string {
    const length = this.#length();
    const start = this.at;
    this.at += length;
    return this.#text(start, this.at);
  }

  /** Reads a string that is likely to be one of few, and returns the same object each time. */
  knownString(known: KnownStrings): string {
    const length = this.#length();
    const start = this.at;
    this.at += length;
    const text = known.find(this.#bytes, start, length);
    if (text !== undefined) return text;
    const made = this.#text(start, this.at);
    known.keep(made, this.#bytes, start, length);
    return made;
  }

  /** Skips the field of a tag. */
  skip(tag: number, depth = 0): void {
    switch (tag & 7) {
      case VARINT:
        this.uint32();
        return;
      case FIXED_64:
        this.#advance(8);
        return;
      case DELIMITED:
        this.#advance(this.#length());
        return;
      case GROUP_START:
        this.#skipGroup(tag, depth);
        return;
      case FIXED_32:
        this.#advance(4);
        return;
      case GROUP_END:
        throw new MalformedMessage("a group ends that did not begin");
      default:
        throw new MalformedMessage("a tag has an illegal wire type");
    }
  }

  #skipGroup(start: number, depth: number): void {
    if (depth >= GROUP_DEPTH_MAX) throw new MalformedMessage("groups are nested too deeply");
    for (;;) {
      const tag = this.tag();
      if ((tag & 7) !== GROUP_END) this.skip(tag, depth + 1);
      else if (tag >>> 3 === start >>> 3) return;
      else throw new MalformedMessage("a group ends that did not begin");
    }
  }

  #length(): number {
    const length = this.uint64();
    if (length > this.end - this.at) throw new MalformedMessage("a field is longer than its message");
    return length;
  }

  #advance(count: number): void {
    if (count > this.end - this.at) throw new MalformedMessage("the message is cut off");
    this.at += count;
  }

  #longTag(): number {
    const start = this.at;
    const tag = this.uint32();
    const count = this.at - start;
    const isTooLong =
      count > TAG_MAX_BYTES || (count === TAG_MAX_BYTES && (this.#bytes[this.at - 1] ?? 0) > TAG_LAST_MAX);
    const isNoField = tag >>> 3 === 0;
    if (isTooLong || isNoField) throw new MalformedMessage("a tag has an illegal field number");
    return tag;
  }

  /** A varint of several bytes, or one that is cut off. */
  #longVarint(): number {
    let low = 0;
    let high = 0;
    for (let index = 0; index < VARINT_MAX_BYTES; index++) {
      if (this.at >= this.end) throw new MalformedMessage("the message is cut off");
      const byte = this.#bytes[this.at++] ?? 0;
      const bits = byte & 0x7f;
      if (index < 4) low |= bits << (7 * index);
      else if (index === 4) {
        low |= bits << 28;
        high = bits >>> 4;
      } else high |= bits << (7 * index - 32);
      if (byte >= 0x80) continue;
      if (index === VARINT_MAX_BYTES - 1 && byte > VARINT_LAST_MAX) break;
      this.#high = high >>> 0;
      return low >>> 0;
    }
    throw new MalformedMessage("a varint is longer than 64 bits");
  }

  #text(start: number, end: number): string {
    const bytes = this.#bytes;
    if (end - start <= SHORT_STRING_MAX) {
      let bits = 0;
      for (let at = start; at < end; at++) bits |= bytes[at] ?? 0;
      if (bits < 0x80) return bytes.toString("latin1", start, end);
    }
    const text = bytes.toString("utf8", start, end);
    // The decoder replaces what is no UTF-8. The character may also be a part of the text itself.
    if (text.includes(REPLACEMENT) && !isUtf8(bytes.subarray(start, end)))
      throw new MalformedMessage("a string is not UTF-8");
    return text;
  }
}

const EMPTY = Buffer.alloc(0);
