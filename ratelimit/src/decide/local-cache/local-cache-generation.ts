// One half of the local cache: keys of about the same time, with an exact account of their memory: one rate for every
// entry would have to be that of a table that is growing, and a third fewer keys would have room. A full one takes no
// more keys; it is dropped as a whole.

/** Bytes of a string without its characters, in V8 without pointer compression: map, hash, length. */
const STRING_HEADER_BYTES = 16;

/** Bytes of V8's Map per slot: key, value and chain, 8 bytes each, and half a bucket. */
const SLOT_BYTES = 28;

/** Slots of a new Map. A full Map doubles them; meanwhile both tables exist. */
const FIRST_SLOTS = 4;

/** Most entries: half of what a Map can hold at all. Reached beyond a gigabyte only. */
const ENTRIES_MAX = 2 ** 23;

/** A character of more than one byte: V8 stores a text that contains one in two bytes each. */
const WIDE_CHARACTER = /[\u0100-\uffff]/;

/** A key in one piece, and the bytes that it takes. */
export interface HeldKey {
  readonly text: string;
  readonly bytes: number;
}

/**
 * Copies a key into one piece: a new key is a tree of parts, which keeps them all alive, some of
 * them of the request, and takes twice the memory.
 */
export function holdKey(key: string): HeldKey {
  const isWide = WIDE_CHARACTER.test(key);
  const encoding = isWide ? "utf16le" : "latin1";
  const text = Buffer.from(key, encoding).toString(encoding);
  return { text, bytes: STRING_HEADER_BYTES + 8 * Math.ceil((isWide ? 2 * key.length : key.length) / 8) };
}

/** Keys with the times until which they are over their limit. */
export class LocalCacheGeneration {
  /** Times in whole seconds on the owner's scale; small numbers take no memory of their own. */
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

  /** Returns true if one more key fits into so many bytes, also while the table grows for it. */
  hasRoomFor(key: HeldKey, bytesMax: number): boolean {
    if (this.size >= ENTRIES_MAX) return false;
    const slots = this.size < this.#slots ? this.#slots : 3 * this.#slots;
    return this.#keyBytes + key.bytes + SLOT_BYTES * slots <= bytesMax;
  }

  /** Adds a new key. */
  add(key: HeldKey, expiry: number): void {
    if (this.size === this.#slots) this.#slots *= 2;
    this.#keyBytes += key.bytes;
    this.#set(key.text, expiry);
  }

  /** Changes the end of a key; false when there is no such key. */
  renew(key: string, expiry: number): boolean {
    if (!this.#expiries.has(key)) return false;
    this.#set(key, expiry);
    return true;
  }

  /** Returns true if every entry has ended by then, also when there is none. */
  hasEnded(now: number): boolean {
    return this.#lastExpiry <= now;
  }

  /** Number of entries that have ended by then. */
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
