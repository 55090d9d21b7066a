// Work in steps, for callers that have nothing else to do meanwhile.

/** Runs a function that works in steps to its end. */
export function inOneGo<Result>(steps: Iterator<unknown, Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
