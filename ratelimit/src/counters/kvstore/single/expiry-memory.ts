// Remembers for which keys this process has sent an expiry, so that it is sent once per key and window. Forgetting only costs one more EXPIRE, so the
// memory is two sets: when the younger is full it becomes the older, and the older is forgotten.

/** Most keys in one of the two sets: about 20 MB of strings in both together. */
const GENERATION_MAX_KEYS = 50_000;

/** The keys whose expiry is known to be set, as far as remembered. */
export class ExpiryMemory {
  readonly #generationMaxKeys: number;
  #young = new Set<string>();
  #old = new Set<string>();

  constructor(generationMaxKeys: number = GENERATION_MAX_KEYS) {
    this.#generationMaxKeys = generationMaxKeys;
  }

  /** Whether an expiry was sent for the key. */
  has(key: string): boolean {
    return this.#young.has(key) || this.#old.has(key);
  }

  /** Notes that an expiry is being sent for the key. */
  add(key: string): void {
    if (this.#young.size >= this.#generationMaxKeys) {
      this.#old = this.#young;
      this.#young = new Set();
    }
    this.#young.add(key);
  }

  /** Forgets the key, because its write failed or the server lost it. */
  delete(key: string): void {
    this.#young.delete(key);
    this.#old.delete(key);
  }
}
