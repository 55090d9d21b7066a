// Shows that work in steps does little in each, without a clock.

/** Takes all steps, and returns by how much a count of what they do grows in one of them at most. */
export function mostInOneStep(steps: Iterator<unknown, unknown>, count: () => number): number {
  for (let most = 0; ;) {
    const before = count();
    const { done } = steps.next();
    most = Math.max(most, count() - before);
    if (done === true) return most;
  }
}
