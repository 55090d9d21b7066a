// Loads of rules in a process that decides meanwhile.
import { timeSliced } from "@weir/common/turn/time-sliced";

/**
 * How long steps follow each other without a decision, in milliseconds: with the last step, which may be as long as
 * two of them, it is less than a quarter of Envoy's default time-out.
 */
const SLICE_MS = 1;

/** When the first slice of this turn of the event loop began, in milliseconds; undefined: none has. */
let turnBeganMs: number | undefined;

/**
 * Takes the steps of a load in slices, between which calls are decided, and returns the result. All
 * loads of a turn share one slice, so that parts that follow each other do not add up.
 */
export function timeSlicedLoad<Result>(steps: Iterator<unknown, Result>): Promise<Result> {
  return timeSliced(steps, SLICE_MS, sliceBeganMs);
}

function sliceBeganMs(): number {
  if (turnBeganMs === undefined) setImmediate(() => (turnBeganMs = undefined));
  return (turnBeganMs ??= performance.now());
}
