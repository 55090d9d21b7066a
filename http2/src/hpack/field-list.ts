// The decoded fields of one header block, as ranges of bytes; a string is made when it is read.
import { NAME_IN_SCRATCH, nameIdOf, VALUE_IN_SCRATCH } from "./field-mark.ts";
import { HUFFMAN_SPARE_BYTES } from "./huffman-decoder.ts";
import { STATIC_BYTES } from "./static-table.ts";

/** Bytes that each field counts in addition to its name and value (RFC 9113, 6.5.2; RFC 7541, 4.1). */
export const FIELD_OVERHEAD_BYTES = 32;

/** Numbers per field: start and end of the name, start and end of the value. */
const STRIDE = 4;

/** Fields of one block, valid until the next block is decoded into the same list. */
export class FieldList {
  /** Fields in the list. */
  count = 0;
  /** Blocks that were decoded into this list so far. */
  generation = 0;
  /** Holds what no table holds; longer than scratchMaxBytes by what decodeHuffman() needs. */
  readonly scratch: Buffer;
  readonly scratchMaxBytes: number;
  /** Bytes of `scratch` in use. */
  scratchUsed = 0;
  /** The mark of each field: see field-mark.ts. */
  readonly marks: Int32Array;
  /** The origin of each field: see field-origin.ts. */
  readonly origins: Int32Array;
  readonly #ranges: Int32Array;
  #table: Buffer = STATIC_BYTES;

  /** The limits are those of the decoders that fill this list. */
  constructor(limits: { readonly listMaxBytes: number; readonly tableMaxBytes: number }) {
    // The list, with names that became entries once more, and a name that becomes an entry.
    this.scratchMaxBytes = 2 * limits.listMaxBytes + limits.tableMaxBytes;
    this.scratch = Buffer.alloc(this.scratchMaxBytes + HUFFMAN_SPARE_BYTES);
    const fieldsMax = Math.floor(limits.listMaxBytes / FIELD_OVERHEAD_BYTES) + 1;
    this.#ranges = new Int32Array(STRIDE * fieldsMax);
    this.marks = new Int32Array(fieldsMax);
    this.origins = new Int32Array(fieldsMax);
  }

  /** The name of a field; bytes above 127 as Latin-1. */
  name(index: number): string {
    return this.nameBytes(index).toString("latin1", this.nameStart(index), this.nameEnd(index));
  }

  /** The value of a field; bytes above 127 as Latin-1. */
  value(index: number): string {
    return this.valueBytes(index).toString("latin1", this.valueStart(index), this.valueEnd(index));
  }

  /** The NameId of the name. */
  nameId(index: number): number {
    return nameIdOf(this.marks[index] ?? 0);
  }

  /** The first field with this NameId; −1 when there is none. */
  indexOf(nameId: number): number {
    for (let index = 0; index < this.count; index++) if (this.nameId(index) === nameId) return index;
    return -1;
  }

  /** The buffer of which the name is a range. */
  nameBytes(index: number): Buffer {
    return ((this.marks[index] ?? 0) & NAME_IN_SCRATCH) === 0 ? this.#table : this.scratch;
  }

  nameStart(index: number): number {
    return this.#ranges[index * STRIDE] ?? 0;
  }

  nameEnd(index: number): number {
    return this.#ranges[index * STRIDE + 1] ?? 0;
  }

  /** The buffer of which the value is a range. */
  valueBytes(index: number): Buffer {
    return ((this.marks[index] ?? 0) & VALUE_IN_SCRATCH) === 0 ? this.#table : this.scratch;
  }

  valueStart(index: number): number {
    return this.#ranges[index * STRIDE + 2] ?? 0;
  }

  valueEnd(index: number): number {
    return this.#ranges[index * STRIDE + 3] ?? 0;
  }

  /** Empties the list; fields that follow are in this table, if not in scratch. */
  clear(table: Buffer): void {
    this.count = 0;
    this.scratchUsed = 0;
    this.generation++;
    this.#table = table;
  }

  /** The table has moved here, with every byte that the fields refer to. */
  moveTable(table: Buffer): void {
    this.#table = table;
  }

  /** Appends a field; the caller keeps to listMaxBytes, and one field beyond it. */
  add(nameStart: number, nameEnd: number, valueStart: number, valueEnd: number, mark: number, origin: number): void {
    const index = this.count++;
    const at = index * STRIDE;
    const ranges = this.#ranges;
    ranges[at] = nameStart;
    ranges[at + 1] = nameEnd;
    ranges[at + 2] = valueStart;
    ranges[at + 3] = valueEnd;
    this.marks[index] = mark;
    this.origins[index] = origin;
  }

  /** Copies into `scratch` what is beyond the static table, before it is written over. */
  detach(): void {
    for (let index = 0; index < this.count; index++) {
      const mark = this.marks[index] ?? 0;
      if ((mark & NAME_IN_SCRATCH) === 0) this.#detach(index, index * STRIDE, NAME_IN_SCRATCH);
      if ((mark & VALUE_IN_SCRATCH) === 0) this.#detach(index, index * STRIDE + 2, VALUE_IN_SCRATCH);
    }
  }

  #detach(index: number, at: number, flag: number): void {
    const start = this.#ranges[at] ?? 0;
    const end = this.#ranges[at + 1] ?? 0;
    if (end <= STATIC_BYTES.length) return;
    this.#table.copy(this.scratch, this.scratchUsed, start, end);
    this.#ranges[at] = this.scratchUsed;
    this.scratchUsed += end - start;
    this.#ranges[at + 1] = this.scratchUsed;
    this.marks[index] = (this.marks[index] ?? 0) | flag;
  }
}
