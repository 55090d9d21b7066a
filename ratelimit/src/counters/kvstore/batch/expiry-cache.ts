// Remembers for which keys this process has sent an expiry, so that it is sent once per key and
// window. Forgetting only costs one more EXPIRE, so the memory is two maps: when the younger is
// full it becomes the older, and the older is forgotten.

/**
 * Most keys in one of the two maps: about 20 MB of usual keys in both together, never more than 60
 * MB.
 */
const GENERATION_MAX_KEYS = 50_000;

/** Longest key that is remembered, in UTF-16 units: a request may carry megabytes. */
const KEY_MAX_LENGTH = 256;

/** The keys whose expiry is known to be set, as far as remembered. */
export class ExpiryCache {
  readonly #generationMaxKeys: number;
  /** Length in seconds of the longest window that an expiry was sent for, by key. */
  #young = new Map<string, number>();
  #old = new Map<string, number>();

  constructor(generationMaxKeys: number = GENERATION_MAX_KEYS) {
    this.#generationMaxKeys = generationMaxKeys;
  }

  /**
   * Whether an expiry was sent that lets the key live through a window of this length. The unit of
   * a limit is not in the key, so where two windows begin together a key that was to live for a
   * minute may have to live for an hour.
   */
  covers(key: string, windowSeconds: number): boolean {
    return (this.#young.get(key) ?? this.#old.get(key) ?? 0) >= windowSeconds;
  }

  /** Notes that an expiry is being sent for the key. */
  add(key: string, windowSeconds: number): void {
    if (key.length > KEY_MAX_LENGTH) return;
    if (this.#young.size >= this.#generationMaxKeys) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, windowSeconds);
  }

  /** Forgets the key, because its write failed or the server lost it. */
  delete(key: string): void {
    this.#young.delete(key);
    this.#old.delete(key);
  }

  /** Forgets all keys. */
  clear(): void {
    this.#young.clear();
    this.#old.clear();
  }
}
