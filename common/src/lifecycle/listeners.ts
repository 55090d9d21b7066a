// Functions that are called after a change.

/** The listeners of one kind of change; each is called with `Change`. */
export class Listeners<Change = void> {
  readonly #listeners = new Set<(change: Change) => void>();

  /** Calls the listener after each change from now on; returns the function that ends this. */
  add(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Calls all; those that are added meanwhile only the next time. */
  notify(change: Change): void {
    for (const listener of [...this.#listeners]) listener(change);
  }

  /** Forgets all. */
  clear(): void {
    this.#listeners.clear();
  }
}
