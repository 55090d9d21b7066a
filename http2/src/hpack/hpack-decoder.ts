// Decodes header blocks (RFC 7541) into ranges of bytes.
import { FIELD_OVERHEAD_BYTES, type FieldList } from "./field-list.ts";
import { markOf, NAME_IN_SCRATCH, nameIdOf, VALUE_IN_SCRATCH } from "./field-mark.ts";
import { identifyName } from "./field-name.ts";
import { FieldTable } from "./field-table.ts";
import { decodeHuffman, HUFFMAN_SPARE_BYTES, huffmanLength, maxDecoded } from "./huffman-decoder.ts";
import { IntegerReader } from "./integer-reader.ts";
import { classesOf, hasBlankEdge, ILLEGAL_IN_VALUE } from "./octet-class.ts";

/** Bounds of one connection's decoder. */
export interface HpackLimits {
  /**
   * The SETTINGS_HEADER_TABLE_SIZE that was announced, in bytes. Less than 4096 is for peers that
   * know it before their first block.
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

/** What is read at a place of a block when it is broken there. */
const BROKEN = -1;

/** Where something is that has no place in the table or in scratch. */
const NO_PLACE = -2;

const BAD_HUFFMAN = "a string with invalid Huffman code";

/** The decoder of one connection. */
export class HpackDecoder {
  /** Why the last block was "broken", for the text of a GOAWAY. */
  fault = "";
  readonly #limits: HpackLimits;
  readonly #table: FieldTable;
  readonly #integers = new IntegerReader();
  #listBytes = 0;
  #isTooLarge = false;
  /** The name of the literal that is being read: in the table or in scratch. */
  #nameStart = 0;
  #nameEnd = 0;
  #nameId = 0;
  #isNameInScratch = false;
  /** It does not fit into scratch, nor into the table or the list. */
  #isNameTooLong = false;
  /** The string that is being read, encoded. */
  #stringStart = 0;
  #stringEnd = 0;
  #isHuffman = false;
  /** The classes of the string that was read last. */
  #classes = 0;

  constructor(limits: HpackLimits) {
    this.#limits = limits;
    this.#table = new FieldTable(limits.tableMaxBytes);
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
    const table = this.#table;
    this.#begin(fields);
    let at = this.#readTableUpdates(block, start, end);
    while (at >= 0 && at < end) {
      const octet = block[at] ?? 0;
      if (octet < 0x80) at = this.#readLiteral(block, at, end, fields);
      else if (octet === 0xff) at = this.#readLongIndex(block, at, end, fields);
      else at = this.#addEntry(octet & 0x7f, fields) ? at + 1 : BROKEN;
    }
    if (at >= 0 && !this.#isTooLarge) return "ok";
    fields.clear(table.bytes);
    return at >= 0 ? "too large" : "broken";
  }

  #begin(fields: FieldList): void {
    fields.clear(this.#table.bytes);
    this.#table.beginBlock();
    this.#listBytes = 0;
    this.#isTooLarge = false;
  }

  /** Reads the changes of the table's size with which a block may begin (RFC 7541, 4.2 and 6.3). */
  #readTableUpdates(block: Buffer, start: number, end: number): number {
    let at = start;
    for (let updates = 0; at < end && ((block[at] ?? 0) & 0xe0) === 0x20; updates++) {
      if (updates === this.#limits.tableUpdatesMax) return this.#fail("too many changes of the table's size");
      const bytes = this.#readInteger(block, at, end, 0x1f);
      if (bytes < 0) return BROKEN;
      if (!this.#table.setMaxBytes(bytes)) return this.#fail("a table larger than SETTINGS_HEADER_TABLE_SIZE");
      at = this.#integers.at;
    }
    return at;
  }

  #readLongIndex(block: Buffer, at: number, end: number, fields: FieldList): number {
    const index = this.#readInteger(block, at, end, 0x7f);
    return index >= 0 && this.#addEntry(index, fields) ? this.#integers.at : BROKEN;
  }

  /** Appends an entry of the table; false when it does not exist. */
  #addEntry(index: number, fields: FieldList): boolean {
    const { entries } = this.#table;
    const entry = this.#table.entryOf(index);
    if (entry < 0) {
      this.#fail("an index without an entry");
      return false;
    }
    const start = entries[entry] ?? 0;
    const valueStart = entries[entry + 1] ?? 0;
    const end = entries[entry + 2] ?? 0;
    if (this.#isInList(end - start, fields)) fields.add(start, valueStart, valueStart, end, entries[entry + 3] ?? 0);
    return true;
  }

  /** Counts a field whose name and value have so many bytes; whether the list may have it. */
  #isInList(bytes: number, fields: FieldList): boolean {
    this.#listBytes += bytes + FIELD_OVERHEAD_BYTES;
    if (this.#listBytes <= this.#limits.listMaxBytes) return true;
    this.#isTooLarge = true;
    fields.count = 0;
    return false;
  }

  /** Reads a literal (RFC 7541, 6.2); where it ends. */
  #readLiteral(block: Buffer, start: number, end: number, fields: FieldList): number {
    const octet = block[start] ?? 0;
    if (octet >= 0x20 && octet < 0x40) return this.#fail("a change of the table's size after a field");
    if (this.#isTooLarge) fields.scratchUsed = 0;
    const isInserted = octet >= 0x40;
    const at = this.#readName(block, start, end, isInserted ? 0x3f : 0x0f, fields);
    if (at < 0) return BROKEN;
    const after = this.#findString(block, at, end);
    if (after < 0) return BROKEN;
    const place = isInserted ? this.#placeOfEntry(block, fields) : NO_PLACE;
    if (place === BROKEN) return BROKEN;
    const isSound = place === NO_PLACE ? this.#addLiteral(block, fields) : this.#insert(block, place, fields);
    return isSound ? after : BROKEN;
  }

  /** Reads the name of a literal; where its value begins. */
  #readName(block: Buffer, start: number, end: number, prefix: number, fields: FieldList): number {
    let index = (block[start] ?? 0) & prefix;
    let at = start + 1;
    if (index === prefix) {
      index = this.#readInteger(block, start, end, prefix);
      if (index < 0) return BROKEN;
      at = this.#integers.at;
    }
    if (index === 0) return this.#readNewName(block, at, end, fields);
    const { entries } = this.#table;
    const entry = this.#table.entryOf(index);
    if (entry < 0) return this.#fail("an index without an entry");
    this.#nameStart = entries[entry] ?? 0;
    this.#nameEnd = entries[entry + 1] ?? 0;
    this.#nameId = nameIdOf(entries[entry + 3] ?? 0);
    this.#isNameInScratch = false;
    this.#isNameTooLong = false;
    return at;
  }

  #readNewName(block: Buffer, start: number, end: number, fields: FieldList): number {
    const after = this.#findString(block, start, end);
    if (after < 0) return BROKEN;
    const { scratch, scratchUsed } = fields;
    const nameEnd = this.#readIntoScratch(block, fields);
    if (nameEnd === BROKEN) return BROKEN;
    this.#isNameInScratch = true;
    this.#isNameTooLong = nameEnd === NO_PLACE;
    if (nameEnd === NO_PLACE) return after;
    this.#nameStart = scratchUsed;
    this.#nameEnd = nameEnd;
    this.#nameId = identifyName(scratch, scratchUsed, nameEnd);
    return after;
  }

  /** Finds the string that begins at `start` (RFC 7541, 5.2); where it ends. */
  #findString(block: Buffer, start: number, end: number): number {
    const octet = start < end ? (block[start] ?? 0) : 0x7f;
    let length = octet & 0x7f;
    let at = start + 1;
    if (length === 0x7f) {
      length = this.#readInteger(block, start, end, 0x7f);
      if (length < 0) return BROKEN;
      at = this.#integers.at;
    }
    if (length > end - at) return this.#fail("a string beyond the block's end");
    this.#isHuffman = octet >= 0x80;
    this.#stringStart = at;
    this.#stringEnd = at + length;
    return this.#stringEnd;
  }

  /** Where the new entry is to be written; NO_PLACE when it is larger than the table. */
  #placeOfEntry(block: Buffer, fields: FieldList): number {
    const table = this.#table;
    const encodedBytes = this.#stringEnd - this.#stringStart;
    const nameBytes = this.#nameEnd - this.#nameStart;
    if (!this.#isNameTooLong) {
      const place = table.reserve(nameBytes + maxDecoded(encodedBytes) + HUFFMAN_SPARE_BYTES);
      if (place >= 0) return place;
    }
    const valueBytes = this.#isHuffman ? huffmanLength(block, this.#stringStart, this.#stringEnd) : encodedBytes;
    if (valueBytes < 0) return this.#fail(BAD_HUFFMAN);
    const isInTable = !this.#isNameInScratch;
    if (isInTable) this.#moveNameToScratch(fields);
    const room = this.#isNameTooLong ? Number.POSITIVE_INFINITY : nameBytes + valueBytes;
    return table.makeRoom(room, fields) ? table.reserve(room + HUFFMAN_SPARE_BYTES) : NO_PLACE;
  }

  /** Moves the name of the literal away from an entry that may be evicted. */
  #moveNameToScratch(fields: FieldList): void {
    const length = this.#nameEnd - this.#nameStart;
    const { scratchUsed } = fields;
    copy(this.#table.bytes, this.#nameStart, fields.scratch, scratchUsed, length);
    this.#nameStart = scratchUsed;
    this.#nameEnd = scratchUsed + length;
    fields.scratchUsed = this.#nameEnd;
    this.#isNameInScratch = true;
  }

  /** Writes the literal into the table, and appends it to the fields from there. */
  #insert(block: Buffer, place: number, fields: FieldList): boolean {
    const { bytes } = this.#table;
    const nameBytes = this.#nameEnd - this.#nameStart;
    copy(this.#isNameInScratch ? fields.scratch : bytes, this.#nameStart, bytes, place, nameBytes);
    const valueStart = place + nameBytes;
    const end = this.#readInto(block, bytes, valueStart);
    if (end < 0) return false;
    const mark = markOf(this.#nameId, this.#classes);
    this.#table.insertAt(place, valueStart, end, mark);
    if (this.#isInList(end - place, fields)) fields.add(place, valueStart, valueStart, end, mark);
    return true;
  }

  /** Appends a literal that is not in the table. */
  #addLiteral(block: Buffer, fields: FieldList): boolean {
    const valueStart = fields.scratchUsed;
    const end = this.#readIntoScratch(block, fields);
    if (end === BROKEN) return false;
    if (end === NO_PLACE || this.#isNameTooLong) {
      // Longer than the list may be.
      this.#isTooLarge = true;
      fields.count = 0;
      return true;
    }
    if (this.#isInList(this.#nameEnd - this.#nameStart + end - valueStart, fields)) {
      const flags = VALUE_IN_SCRATCH | (this.#isNameInScratch ? NAME_IN_SCRATCH : 0);
      fields.add(this.#nameStart, this.#nameEnd, valueStart, end, markOf(this.#nameId, this.#classes) | flags);
    }
    return true;
  }

  /** Reads the string into scratch; where it ends there, NO_PLACE when it does not fit. */
  #readIntoScratch(block: Buffer, fields: FieldList): number {
    const encodedBytes = this.#stringEnd - this.#stringStart;
    const room = fields.scratchMaxBytes - fields.scratchUsed;
    if ((this.#isHuffman ? maxDecoded(encodedBytes) : encodedBytes) > room) {
      const bytes = this.#isHuffman ? huffmanLength(block, this.#stringStart, this.#stringEnd) : encodedBytes;
      if (bytes < 0) return this.#fail(BAD_HUFFMAN);
      if (bytes > room) return NO_PLACE;
    }
    const end = this.#readInto(block, fields.scratch, fields.scratchUsed);
    if (end >= 0) fields.scratchUsed = end;
    return end;
  }

  /** Reads the string into `target`, which has room for it; where it ends there. */
  #readInto(block: Buffer, target: Buffer, offset: number): number {
    let end: number;
    if (this.#isHuffman) {
      const decoded = decodeHuffman(block, this.#stringStart, this.#stringEnd, target, offset);
      if (decoded < 0) return this.#fail(BAD_HUFFMAN);
      end = decoded >>> 2;
      this.#classes = decoded & 3;
    } else {
      end = offset + this.#stringEnd - this.#stringStart;
      copy(block, this.#stringStart, target, offset, end - offset);
      this.#classes = classesOf(target, offset, end);
    }
    if (hasBlankEdge(target, offset, end)) this.#classes |= ILLEGAL_IN_VALUE;
    return end;
  }

  #readInteger(block: Buffer, start: number, end: number, prefix: number): number {
    this.#integers.at = start;
    const value = this.#integers.read(block, end, prefix);
    return value < 0 ? this.#fail("an integer that is cut off or too large") : value;
  }

  #fail(fault: string): number {
    this.fault = fault;
    return BROKEN;
  }
}

/** Copies so many bytes; a loop, because a call of native code costs more than a short copy. */
function copy(from: Buffer, start: number, to: Buffer, offset: number, length: number): void {
  for (let at = 0; at < length; at++) to[offset + at] = from[start + at] ?? 0;
}
