// Sorts in steps between which other work runs: sorting half a million names in one go would hold
// up decisions for a second.

/** Most items that one step sorts or merges. */
export const SORT_STEP = 512;

/** The items in the order of `compare` as a new array, by a stable merge sort. */
export function* sortInSteps<T>(
  items: readonly T[],
  compare: (a: T, b: T) => number,
): Generator<undefined, readonly T[]> {
  let runs: (readonly T[])[] = [];
  for (let at = 0; at < items.length; at += SORT_STEP) {
    runs.push(items.slice(at, at + SORT_STEP).sort(compare));
    yield;
  }
  while (runs.length > 1) {
    const longer: (readonly T[])[] = [];
    for (let index = 0; index < runs.length; index += 2) {
      longer.push(yield* merge(runs[index] ?? [], runs[index + 1] ?? [], compare));
    }
    runs = longer;
  }
  return runs[0] ?? [];
}

function* merge<T>(
  left: readonly T[],
  right: readonly T[],
  compare: (a: T, b: T) => number,
): Generator<undefined, readonly T[]> {
  if (right.length === 0) return left;
  const merged: T[] = [];
  let [fromLeft, fromRight] = [0, 0];
  while (merged.length < left.length + right.length) {
    const [a, b] = [left[fromLeft], right[fromRight]];
    const isLeft = b === undefined || (a !== undefined && compare(a, b) <= 0);
    const next = isLeft ? a : b;
    if (next !== undefined) merged.push(next);
    if (isLeft) fromLeft += 1;
    else fromRight += 1;
    if (merged.length % SORT_STEP === 0) yield;
  }
  return merged;
}
