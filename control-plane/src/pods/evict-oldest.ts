// Keeps a map or set within a bound: the oldest entries leave when a new one comes.

/** Deletes the oldest entries until one more fits; maps and sets keep the order of insertion. */
export function evictOldest<Key>(
  collection: Pick<Map<Key, unknown>, "size" | "keys" | "delete"> | Set<Key>,
  max: number,
): void {
  for (const key of collection.keys()) {
    if (collection.size < max) return;
    collection.delete(key);
  }
}
