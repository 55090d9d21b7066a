// Keeps what is remembered within a bound: the oldest goes when something new comes.

/**
 * Takes the oldest entries away until there is room for one more; maps and sets know the order in
 * which their entries came.
 */
export function makeRoom<Key>(
  collection: Pick<Map<Key, unknown>, "size" | "keys" | "delete"> | Set<Key>,
  max: number,
): void {
  for (const key of collection.keys()) {
    if (collection.size < max) return;
    collection.delete(key);
  }
}
