// Counters with their keys, one after the other in chunks of memory outside the heap. Entries are
// never removed: the arena of an ended window is dropped as a whole.
import type { StoredKey } from "./stored-key.ts";

/** Places are counted in units of 8 bytes, to which a count is aligned. */
const UNIT_BYTES = 8;

/** Units of a chunk: 64 KiB, of which the largest entry is less than a hundredth. */
const CHUNK_UNITS = 2 ** 13;

/** Most chunks: a place in units takes at most 31 bits. 16 GiB. */
const CHUNKS_MAX = 2 ** 18;

/** Words of a number. */
const NUMBER_WORDS = 2;

/** The same memory as numbers of both kinds. */
interface Chunk {
  readonly counts: Float64Array;
  readonly words: Int32Array;
}

/** Entries by their place: a whole number above 0, at most 2^31 − 1. */
export class EntryArena {
  readonly #chunks: Chunk[] = [];
  /** The next free place; unit 0 is not used, so that no entry has the place 0. */
  #end = 1;
  /** Words before the key: its numbers. */
  readonly #numberWords: number;

  /** `numbers` are those of an entry: a count, or a cell. */
  constructor(numbers = 1) {
    this.#numberWords = numbers * NUMBER_WORDS;
  }

  /** Adds an entry and returns its place; 0 when the arena is full. */
  add(key: StoredKey, count: number): number {
    const units = (this.#numberWords + key.length + 1) >> 1;
    let place = this.#end;
    // An entry is in one chunk; the first place of a chunk may be its very first unit.
    if ((place & (CHUNK_UNITS - 1)) + units > CHUNK_UNITS) place = (place | (CHUNK_UNITS - 1)) + 1;
    let chunk = this.#chunks[Math.floor(place / CHUNK_UNITS)];
    if (chunk === undefined) {
      if (this.#chunks.length === CHUNKS_MAX) return 0;
      this.#chunks.push((chunk = createChunk()));
    }
    const unit = place & (CHUNK_UNITS - 1);
    chunk.counts[unit] = count;
    const { words, length } = key;
    const start = 2 * unit + this.#numberWords;
    for (let index = 0; index < length; index++) chunk.words[start + index] = words[index] ?? 0;
    this.#end = place + units;
    return place;
  }

  /** Returns true if the entry at this place has this key. */
  hasKey(place: number, key: StoredKey): boolean {
    const stored = this.#chunkOf(place).words;
    const start = 2 * (place & (CHUNK_UNITS - 1)) + this.#numberWords;
    const { words, length } = key;
    // The header is the first word: with equal headers the lengths are equal too.
    for (let index = 0; index < length; index++) if (stored[start + index] !== words[index]) return false;
    return true;
  }

  /** The count of the entry at this place. */
  count(place: number): number {
    return this.#chunkOf(place).counts[place & (CHUNK_UNITS - 1)] ?? 0;
  }

  /** Adds to the count of the entry at this place, from 0 to the largest exact number; returns the sum. */
  increment(place: number, addend: number): number {
    const { counts } = this.#chunkOf(place);
    const unit = place & (CHUNK_UNITS - 1);
    const sum = Math.max(0, Math.min((counts[unit] ?? 0) + addend, Number.MAX_SAFE_INTEGER));
    counts[unit] = sum;
    return sum;
  }

  /** Reads the numbers of the entry at this place. */
  read(place: number, numbers: number[]): void {
    const { counts } = this.#chunkOf(place);
    const unit = place & (CHUNK_UNITS - 1);
    for (let index = 0; index < numbers.length; index++) numbers[index] = counts[unit + index] ?? 0;
  }

  /** Replaces the numbers of the entry at this place. */
  write(place: number, numbers: readonly number[]): void {
    const { counts } = this.#chunkOf(place);
    counts.set(numbers, place & (CHUNK_UNITS - 1));
  }

  #chunkOf(place: number): Chunk {
    const chunk = this.#chunks[place >>> 13];
    if (chunk === undefined) throw new RangeError(`Cannot read an entry: no entry has the place ${place}`);
    return chunk;
  }
}

function createChunk(): Chunk {
  const buffer = new ArrayBuffer(CHUNK_UNITS * UNIT_BYTES);
  return { counts: new Float64Array(buffer), words: new Int32Array(buffer) };
}
