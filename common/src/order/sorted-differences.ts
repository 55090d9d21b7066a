// Compares two sorted lists that are mostly equal, such as thousands of resources before and after an edit.

/** How elements are compared. */
export interface ElementOrder<T> {
  /** The lists are sorted by it, by UTF-16 code units; no two elements of a list have the same. */
  readonly nameOf: (element: T) => string;
  /** Returns true if two elements are equal, names included; by default, if they are the same object. */
  readonly isSame?: (left: T, right: T) => boolean;
}

/** The element of a name in each of two lists; undefined: none. */
export interface Difference<T> {
  readonly name: string;
  readonly before: T | undefined;
  readonly after: T | undefined;
}

/** The differences between two lists, in the order of names. */
export function* sortedDifferences<T>(
  before: readonly T[],
  after: readonly T[],
  { nameOf, isSame = Object.is }: ElementOrder<T>,
): Generator<Difference<T>> {
  let [left, right] = [0, 0];
  for (;;) {
    // As a rule: to compare thousands of elements takes longer.
    while (left < before.length && before[left] === after[right]) {
      left += 1;
      right += 1;
    }
    const [was, is] = [before[left], after[right]];
    if (was !== undefined && is !== undefined && isSame(was, is)) {
      left += 1;
      right += 1;
      continue;
    }
    const [wasName, isName] = [was && nameOf(was), is && nameOf(is)];
    if (wasName === undefined && isName === undefined) return;
    const isOnlyBefore = isName === undefined || (wasName !== undefined && wasName < isName);
    const isOnlyAfter = wasName === undefined || (isName !== undefined && isName < wasName);
    if (!isOnlyAfter) left += 1;
    if (!isOnlyBefore) right += 1;
    const name = (isOnlyAfter ? isName : wasName) ?? "";
    yield { name, before: isOnlyAfter ? undefined : was, after: isOnlyBefore ? undefined : is };
  }
}

/** The index of the first element whose name is not before `name`, from `start` on: the length if there is none. */
export function lowerBound<T>(sorted: readonly T[], name: string, nameOf: (element: T) => string, start = 0): number {
  let [low, high] = [start, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const element = sorted[middle];
    if (element !== undefined && nameOf(element) < name) low = middle + 1;
    else high = middle;
  }
  return low;
}
