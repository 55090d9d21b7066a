// Work on rules beside decisions.
import { timeSliced } from "@weir/common/turn/time-sliced";

/** Longest time in which no call is decided meanwhile, in milliseconds: a tenth of Envoy's default time-out. */
const SLICE_MS = 2;

/** Takes all steps in slices, between which calls are decided, and returns the result. */
export function inSlices<Result>(steps: Iterator<unknown, Result>): Promise<Result> {
  return timeSliced(steps, SLICE_MS);
}
