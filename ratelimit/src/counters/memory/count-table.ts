// Counts and cells by key: an extendible hash table. A segment that is full is split in two, so that an
// insertion never moves more than one segment, however large the table is.
import { EntryArena } from "./entry-arena.ts";
import type { StoredKey } from "./stored-key.ts";

/** Slots of a segment: 16 KiB; splitting one takes a few microseconds. */
const SEGMENT_BITS = 11;
const SEGMENT_SLOTS = 2 ** SEGMENT_BITS;

/** Most slots of a segment that are taken: then about two are looked at for a key. */
const SEGMENT_MAX_TAKEN = SEGMENT_SLOTS * 0.8;

/** Most bits of a hash that choose the segment: the bits that do not choose the slot. */
const DEPTH_MAX = 32 - SEGMENT_BITS;

/** A part of the table: the keys whose hashes end with the same `depth` bits. */
class Segment {
  depth: number;
  taken = 0;
  /** Per slot the hash and the place of the entry; place 0 = free. */
  readonly slots = new Int32Array(2 * SEGMENT_SLOTS);

  constructor(depth: number) {
    this.depth = depth;
  }

  /** Takes the first free slot for the hash. */
  insert(hash: number, place: number): void {
    const { slots } = this;
    let at = firstSlot(hash);
    while (slots[at + 1] !== 0) at = nextSlot(at);
    slots[at] = hash;
    slots[at + 1] = place;
    this.taken += 1;
  }
}

/** Counts of one window, or cells, by key. Keys are compared whole: no two share a count. */
export class CountTable {
  readonly #entries: EntryArena;
  /** By the last bits of the hash; a segment may occur several times. Its length is a power of two. */
  #directory: Segment[] = [new Segment(0)];
  #size = 0;

  /** `numbers` are those of a key: a count, or a cell. */
  constructor(numbers = 1) {
    this.#entries = new EntryArena(numbers);
  }

  /** Number of keys. */
  get size(): number {
    return this.#size;
  }

  /** The place of the key's count; 0 when the key is not in the table. */
  find(key: StoredKey): number {
    const { hash } = key;
    const { slots } = this.#segmentOf(hash);
    for (let at = firstSlot(hash); ; at = nextSlot(at)) {
      const place = slots[at + 1] ?? 0;
      if (place === 0 || (slots[at] === hash && this.#entries.hasKey(place, key))) return place;
    }
  }

  /** Adds a key that `find` did not find; false when the table cannot have more. */
  insert(key: StoredKey, count: number): boolean {
    const { hash } = key;
    let segment = this.#segmentOf(hash);
    while (segment.taken >= SEGMENT_MAX_TAKEN) {
      if (segment.depth === DEPTH_MAX) return false;
      this.#split(segment, hash);
      segment = this.#segmentOf(hash);
    }
    const place = this.#entries.add(key, count);
    if (place === 0) return false;
    segment.insert(hash, place);
    this.#size += 1;
    return true;
  }

  /** The count at a place that `find` returned. */
  count(place: number): number {
    return this.#entries.count(place);
  }

  /** Adds to the count at a place that `find` returned, from 0 to the largest exact number; returns the sum. */
  increment(place: number, addend: number): number {
    return this.#entries.increment(place, addend);
  }

  /** Reads the numbers at a place that `find` returned. */
  read(place: number, numbers: number[]): void {
    this.#entries.read(place, numbers);
  }

  /** Replaces the numbers at a place that `find` returned. */
  write(place: number, numbers: readonly number[]): void {
    this.#entries.write(place, numbers);
  }

  #segmentOf(hash: number): Segment {
    const segment = this.#directory[hash & (this.#directory.length - 1)];
    if (segment === undefined) throw new RangeError("Cannot find a segment: the directory has gaps");
    return segment;
  }

  /** Moves the keys of a segment that have a 1 in the next bit of their hashes to a new segment. */
  #split(segment: Segment, hash: number): void {
    const bit = 2 ** segment.depth;
    if (this.#directory.length === bit) this.#directory = [...this.#directory, ...this.#directory];
    segment.depth += 1;
    const sibling = new Segment(segment.depth);
    const slots = segment.slots.slice();
    segment.slots.fill(0);
    segment.taken = 0;
    for (let at = 0; at < slots.length; at += 2) {
      const [slotHash = 0, place = 0] = [slots[at], slots[at + 1]];
      if (place !== 0) ((slotHash & bit) === 0 ? segment : sibling).insert(slotHash, place);
    }
    for (let at = (hash & (bit - 1)) | bit; at < this.#directory.length; at += 2 * bit) this.#directory[at] = sibling;
  }
}

/** The index of the first slot for a hash: its highest bits, because the lowest chose the segment. */
function firstSlot(hash: number): number {
  return 2 * (hash >>> DEPTH_MAX);
}

function nextSlot(at: number): number {
  return (at + 2) & (2 * SEGMENT_SLOTS - 1);
}
