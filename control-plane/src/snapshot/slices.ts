// Long work in slices: whoever waits for the process, as pods and probes do, has a turn in between.

/**
 * How long a slice goes on, in milliseconds: shorter than anybody notices, long enough that the
 * turns between cost nothing.
 */
const SLICE_MS = 10;

/**
 * Takes all steps and gives the result; a step that ends after the slice is over is the last before
 * others have their turn.
 */
export async function inSlices<Result>(steps: Iterator<undefined, Result>): Promise<Result> {
  let untilMs = performance.now() + SLICE_MS;
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done === true) return step.value;
    if (performance.now() < untilMs) continue;
    await new Promise((resolve) => setImmediate(resolve));
    untilMs = performance.now() + SLICE_MS;
  }
}
