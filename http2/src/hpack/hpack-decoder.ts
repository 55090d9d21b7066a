// Decodes header blocks (RFC 7541) into ranges of bytes.
import { DynamicTable } from "./dynamic-table.ts";
import { FIELD_OVERHEAD_BYTES, type FieldList, markOf, nameIdOf } from "./field-list.ts";
import { identifyName } from "./field-name.ts";
import { decodeHuffman, huffmanLength, maxDecoded } from "./huffman-decoder.ts";
import { IntegerReader } from "./integer-reader.ts";
import { classesOf, hasBlankEdge, ILLEGAL_IN_VALUE } from "./octet-class.ts";
import {
  STATIC_BYTES,
  STATIC_COUNT,
  STATIC_END,
  STATIC_NAME_ID,
  STATIC_NAME_START,
  STATIC_VALUE_START,
} from "./static-table.ts";

/** Bounds of one connection's decoder. */
export interface HpackLimits {
  /**
   * The SETTINGS_HEADER_TABLE_SIZE that the peer was told, in bytes. Less than 4096 is for peers
   * that know it before their first block.
   */
  readonly tableMaxBytes: number;
  /** Longest decoded list: 32 more than name and value for each field (RFC 9113, 6.5.2). */
  readonly listMaxBytes: number;
  /** Most changes of the table's size in one block: 2 are enough for every peer (RFC 7541, 4.2). */
  readonly tableUpdatesMax: number;
}

/**
 * "broken" is a connection error of type COMPRESSION_ERROR. After "too large" the table is in step
 * with the peer's, but the fields are incomplete: refuse the stream.
 */
export type HpackResult = "ok" | "broken" | "too large";

/** Results of reading a string or a literal that are not classes of octets. */
const BROKEN = -1;
/** It is longer than what is left of scratch, or the list is too long with it. */
const TOO_LONG = -2;

/** The decoder of one connection. */
export class HpackDecoder {
  /** Why the last block was "broken", for the text of a GOAWAY. */
  fault = "";
  readonly #limits: HpackLimits;
  readonly #table: DynamicTable;
  readonly #integers = new IntegerReader();
  #end = 0;
  #listBytes = 0;
  #isTooLarge = false;
  /** The name of the literal that is being read. */
  #nameBytes = STATIC_BYTES;
  #nameStart = 0;
  #nameEnd = 0;
  #nameId = 0;

  constructor(limits: HpackLimits) {
    this.#limits = limits;
    this.#table = new DynamicTable(limits.tableMaxBytes);
  }

  /** Insertions and changes of size so far: equal numbers mean an equal table. */
  get revision(): number {
    return this.#table.revision;
  }

  /** Bytes in the dynamic table, as RFC 7541, 4.1 counts them. */
  get tableBytes(): number {
    return this.#table.sizeBytes;
  }

  /** Decodes the block from `start` up to `end` into `fields`, which it clears first. */
  decode(block: Buffer, start: number, end: number, fields: FieldList): HpackResult {
    fields.clear();
    this.#table.beginBlock();
    this.#integers.at = start;
    this.#end = end;
    this.#listBytes = 0;
    this.#isTooLarge = false;
    let isSound = this.#readTableUpdates(block);
    while (isSound && this.#integers.at < end) isSound = this.#readField(block, fields);
    if (isSound && !this.#isTooLarge) return "ok";
    fields.clear();
    return isSound ? "too large" : "broken";
  }

  /** Reads the changes of the table's size with which a block may begin (RFC 7541, 4.2 and 6.3). */
  #readTableUpdates(block: Buffer): boolean {
    let updates = 0;
    while (this.#integers.at < this.#end && ((block[this.#integers.at] ?? 0) & 0xe0) === 0x20) {
      if (++updates > this.#limits.tableUpdatesMax) return this.#fail("too many changes of the table's size");
      const bytes = this.#readInteger(block, 0x1f);
      if (bytes < 0) return false;
      if (!this.#table.setMaxBytes(bytes)) return this.#fail("a table larger than SETTINGS_HEADER_TABLE_SIZE");
    }
    return true;
  }

  #readField(block: Buffer, fields: FieldList): boolean {
    // Fields of a list that is too large are read for the sake of the table only.
    if (this.#isTooLarge) fields.clear();
    const octet = block[this.#integers.at] ?? 0;
    if (octet >= 0x80) return this.#readIndexed(block, fields);
    if (octet >= 0x40) return this.#readLiteral(block, fields, 0x3f, true);
    if (octet >= 0x20) return this.#fail("a change of the table's size after a field");
    return this.#readLiteral(block, fields, 0x0f, false);
  }

  #readIndexed(block: Buffer, fields: FieldList): boolean {
    const index = this.#readInteger(block, 0x7f);
    if (index <= 0) return index < 0 ? false : this.#fail("the index 0");
    if (index > STATIC_COUNT) {
      const entry = index - STATIC_COUNT - 1;
      if (entry >= this.#table.count) return this.#fail("an index beyond the table");
      if (this.#isInList(this.#table.entryBytes(entry))) this.#table.addTo(fields, entry);
      return true;
    }
    const start = STATIC_NAME_START[index] ?? 0;
    const valueStart = STATIC_VALUE_START[index] ?? 0;
    const end = STATIC_END[index] ?? 0;
    if (this.#isInList(end - start + FIELD_OVERHEAD_BYTES))
      fields.add(STATIC_BYTES, start, valueStart, STATIC_BYTES, valueStart, end, STATIC_NAME_ID[index] ?? 0);
    return true;
  }

  /** Counts a field of so many bytes; whether the list may have it. */
  #isInList(bytes: number): boolean {
    this.#listBytes += bytes;
    if (this.#listBytes > this.#limits.listMaxBytes) this.#isTooLarge = true;
    return !this.#isTooLarge;
  }

  #readLiteral(block: Buffer, fields: FieldList, prefix: number, isInserted: boolean): boolean {
    const start = this.#integers.at;
    const wasTooLarge = this.#isTooLarge;
    let result = this.#tryLiteral(block, fields, prefix, isInserted);
    if (result === TOO_LONG && !wasTooLarge) {
      // What does not fit into scratch does not fit into the list: once more, with scratch empty.
      this.#isTooLarge = true;
      fields.clear();
      this.#integers.at = start;
      result = this.#tryLiteral(block, fields, prefix, isInserted);
    }
    // Scratch is as long as the table.
    if (result === TOO_LONG && isInserted) this.#table.insertOversized();
    return result !== BROKEN;
  }

  #tryLiteral(block: Buffer, fields: FieldList, prefix: number, isInserted: boolean): number {
    const wasTooLarge = this.#isTooLarge;
    const index = this.#readInteger(block, prefix);
    if (index < 0) return BROKEN;
    const name = index === 0 ? this.#readName(block, fields) : this.#useName(index);
    if (name === BROKEN) return BROKEN;
    const start = fields.scratchUsed;
    const read = this.#readString(block, fields);
    if (read === BROKEN) return BROKEN;
    if (read === TOO_LONG || name === TOO_LONG) return TOO_LONG;
    const end = fields.scratchUsed;
    const bytes = this.#nameEnd - this.#nameStart + end - start + FIELD_OVERHEAD_BYTES;
    if (!this.#isInList(bytes) && !wasTooLarge) return TOO_LONG;
    const classes = hasBlankEdge(fields.scratch, start, end) ? read | ILLEGAL_IN_VALUE : read;
    const mark = markOf(this.#nameId, classes);
    fields.add(this.#nameBytes, this.#nameStart, this.#nameEnd, fields.scratch, start, end, mark);
    if (isInserted) this.#table.insertLast(fields);
    return 0;
  }

  /** Takes the name of an entry. */
  #useName(index: number): number {
    if (index <= STATIC_COUNT) {
      this.#nameBytes = STATIC_BYTES;
      this.#nameStart = STATIC_NAME_START[index] ?? 0;
      this.#nameEnd = STATIC_VALUE_START[index] ?? 0;
      this.#nameId = STATIC_NAME_ID[index] ?? 0;
      return 0;
    }
    const table = this.#table;
    const entry = index - STATIC_COUNT - 1;
    if (entry >= table.count) {
      this.#fail("an index beyond the table");
      return BROKEN;
    }
    this.#nameBytes = table.bytes;
    this.#nameStart = table.nameStart(entry);
    this.#nameEnd = table.nameEnd(entry);
    this.#nameId = nameIdOf(table.mark(entry));
    return 0;
  }

  /** Reads a name that is a string. */
  #readName(block: Buffer, fields: FieldList): number {
    const start = fields.scratchUsed;
    const read = this.#readString(block, fields);
    this.#nameBytes = fields.scratch;
    this.#nameStart = start;
    this.#nameEnd = fields.scratchUsed;
    if (read >= 0) this.#nameId = identifyName(fields.scratch, start, fields.scratchUsed);
    return read;
  }

  /**
   * Reads a string into scratch (RFC 7541, 5.2); the classes of its octets. One that is TOO_LONG is
   * skipped.
   */
  #readString(block: Buffer, fields: FieldList): number {
    const isHuffman = (block[this.#integers.at] ?? 0) >= 0x80;
    const length = this.#readInteger(block, 0x7f);
    if (length < 0) return BROKEN;
    const start = this.#integers.at;
    const end = start + length;
    if (end > this.#end) {
      this.#fail("a string beyond the block's end");
      return BROKEN;
    }
    this.#integers.at = end;
    const offset = fields.scratchUsed;
    const room = fields.scratchMaxBytes - offset;
    if (!isHuffman) {
      if (length > room) return TOO_LONG;
      for (let at = 0; at < length; at++) fields.scratch[offset + at] = block[start + at] ?? 0;
      fields.scratchUsed = offset + length;
      return classesOf(fields.scratch, offset, offset + length);
    }
    if (maxDecoded(length) > room) {
      const exact = huffmanLength(block, start, end);
      if (exact > room) return TOO_LONG;
    }
    const decoded = decodeHuffman(block, start, end, fields.scratch, offset);
    if (decoded < 0) {
      this.#fail("a string with invalid Huffman code");
      return BROKEN;
    }
    fields.scratchUsed = decoded >>> 2;
    return decoded & 3;
  }

  #readInteger(block: Buffer, prefix: number): number {
    const value = this.#integers.read(block, this.#end, prefix);
    if (value < 0) this.#fail("an integer that is cut off or too large");
    return value;
  }

  #fail(fault: string): boolean {
    this.fault = fault;
    return false;
  }
}
