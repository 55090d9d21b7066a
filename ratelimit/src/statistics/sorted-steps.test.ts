// Sorting in steps: the right order, and no step that does much.
import { describe, expect, it } from "vitest";

import { SORT_STEP, sortInSteps } from "./sorted-steps.ts";

/** The result, and the number of comparisons of the step that had most of them. */
function run(items: readonly { readonly key: number; readonly place: number }[]) {
  let [compared, largest, steps] = [0, 0, 0];
  const sorting = sortInSteps(items, (a, b) => {
    compared += 1;
    return a.key - b.key;
  });
  for (;;) {
    const step = sorting.next();
    largest = Math.max(largest, compared);
    compared = 0;
    if (step.done === true) return { sorted: step.value, largest, steps };
    steps += 1;
  }
}

describe("sortInSteps()", () => {
  it.each([0, 1, SORT_STEP, SORT_STEP + 1, 5 * SORT_STEP + 7])(
    "sortInSteps() sorts %i items and keeps the order of equal ones",
    (count) => {
      const items = Array.from({ length: count }, (_, place) => ({ key: (place * 7919) % 1009, place }));
      const { sorted } = run(items);
      expect(sorted).toEqual([...items].sort((a, b) => a.key - b.key || a.place - b.place));
    },
  );

  it("sortInSteps() compares no more in a step when there are a hundred thousand items than when there are two thousand", () => {
    const largestOf = (count: number): number =>
      run(Array.from({ length: count }, (_, place) => ({ key: (place * 7919) % 100_003, place }))).largest;
    expect(largestOf(2000)).toBeLessThanOrEqual(SORT_STEP * 10); // SORT_STEP × log2(SORT_STEP), and a little.
    expect(largestOf(100_000)).toBeLessThanOrEqual(SORT_STEP * 10);
  });
});
