// The decoded fields of one header block, as ranges of bytes; strings are made for who asks.

/** What each field counts beyond name and value, in bytes (RFC 9113, 6.5.2; RFC 7541, 4.1). */
export const FIELD_OVERHEAD_BYTES = 32;

/** Numbers per field: start and end of the name, start and end of the value, and the mark. */
const STRIDE = 5;

/** A mark: the NameId, above it the classes of the value's octets (octet-class.ts). */
const NAME_ID_MASK = 0xff;
const CLASS_SHIFT = 8;

const NO_BYTES = Buffer.alloc(0);

/** What is known of a field since its octets were received: kept in the dynamic table, too. */
export function markOf(nameId: number, valueClasses: number): number {
  return nameId | (valueClasses << CLASS_SHIFT);
}

/** The NameId in a mark. */
export function nameIdOf(mark: number): number {
  return mark & NAME_ID_MASK;
}

/** Fields of one block, valid until the next block is decoded into the same list. */
export class FieldList {
  /** Fields in the list. */
  count = 0;
  /** Blocks that were decoded into this list so far. */
  generation = 0;
  /** Holds what no table holds; one byte longer than scratchMaxBytes, as decodeHuffman() needs. */
  readonly scratch: Buffer;
  readonly scratchMaxBytes: number;
  /** Bytes of `scratch` in use. */
  scratchUsed = 0;
  readonly #numbers: Int32Array;
  readonly #nameBytes: Buffer[];
  readonly #valueBytes: Buffer[];

  /** The limits are those of the decoders that fill this list. */
  constructor(limits: { readonly listMaxBytes: number; readonly tableMaxBytes: number }) {
    this.scratchMaxBytes = Math.max(limits.listMaxBytes, limits.tableMaxBytes);
    this.scratch = Buffer.alloc(this.scratchMaxBytes + 1);
    const fieldsMax = Math.floor(limits.listMaxBytes / FIELD_OVERHEAD_BYTES) + 1;
    this.#numbers = new Int32Array(STRIDE * fieldsMax);
    this.#nameBytes = Array.from({ length: fieldsMax }, () => NO_BYTES);
    this.#valueBytes = Array.from({ length: fieldsMax }, () => NO_BYTES);
  }

  /** The name of a field; bytes above 127 as Latin-1. */
  name(index: number): string {
    return this.nameBytes(index).latin1Slice(this.nameStart(index), this.nameEnd(index));
  }

  /** The value of a field; bytes above 127 as Latin-1. */
  value(index: number): string {
    return this.valueBytes(index).latin1Slice(this.valueStart(index), this.valueEnd(index));
  }

  /** What the name is: a NameId. */
  nameId(index: number): number {
    return nameIdOf(this.mark(index));
  }

  /** The first field with this NameId; −1 when there is none. */
  indexOf(nameId: number): number {
    for (let index = 0; index < this.count; index++) if (this.nameId(index) === nameId) return index;
    return -1;
  }

  /** Classes of the value's octets: ILLEGAL_IN_VALUE, NOT_VISIBLE. */
  valueClasses(index: number): number {
    return this.mark(index) >>> CLASS_SHIFT;
  }

  /** What the name is a range of. */
  nameBytes(index: number): Buffer {
    return this.#nameBytes[index] ?? NO_BYTES;
  }

  nameStart(index: number): number {
    return this.#numbers[index * STRIDE] ?? 0;
  }

  nameEnd(index: number): number {
    return this.#numbers[index * STRIDE + 1] ?? 0;
  }

  /** What the value is a range of. */
  valueBytes(index: number): Buffer {
    return this.#valueBytes[index] ?? NO_BYTES;
  }

  valueStart(index: number): number {
    return this.#numbers[index * STRIDE + 2] ?? 0;
  }

  valueEnd(index: number): number {
    return this.#numbers[index * STRIDE + 3] ?? 0;
  }

  /** Empties the list. */
  clear(): void {
    this.count = 0;
    this.scratchUsed = 0;
    this.generation++;
  }

  /** Appends a field; the caller keeps to listMaxBytes. */
  add(
    nameBytes: Buffer,
    nameStart: number,
    nameEnd: number,
    valueBytes: Buffer,
    valueStart: number,
    valueEnd: number,
    mark: number,
  ): void {
    const index = this.count++;
    const numbers = this.#numbers;
    const at = index * STRIDE;
    numbers[at] = nameStart;
    numbers[at + 1] = nameEnd;
    numbers[at + 2] = valueStart;
    numbers[at + 3] = valueEnd;
    numbers[at + 4] = mark;
    this.#nameBytes[index] = nameBytes;
    this.#valueBytes[index] = valueBytes;
  }

  /** What is known of a field: see markOf(). */
  mark(index: number): number {
    return this.#numbers[index * STRIDE + 4] ?? 0;
  }

  /** Copies into `scratch` what is in `bytes`, which are about to be written over. */
  detachFrom(bytes: Buffer): void {
    for (let index = 0; index < this.count; index++) {
      if (this.#nameBytes[index] === bytes) {
        this.#moveToScratch(bytes, index * STRIDE);
        this.#nameBytes[index] = this.scratch;
      }
      if (this.#valueBytes[index] === bytes) {
        this.#moveToScratch(bytes, index * STRIDE + 2);
        this.#valueBytes[index] = this.scratch;
      }
    }
  }

  #moveToScratch(bytes: Buffer, at: number): void {
    const start = this.#numbers[at] ?? 0;
    const end = this.#numbers[at + 1] ?? 0;
    this.#numbers[at] = this.scratchUsed;
    bytes.copy(this.scratch, this.scratchUsed, start, end);
    this.scratchUsed += end - start;
    this.#numbers[at + 1] = this.scratchUsed;
  }
}
