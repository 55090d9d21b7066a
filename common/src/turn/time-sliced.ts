// Runs long work in slices, between which calls, probes and timers are served.

// The real one also where tests replace the global one: what it ends is shared with the next test.
import { setImmediate as atEndOfTurn } from "node:timers";

/** Default length of a slice, in milliseconds: short for a probe, long enough that turns are cheap. */
const SLICE_MS = 10;

/** When the first slice of this turn of the event loop began, in milliseconds; undefined: none has. */
let beganMs: number | undefined;

/**
 * Takes all steps and returns the result; a slice ends with the first step after its time. Work that
 * follows in the same turn has the rest of that time, or one step, so that slices do not add up.
 */
export async function timeSliced<Result>(steps: Iterator<unknown, Result>, sliceMs = SLICE_MS): Promise<Result> {
  let untilMs = turnBeganMs() + sliceMs;
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done === true) return step.value;
    if (performance.now() < untilMs) continue;
    await new Promise((resolve) => setImmediate(resolve));
    untilMs = turnBeganMs() + sliceMs;
  }
}

function turnBeganMs(): number {
  if (beganMs === undefined) atEndOfTurn(() => (beganMs = undefined));
  return (beganMs ??= performance.now());
}
