// Caches the keys for which this process has sent an expiry, so that it is sent once per key and
// window. It keeps hashes: about one key in 10^9 is taken for another one, and then the reply to its
// first increment shows that it has no expiry. Forgetting a key only costs one more EXPIRE.

/** A key whose expiry has to be sent once more. */
export interface KeyExpiry {
  readonly key: string;
  readonly seconds: number;
  /** The error that the server refused it with; undefined when it was not refused. */
  readonly refusal?: Error;
}

/** A key by its hash in two parts of 32 bits with a sign; `tag` is undefined for keys that are not cached. */
export interface HashedKey {
  readonly hash: number;
  readonly tag: number | undefined;
}

/** Number of buckets, a power of two: 262,144 keys in 2 MiB. */
const BUCKETS = 65_536;

/** Numbers in a bucket: four entries of a tag and a length in seconds, half of a cache line. */
const BUCKET_SIZE = 8;

/** Where the last entry of a bucket begins. */
const LAST = BUCKET_SIZE - 2;

/** The keys whose expiry was sent, as far as cached. */
export class ExpiryCache {
  /**
   * Per entry the tag of a key, and the length in seconds of the longest window that its expiry was
   * sent for, 0 when there is none. The entries of a bucket are ordered, the latest first.
   */
  readonly #entries: Int32Array;
  readonly #mask: number;

  /** `buckets` is a power of two. */
  constructor(buckets: number = BUCKETS) {
    this.#entries = new Int32Array(buckets * BUCKET_SIZE);
    this.#mask = buckets - 1;
  }

  /**
   * Whether the expiry that was sent covers a window of this length. The unit of a limit is not in
   * the key: where two windows begin together, a key that was to live for a minute may have to live
   * for an hour.
   */
  covers(key: HashedKey, windowSeconds: number): boolean {
    const at = this.#find(key);
    return at >= 0 && (this.#entries[at + 1] ?? 0) >= windowSeconds;
  }

  /** Adds a key whose expiry is being sent; the oldest one of its bucket is forgotten. */
  add(key: HashedKey, windowSeconds: number): void {
    if (key.tag === undefined) return;
    const first = this.#bucketOf(key);
    const present = this.#find(key);
    this.#entries.copyWithin(first + 2, first, present >= 0 ? present : first + LAST);
    this.#entries[first] = key.tag;
    this.#entries[first + 1] = windowSeconds;
  }

  /** Removes a key whose write failed or which the server has lost. */
  delete(key: HashedKey): void {
    const at = this.#find(key);
    if (at >= 0) this.#entries[at + 1] = 0;
  }

  /** Removes all keys. */
  clear(): void {
    this.#entries.fill(0);
  }

  #bucketOf({ hash }: HashedKey): number {
    return (hash & this.#mask) * BUCKET_SIZE;
  }

  /** Where the entry of the key begins; negative when there is none. */
  #find(key: HashedKey): number {
    const first = this.#bucketOf(key);
    for (let at = first; at <= first + LAST; at += 2) if (this.#entries[at] === key.tag) return at;
    return -1;
  }
}
