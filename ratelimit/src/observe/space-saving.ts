// The keys of a stream that count most, in bounded memory: the space-saving algorithm of Metwally, Agrawal and El Abbadi,
// "Efficient computation of frequent and top-k elements in data streams" (2005).

/** A key with its count: the true one is at least `count - error` and at most `count`. */
export interface KeyCount<Key> {
  readonly key: Key;
  readonly count: number;
  readonly error: number;
}

/** The keys that counted most, most first. */
export interface KeyCounts<Key> {
  readonly keys: readonly KeyCount<Key>[];
  /** The most that a key can have counted that is not among them. */
  readonly floor: number;
  /** Sum of the counts of all keys. */
  readonly total: number;
}

/** How keys are compared with what they come from, and made of it. */
export interface KeySource<Key, Source> {
  isOf(key: Key, source: Source): boolean;
  keyOf(source: Source): Key;
}

/** A power of two. */
const GROUPS = 256;

/** A table of keys. */
export class SpaceSaving<Key, Source = Key> {
  readonly #capacity: number;
  readonly #source: KeySource<Key, Source>;
  /** Allocated for a whole table, so that adding never allocates: the hash of each slot, its count and its error. */
  readonly #hashes: Int32Array;
  readonly #counts: Float64Array;
  readonly #errors: Float64Array;
  readonly #keys: Key[] = [];
  /** How many keys have hashes that end with the same bits. */
  readonly #groups = new Uint8Array(GROUPS);
  /** No count is smaller: counts only grow. */
  #least = 0;
  /** The slot that was replaced last. */
  #replaced = 0;
  /** Sum of all weights. */
  total = 0;

  /** Keeps so many keys. */
  constructor(capacity: number, source: KeySource<Key, Source>) {
    this.#capacity = capacity;
    this.#source = source;
    this.#hashes = new Int32Array(capacity);
    const numbers = new Float64Array(2 * capacity);
    this.#counts = numbers.subarray(0, capacity);
    this.#errors = numbers.subarray(capacity);
  }

  /** Adds to the count of a key; one that is new replaces the key that counted least. Equal keys have equal hashes of 32 bits. */
  add(hash: number, source: Source, weight: number): void {
    this.total += weight;
    const hashes = this.#hashes;
    const counts = this.#counts;
    const size = this.#keys.length;
    const group = hash & (GROUPS - 1);
    const groups = this.#groups;
    // Most keys that are new are seen to be so by this alone.
    if (groups[group] !== 0)
      for (let slot = 0; slot < size; slot++) {
        if (hashes[slot] !== hash || !this.#source.isOf(this.#keys[slot] as Key, source)) continue;
        counts[slot] = (counts[slot] ?? 0) + weight;
        return;
      }
    const isFull = size === this.#capacity;
    const slot = isFull ? this.#leastSlot() : size;
    const error = isFull ? this.#least : 0;
    if (isFull) {
      const replaced = (hashes[slot] ?? 0) & (GROUPS - 1);
      groups[replaced] = (groups[replaced] ?? 0) - 1;
    }
    groups[group] = (groups[group] ?? 0) + 1;
    hashes[slot] = hash;
    counts[slot] = error + weight;
    this.#errors[slot] = error;
    this.#keys[slot] = this.#source.keyOf(source);
  }

  /** Of equal ones the next: with many keys most counts are the least one, so few are looked at. */
  #leastSlot(): number {
    const counts = this.#counts;
    for (let tries = 0; tries < this.#capacity; tries++) {
      this.#replaced = this.#replaced + 1 === this.#capacity ? 0 : this.#replaced + 1;
      if (counts[this.#replaced] === this.#least) return this.#replaced;
    }
    this.#least = Infinity;
    for (let slot = 0; slot < this.#capacity; slot++) {
      const count = counts[slot] ?? 0;
      if (count >= this.#least) continue;
      this.#least = count;
      this.#replaced = slot;
    }
    return this.#replaced;
  }

  read(): KeyCounts<Key> {
    const keys = this.#keys.map((key, slot) => {
      return { key, count: this.#counts[slot] ?? 0, error: this.#errors[slot] ?? 0 };
    });
    keys.sort((one, other) => other.count - one.count);
    return { keys, floor: keys.length < this.#capacity ? 0 : (keys.at(-1)?.count ?? 0), total: this.total };
  }

  clear(): void {
    this.#keys.length = 0;
    this.#groups.fill(0);
    this.#least = 0;
    this.total = 0;
  }
}

/**
 * The keys of two streams together, at most `capacity` of them: one that only one table has may have counted up to the
 * floor of the other. `identify` returns equal texts for equal keys.
 */
export function mergeCounts<Key>(
  one: KeyCounts<Key>,
  other: KeyCounts<Key>,
  { capacity, identify }: { readonly capacity: number; readonly identify: (key: Key) => string },
): KeyCounts<Key> {
  const merged = new Map<string, KeyCount<Key>>();
  for (const { key, count, error } of one.keys)
    merged.set(identify(key), { key, count: count + other.floor, error: error + other.floor });
  for (const { key, count, error } of other.keys) {
    const id = identify(key);
    const known = merged.get(id);
    const [knownCount, knownError] = known === undefined ? [one.floor, one.floor] : [known.count, known.error];
    const floor = known === undefined ? 0 : other.floor;
    merged.set(id, { key, count: knownCount - floor + count, error: knownError - floor + error });
  }
  const keys = [...merged.values()].sort((a, b) => b.count - a.count);
  const floor = Math.max(one.floor + other.floor, keys[capacity]?.count ?? 0);
  return { keys: keys.slice(0, capacity), floor, total: one.total + other.total };
}
