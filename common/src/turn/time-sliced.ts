// Runs long work in slices, between which calls, probes and timers are served.

/** Default length of a slice, in milliseconds: short for a probe, long enough that turns are cheap. */
const SLICE_MS = 10;

/**
 * Takes all steps and returns the result; a slice ends with the first step after its time, which
 * counts from `beganMs()`: an earlier time makes it shorter.
 */
export async function timeSliced<Result>(
  steps: Iterator<unknown, Result>,
  sliceMs = SLICE_MS,
  beganMs = () => performance.now(),
): Promise<Result> {
  let untilMs = beganMs() + sliceMs;
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done === true) return step.value;
    if (performance.now() < untilMs) continue;
    await new Promise((resolve) => setImmediate(resolve));
    untilMs = beganMs() + sliceMs;
  }
}
