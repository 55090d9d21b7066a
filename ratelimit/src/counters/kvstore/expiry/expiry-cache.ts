// Caches the keys for which this process has sent an expiry, so that it is sent once per key and
// window. Forgetting a key only costs one more EXPIRE: of two maps, the older is dropped when the
// younger is full.

/**
 * Most keys in one of the two maps: about 20 MB of usual keys in both together, never more than 60
 * MB.
 */
const GENERATION_MAX_KEYS = 50_000;

/** Longest key that is cached, in UTF-16 units: a request may contain megabytes. */
const KEY_MAX_LENGTH = 256;

/** The keys whose expiry was sent, as far as cached. */
export class ExpiryCache {
  readonly #generationMaxKeys: number;
  /** Length in seconds of the longest window that an expiry was sent for, by key. */
  #young = new Map<string, number>();
  #old = new Map<string, number>();

  constructor(generationMaxKeys: number = GENERATION_MAX_KEYS) {
    this.#generationMaxKeys = generationMaxKeys;
  }

  /**
   * Whether the expiry that was sent covers a window of this length. The unit of a limit is not in
   * the key: where two windows begin together, a key that was to live for a minute may have to live
   * for an hour.
   */
  covers(key: string, windowSeconds: number): boolean {
    return (this.#young.get(key) ?? this.#old.get(key) ?? 0) >= windowSeconds;
  }

  /** Adds a key whose expiry is being sent. */
  add(key: string, windowSeconds: number): void {
    if (key.length > KEY_MAX_LENGTH) return;
    if (this.#young.size >= this.#generationMaxKeys) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, windowSeconds);
  }

  /** Removes a key whose write failed or which the server has lost. */
  delete(key: string): void {
    this.#young.delete(key);
    this.#old.delete(key);
  }

  /** Removes all keys. */
  clear(): void {
    this.#young.clear();
    this.#old.clear();
  }
}
