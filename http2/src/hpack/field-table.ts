// The static and the dynamic table of a decoder in one space of indexes (RFC 7541, 2.3 and 4), the
// dynamic one as a ring of bytes.
import { FIELD_OVERHEAD_BYTES, type FieldList } from "./field-list.ts";
import { NO_ORIGIN, originOfStatic } from "./field-origin.ts";
import { STATIC_BYTES, STATIC_COUNT, STATIC_ENTRIES } from "./static-table.ts";

/** Numbers per entry: where the name starts, where the value starts, where it ends, and the mark. */
const STRIDE = 4;

/** The offsets at which the entries and the bytes of the dynamic table begin. */
const FIRST_ENTRY = STRIDE * (STATIC_COUNT + 1);
const RING_START = STATIC_BYTES.length;

/**
 * The table. Entries are contiguous: one that does not fit at the end of the ring begins at its
 * start. The ring is twice as long as the table, so that a new entry never meets a live one.
 */
export class FieldTable {
  /** Insertions and changes of size so far: equal numbers mean an equal table. */
  revision = 0;
  /** Names and values: the static table, then the ring. Without a ring until the first entry. */
  bytes = STATIC_BYTES;
  /** Four numbers per entry; entryOf() finds them. */
  entries = STATIC_ENTRIES;
  /** Bytes in the dynamic table, as RFC 7541, 4.1 counts them. */
  sizeBytes = 0;
  /** Entries inserted so far: the origin of the latest. */
  #inserted = 0;
  readonly #limitBytes: number;
  #maxBytes: number;
  #count = 0;
  /** Entries that the ring holds at most, less one: a number of ones. */
  #mask = 0;
  /** The position of the next entry, among the entries and in the bytes. */
  #next = 0;
  #nextByte = RING_START;
  #ringEnd = RING_START;
  /** Bytes of the ring from `nextByte` on that are neither live nor referred to by the block's fields. */
  #freeBytes = 0;

  /** `limitBytes` is the most that setMaxBytes() accepts, and the size at first. */
  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
    this.#maxBytes = limitBytes;
  }

  /** The offset in `entries` of the numbers of the entry with this index; −1 when there is none. */
  entryOf(index: number): number {
    if (index <= STATIC_COUNT) return index === 0 ? -1 : index * STRIDE;
    const back = index - STATIC_COUNT;
    return back > this.#count ? -1 : FIRST_ENTRY + ((this.#next - back) & this.#mask) * STRIDE;
  }

  /** The origin of the entry with this index, which exists (field-origin.ts). */
  originOf(index: number): number {
    return index <= STATIC_COUNT ? originOfStatic(index) : this.#inserted + 1 - (index - STATIC_COUNT);
  }

  /** Changes the size; false when it is beyond the limit. */
  setMaxBytes(bytes: number): boolean {
    if (bytes > this.#limitBytes) return false;
    this.revision++;
    this.#maxBytes = bytes;
    this.#evictTo(bytes);
    return true;
  }

  /** Begins a block: no field refers to this table any more. */
  beginBlock(): void {
    this.#freeBytes = this.#ringEnd - RING_START - this.#spanBytes();
  }

  /**
   * Returns the offset at which so many bytes can be written, to become the next entry by insertAt();
   * −1 when there is no room next to what is live and what fields refer to.
   */
  reserve(length: number): number {
    const toEnd = this.#ringEnd - this.#nextByte;
    if (length <= toEnd) return length <= this.#freeBytes ? this.#nextByte : -1;
    return toEnd + length <= this.#freeBytes ? RING_START : -1;
  }

  /**
   * Makes room for an entry with so many bytes of name and value, so that reserve() finds it: evicts
   * what it replaces (RFC 7541, 4.4). An entry that is larger than the table empties it: false.
   */
  makeRoom(length: number, fields: FieldList): boolean {
    const sizeBytes = length + FIELD_OVERHEAD_BYTES;
    if (sizeBytes > this.#maxBytes) {
      this.revision++;
      this.#evictTo(0);
      return false;
    }
    fields.detach();
    if (this.#ringEnd === RING_START) this.#allocate(fields);
    this.#evictTo(this.#maxBytes - sizeBytes);
    this.beginBlock();
    return true;
  }

  /**
   * Inserts the entry whose bytes were written from `start` up to `end`, where reserve() said;
   * its origin. One that is larger than the table empties it (RFC 7541, 4.4): NO_ORIGIN.
   */
  insertAt(start: number, valueStart: number, end: number, mark: number): number {
    this.revision++;
    // Also one that is not inserted: its field refers to the bytes.
    this.#freeBytes -= end - start + (start < this.#nextByte ? this.#ringEnd - this.#nextByte : 0);
    const sizeBytes = end - start + FIELD_OVERHEAD_BYTES;
    this.#evictTo(Math.max(0, this.#maxBytes - sizeBytes));
    this.#nextByte = end;
    if (sizeBytes > this.#maxBytes) return NO_ORIGIN;
    const entry = FIRST_ENTRY + this.#next * STRIDE;
    const { entries } = this;
    entries[entry] = start;
    entries[entry + 1] = valueStart;
    entries[entry + 2] = end;
    entries[entry + 3] = mark;
    this.#next = (this.#next + 1) & this.#mask;
    this.#count++;
    this.sizeBytes += sizeBytes;
    return ++this.#inserted;
  }

  #allocate(fields: FieldList): void {
    this.bytes = Buffer.alloc(RING_START + 2 * this.#limitBytes);
    STATIC_BYTES.copy(this.bytes);
    this.#ringEnd = this.bytes.length;
    const entriesMax = 2 ** Math.ceil(Math.log2(this.#limitBytes / FIELD_OVERHEAD_BYTES));
    this.entries = new Int32Array(FIRST_ENTRY + STRIDE * entriesMax);
    this.entries.set(STATIC_ENTRIES);
    this.#mask = entriesMax - 1;
    fields.moveTable(this.bytes);
  }

  #evictTo(sizeBytes: number): void {
    while (this.sizeBytes > sizeBytes) {
      const oldest = this.#oldestEntry();
      this.sizeBytes -= (this.entries[oldest + 2] ?? 0) - (this.entries[oldest] ?? 0) + FIELD_OVERHEAD_BYTES;
      this.#count--;
    }
  }

  /** Bytes of the ring from the oldest entry up to the next one. */
  #spanBytes(): number {
    if (this.#count === 0) return 0;
    const span = this.#nextByte - (this.entries[this.#oldestEntry()] ?? 0);
    return span < 0 ? span + this.#ringEnd - RING_START : span;
  }

  #oldestEntry(): number {
    return FIRST_ENTRY + ((this.#next - this.#count) & this.#mask) * STRIDE;
  }
}
