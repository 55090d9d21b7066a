// Decodes header blocks (RFC 7541) into ranges of bytes.
import { FIELD_OVERHEAD_BYTES, type FieldList } from "./field-list.ts";
import { NO_ORIGIN, originOfPath } from "./field-origin.ts";
import { markOf, NAME_IN_SCRATCH, nameIdOf, VALUE_IN_SCRATCH } from "./field-mark.ts";
import { identifyName, NameId } from "./field-name.ts";
import { FieldTable } from "./field-table.ts";
import { HUFFMAN_SPARE_BYTES, maxDecoded } from "./huffman-decoder.ts";
import { RecentPath } from "./recent-path.ts";
import { BROKEN, copyBytes, StringReader } from "./string-reader.ts";

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

/** Returned instead of an offset when there is no space in the table or in scratch. */
const NO_PLACE = -2;

/** The decoder of one connection. */
export class HpackDecoder {
  readonly #limits: HpackLimits;
  readonly #table: FieldTable;
  readonly #string = new StringReader();
  readonly #recentPath = new RecentPath();
  #listBytes = 0;
  #isTooLarge = false;
  /** The name of the literal that is being read: in the table or in scratch. */
  #nameStart = 0;
  #nameEnd = 0;
  #nameId = 0;
  #isNameInScratch = false;
  /** It does not fit into scratch, nor into the table or the list. */
  #isNameTooLong = false;

  constructor(limits: HpackLimits) {
    this.#limits = limits;
    this.#table = new FieldTable(limits.tableMaxBytes);
  }

  /** Why the last block was "broken", for the text of a GOAWAY. */
  get fault(): string {
    return this.#string.fault;
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
      if (updates === this.#limits.tableUpdatesMax) return this.#string.fail("too many changes of the table's size");
      const bytes = this.#string.readInteger(block, at, end, 0x1f);
      if (bytes < 0) return BROKEN;
      if (!this.#table.setMaxBytes(bytes)) return this.#string.fail("a table larger than SETTINGS_HEADER_TABLE_SIZE");
      at = this.#string.integerEnd;
    }
    return at;
  }

  #readLongIndex(block: Buffer, at: number, end: number, fields: FieldList): number {
    const index = this.#string.readInteger(block, at, end, 0x7f);
    return index >= 0 && this.#addEntry(index, fields) ? this.#string.integerEnd : BROKEN;
  }

  /** Appends an entry of the table; false when it does not exist. */
  #addEntry(index: number, fields: FieldList): boolean {
    const { entries } = this.#table;
    const entry = this.#table.entryOf(index);
    if (entry < 0) {
      this.#string.fail("an index without an entry");
      return false;
    }
    const start = entries[entry] ?? 0;
    const valueStart = entries[entry + 1] ?? 0;
    const end = entries[entry + 2] ?? 0;
    if (this.#isInList(end - start, fields)) {
      const mark = entries[entry + 3] ?? 0;
      fields.add(start, valueStart, valueStart, end, mark, this.#table.originOf(index));
    }
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
    if (octet >= 0x20 && octet < 0x40) return this.#string.fail("a change of the table's size after a field");
    if (this.#isTooLarge) fields.scratchUsed = 0;
    const isInserted = octet >= 0x40;
    const at = this.#readName(block, start, end, isInserted ? 0x3f : 0x0f, fields);
    if (at < 0) return BROKEN;
    const after = this.#string.find(block, at, end);
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
      index = this.#string.readInteger(block, start, end, prefix);
      if (index < 0) return BROKEN;
      at = this.#string.integerEnd;
    }
    if (index === 0) return this.#readNewName(block, at, end, fields);
    const { entries } = this.#table;
    const entry = this.#table.entryOf(index);
    if (entry < 0) return this.#string.fail("an index without an entry");
    this.#nameStart = entries[entry] ?? 0;
    this.#nameEnd = entries[entry + 1] ?? 0;
    this.#nameId = nameIdOf(entries[entry + 3] ?? 0);
    this.#isNameInScratch = false;
    this.#isNameTooLong = false;
    return at;
  }

  #readNewName(block: Buffer, start: number, end: number, fields: FieldList): number {
    const after = this.#string.find(block, start, end);
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

  /** The offset at which the new entry is to be written; NO_PLACE when it is larger than the table. */
  #placeOfEntry(block: Buffer, fields: FieldList): number {
    const table = this.#table;
    const string = this.#string;
    const nameBytes = this.#nameEnd - this.#nameStart;
    if (!this.#isNameTooLong) {
      const place = table.reserve(nameBytes + maxDecoded(string.end - string.start) + HUFFMAN_SPARE_BYTES);
      if (place >= 0) return place;
    }
    const valueBytes = string.countBytes(block);
    if (valueBytes < 0) return BROKEN;
    const isInTable = !this.#isNameInScratch;
    if (isInTable) this.#moveNameToScratch(fields);
    const room = this.#isNameTooLong ? Number.POSITIVE_INFINITY : nameBytes + valueBytes;
    return table.makeRoom(room, fields) ? table.reserve(room + HUFFMAN_SPARE_BYTES) : NO_PLACE;
  }

  /** Moves the name of the literal away from an entry that may be evicted. */
  #moveNameToScratch(fields: FieldList): void {
    const length = this.#nameEnd - this.#nameStart;
    const { scratchUsed } = fields;
    copyBytes(this.#table.bytes, this.#nameStart, fields.scratch, scratchUsed, length);
    this.#nameStart = scratchUsed;
    this.#nameEnd = scratchUsed + length;
    fields.scratchUsed = this.#nameEnd;
    this.#isNameInScratch = true;
  }

  /** Writes the literal into the table, and appends it to the fields from there. */
  #insert(block: Buffer, place: number, fields: FieldList): boolean {
    const { bytes } = this.#table;
    const nameBytes = this.#nameEnd - this.#nameStart;
    copyBytes(this.#isNameInScratch ? fields.scratch : bytes, this.#nameStart, bytes, place, nameBytes);
    const valueStart = place + nameBytes;
    const end = this.#string.readInto(block, bytes, valueStart);
    if (end < 0) return false;
    const mark = markOf(this.#nameId, this.#string.classes);
    const origin = this.#table.insertAt(place, valueStart, end, mark);
    if (this.#isInList(end - place, fields)) fields.add(place, valueStart, valueStart, end, mark, origin);
    return true;
  }

  /** Appends a literal that is not in the table. */
  #addLiteral(block: Buffer, fields: FieldList): boolean {
    const isPath = this.#nameId === NameId.path;
    const valueStart = fields.scratchUsed;
    const end = isPath ? this.#readPath(block, fields) : this.#readIntoScratch(block, fields);
    if (end === BROKEN) return false;
    if (end === NO_PLACE || this.#isNameTooLong) {
      // Longer than the list may be.
      this.#isTooLarge = true;
      fields.count = 0;
      return true;
    }
    if (this.#isInList(this.#nameEnd - this.#nameStart + end - valueStart, fields)) {
      const flags = VALUE_IN_SCRATCH | (this.#isNameInScratch ? NAME_IN_SCRATCH : 0);
      const mark = markOf(this.#nameId, this.#string.classes) | flags;
      const origin = isPath ? originOfPath(this.#recentPath.serial) : NO_ORIGIN;
      fields.add(this.#nameStart, this.#nameEnd, valueStart, end, mark, origin);
    }
    return true;
  }

  /** Reads a :path into scratch, as #readIntoScratch() does. */
  #readPath(block: Buffer, fields: FieldList): number {
    const string = this.#string;
    const recent = this.#recentPath;
    const { scratch, scratchUsed, scratchMaxBytes } = fields;
    if (!recent.isSame(block, string.start, string.end, string.isHuffman)) {
      const end = this.#readIntoScratch(block, fields);
      if (end < 0) return end;
      const encoded = block.subarray(string.start, string.end);
      recent.keep(encoded, string.isHuffman, scratch.subarray(scratchUsed, end), string.classes);
      return end;
    }
    if (recent.length > scratchMaxBytes - scratchUsed) return NO_PLACE;
    copyBytes(recent.bytes, 0, scratch, scratchUsed, recent.length);
    string.classes = recent.classes;
    fields.scratchUsed = scratchUsed + recent.length;
    return fields.scratchUsed;
  }

  /** Reads the string into scratch; where it ends there, NO_PLACE when it does not fit. */
  #readIntoScratch(block: Buffer, fields: FieldList): number {
    const string = this.#string;
    const room = fields.scratchMaxBytes - fields.scratchUsed;
    if (string.maxBytes > room) {
      const bytes = string.countBytes(block);
      if (bytes < 0) return BROKEN;
      if (bytes > room) return NO_PLACE;
    }
    const end = string.readInto(block, fields.scratch, fields.scratchUsed);
    if (end >= 0) fields.scratchUsed = end;
    return end;
  }
}
