// The one order of texts that programs sort by: it must be the same on every replica, whatever the
// language of its machine.

/** Order of texts by code units. */
export function compareCodeUnits(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
