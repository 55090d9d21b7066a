// The order of texts for all programs: the same on every replica, independent of the locale.

/** Compares texts by UTF-16 code units. */
export function compareCodeUnits(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
