// The dynamic table of a decoder (RFC 7541, 2.3.2 and 4) as a ring of bytes.
import { FIELD_OVERHEAD_BYTES, type FieldList } from "./field-list.ts";

/** Numbers per entry: where it starts, the lengths of its name and value, and the field's mark. */
const STRIDE = 4;

const NO_BYTES = Buffer.alloc(0);

/**
 * The table. Entries are contiguous: one that does not fit at the end of the ring begins at its
 * start. The ring is twice as long as the table, so that a new entry never meets a live one.
 */
export class DynamicTable {
  /** Insertions and changes of size so far: equal numbers mean an equal table. */
  revision = 0;
  /** Entries in the table. */
  count = 0;
  /** Names and values; without room until the first entry. */
  bytes = NO_BYTES;
  readonly #limitBytes: number;
  #maxBytes: number;
  #sizeBytes = 0;
  #entries = new Int32Array(0);
  /** Entries at most, less one: a number of ones. */
  #mask = 0;
  /** Where the next entry goes, among the entries and in the bytes. */
  #next = 0;
  #nextByte = 0;
  /** Bytes from `nextByte` on to which no field of the present block refers. */
  #unreferencedBytes = 0;

  /** `limitBytes` is the most that setMaxBytes() accepts, and the size at first. */
  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
    this.#maxBytes = limitBytes;
  }

  /** Bytes in the table, as RFC 7541, 4.1 counts them. */
  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  /** Changes the size; false when it is beyond the limit. */
  setMaxBytes(bytes: number): boolean {
    if (bytes > this.#limitBytes) return false;
    this.revision++;
    this.#maxBytes = bytes;
    this.#evictTo(bytes);
    return true;
  }

  /** Begins a block: fields of the block before are not referred to any more. */
  beginBlock(): void {
    this.#unreferencedBytes = this.bytes.length - this.#spanBytes();
  }

  /** Appends entry `index`, counted from 0 for the newest, to the fields. */
  addTo(fields: FieldList, index: number): void {
    const entry = this.#entryAt(index);
    const entries = this.#entries;
    const start = entries[entry] ?? 0;
    const valueStart = start + (entries[entry + 1] ?? 0);
    const { bytes } = this;
    fields.add(
      bytes,
      start,
      valueStart,
      bytes,
      valueStart,
      valueStart + (entries[entry + 2] ?? 0),
      entries[entry + 3] ?? 0,
    );
  }

  /** The bytes that entry `index` counts. */
  entryBytes(index: number): number {
    const entry = this.#entryAt(index);
    return (this.#entries[entry + 1] ?? 0) + (this.#entries[entry + 2] ?? 0) + FIELD_OVERHEAD_BYTES;
  }

  /** Where the name of entry `index` starts in `bytes`. */
  nameStart(index: number): number {
    return this.#entries[this.#entryAt(index)] ?? 0;
  }

  /** Where the name of entry `index` ends in `bytes`. */
  nameEnd(index: number): number {
    const entry = this.#entryAt(index);
    return (this.#entries[entry] ?? 0) + (this.#entries[entry + 1] ?? 0);
  }

  /** The mark of entry `index`. */
  mark(index: number): number {
    return this.#entries[this.#entryAt(index) + 3] ?? 0;
  }

  /** Inserts the last of the fields (RFC 7541, 4.4). One that is larger than the table empties it. */
  insertLast(fields: FieldList): void {
    this.revision++;
    const field = fields.count - 1;
    const nameLength = fields.nameEnd(field) - fields.nameStart(field);
    const valueLength = fields.valueEnd(field) - fields.valueStart(field);
    const length = nameLength + valueLength;
    if (length + FIELD_OVERHEAD_BYTES > this.#maxBytes) {
      this.#evictTo(0);
      return;
    }
    if (this.bytes.length === 0) this.#allocate();
    this.#evictTo(this.#maxBytes - length - FIELD_OVERHEAD_BYTES);
    const start = this.#reserve(length, fields);
    copy(fields.nameBytes(field), fields.nameStart(field), this.bytes, start, nameLength);
    copy(fields.valueBytes(field), fields.valueStart(field), this.bytes, start + nameLength, valueLength);
    const entry = this.#next * STRIDE;
    this.#entries[entry] = start;
    this.#entries[entry + 1] = nameLength;
    this.#entries[entry + 2] = valueLength;
    this.#entries[entry + 3] = fields.mark(field);
    this.#next = (this.#next + 1) & this.#mask;
    this.count++;
    this.#sizeBytes += length + FIELD_OVERHEAD_BYTES;
  }

  /** Empties the table because of an entry that is larger than it. */
  insertOversized(): void {
    this.revision++;
    this.#evictTo(0);
  }

  #allocate(): void {
    this.bytes = Buffer.alloc(2 * this.#limitBytes);
    const entriesMax = 2 ** Math.ceil(Math.log2(Math.max(1, this.#limitBytes / FIELD_OVERHEAD_BYTES)));
    this.#entries = new Int32Array(STRIDE * entriesMax);
    this.#mask = entriesMax - 1;
    this.#unreferencedBytes = this.bytes.length;
  }

  #evictTo(bytes: number): void {
    while (this.#sizeBytes > bytes) {
      this.#sizeBytes -= this.entryBytes(this.count - 1);
      this.count--;
    }
  }

  /** Finds room for so many bytes, and copies fields of the block away that the room was used by. */
  #reserve(length: number, fields: FieldList): number {
    const toEnd = this.bytes.length - this.#nextByte;
    const isAtEnd = length <= toEnd;
    const skipped = isAtEnd ? 0 : toEnd;
    if (skipped + length > this.#unreferencedBytes) {
      fields.detachFrom(this.bytes);
      this.#unreferencedBytes = this.bytes.length - this.#spanBytes();
    }
    this.#unreferencedBytes -= skipped + length;
    const start = isAtEnd ? this.#nextByte : 0;
    this.#nextByte = start + length;
    return start;
  }

  /** Bytes of the ring from the oldest entry up to the next one. */
  #spanBytes(): number {
    if (this.count === 0) return 0;
    const span = this.#nextByte - this.nameStart(this.count - 1);
    return span < 0 ? span + this.bytes.length : span;
  }

  #entryAt(index: number): number {
    return ((this.#next - 1 - index) & this.#mask) * STRIDE;
  }
}

/** Copies so many bytes; a loop, because a call of native code costs more than a short copy. */
function copy(from: Buffer, start: number, to: Buffer, offset: number, length: number): void {
  for (let at = 0; at < length; at++) to[offset + at] = from[start + at] ?? 0;
}
