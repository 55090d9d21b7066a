// One half of the local cache: keys that came about the same time, with an exact account of the
// memory they take. A full one takes no more keys; it is dropped as a whole.

/**
 * Bytes of a string without its characters, in V8 without pointer compression: its map, its hash,
 * its length.
 */
const STRING_HEADER_BYTES = 16;

/**
 * What V8's Map takes for each entry there is room for: key, value and chain, 8 bytes each, and
 * half a bucket.
 */
const SLOT_BYTES = 28;

/**
 * Entries a new Map has room for. It doubles its room when it is full, and while it does, the old
 * table stands beside the new one.
 */
const FIRST_SLOTS = 4;

/** Most entries: half of what a Map can hold at all. Reached beyond a gigabyte only. */
const ENTRIES_MAX = 2 ** 23;

/** A character that does not fit into one byte: V8 takes two for each of such a text. */
const WIDE_CHARACTER = /[\u0100-\uffff]/;

/** A key on its own: a text that holds on to no other text, and what it takes in memory. */
export interface HeldKey {
  readonly text: string;
  readonly bytes: number;
}

/**
 * Copies a key: as it was made it is a tree of parts, which keeps alive every part, some of them
 * from the request, and takes twice the memory.
 */
export function holdKey(key: string): HeldKey {
  const isWide = WIDE_CHARACTER.test(key);
  const encoding = isWide ? "utf16le" : "latin1";
  const text = Buffer.from(key, encoding).toString(encoding);
  return { text, bytes: STRING_HEADER_BYTES + 8 * Math.ceil((isWide ? 2 * key.length : key.length) / 8) };
}

/** Keys with the moments until which they are over their limit. */
export class LocalCacheGeneration {
  /**
   * Moments in whole seconds, on whatever scale the owner uses; small numbers take no room of their
   * own.
   */
  readonly #expiries = new Map<string, number>();
  #keyBytes = 0;
  #slots = FIRST_SLOTS;
  #lastExpiry = -Infinity;

  get size(): number {
    return this.#expiries.size;
  }

  /** When the key's entry ends; undefined when it has none. */
  expiryOf(key: string): number | undefined {
    return this.#expiries.get(key);
  }

  /** Whether one more key fits into so many bytes, also while the table grows for it. */
  hasRoomFor(key: HeldKey, bytesMax: number): boolean {
    if (this.size >= ENTRIES_MAX) return false;
    const slots = this.size < this.#slots ? this.#slots : 3 * this.#slots;
    return this.#keyBytes + key.bytes + SLOT_BYTES * slots <= bytesMax;
  }

  /** Adds a key that is not there. */
  add(key: HeldKey, expiry: number): void {
    if (this.size === this.#slots) this.#slots *= 2;
    this.#keyBytes += key.bytes;
    this.#set(key.text, expiry);
  }

  /** Sets another end for a key that is there; false when it is not. */
  renew(key: string, expiry: number): boolean {
    if (!this.#expiries.has(key)) return false;
    this.#set(key, expiry);
    return true;
  }

  /** Whether every entry has ended by then; so it is when there is none. */
  hasEnded(now: number): boolean {
    return this.#lastExpiry <= now;
  }

  /** How many entries have ended by then. */
  countEnded(now: number): number {
    if (this.hasEnded(now)) return this.size;
    let ended = 0;
    for (const expiry of this.#expiries.values()) if (expiry <= now) ended += 1;
    return ended;
  }

  #set(key: string, expiry: number): void {
    this.#expiries.set(key, expiry);
    if (expiry > this.#lastExpiry) this.#lastExpiry = expiry;
  }
}
