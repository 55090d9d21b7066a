// Work in steps: all of them in one go, and how long one is that only looks at elements.

/** Runs a function that works in steps to its end. */
export function inOneGo<Result>(steps: Iterator<unknown, Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Elements that are only looked at in one step: to end a step takes longer than to look at one. */
const LOOKS_PER_STEP = 64;

/** Returns true where a step ends that only looks at elements, of which this is the one with the index. */
export function endsStep(index: number): boolean {
  return index % LOOKS_PER_STEP === LOOKS_PER_STEP - 1;
}
