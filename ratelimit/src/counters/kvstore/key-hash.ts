// Hashes keys for the two tables that every increment is looked up in: the open batch and the expiry
// cache. Neither gives a wrong answer when two keys have the same hash, so that it has no secret seed.

/** First value and multiplier of FNV-1a with 32 bits: draft-eastlake-fnv, section 5. */
const FNV_OFFSET = 0x811c9dc5 | 0;
const FNV_PRIME = 0x01000193;

/** The same for the tag, unrelated to them. */
const TAG_OFFSET = 0x1b873593;
const TAG_MULTIPLIER = 0x5bd1e995;

/** Computes two hashes of a key in one pass: a call returns nothing, so that it allocates nothing. */
export class KeyHash {
  /** 32 bits with a sign. */
  hash = 0;
  /** Further 32 bits. */
  tag = 0;

  /** The hashes of one key, for what is not on the path of a decision. */
  static of(key: string): KeyHash {
    const hash = new KeyHash();
    hash.set(key);
    return hash;
  }

  /** Sets `hash` and `tag`: two UTF-16 units per step, because reading a unit costs the most. */
  set(key: string): void {
    let hash = FNV_OFFSET;
    let tag = TAG_OFFSET;
    const pairs = key.length & ~1;
    for (let at = 0; at < pairs; at += 2) {
      const units = key.charCodeAt(at) | (key.charCodeAt(at + 1) << 16);
      hash = Math.imul(hash ^ units, FNV_PRIME);
      tag = Math.imul(tag ^ units, TAG_MULTIPLIER);
      hash ^= hash >>> 15;
    }
    if (pairs < key.length) {
      const unit = key.charCodeAt(pairs);
      hash = Math.imul(hash ^ unit, FNV_PRIME);
      tag = Math.imul(tag ^ unit, TAG_MULTIPLIER);
    }
    this.hash = hash ^ (hash >>> 15);
    this.tag = tag ^ (tag >>> 15);
  }
}
