// Loads of rules in a process that decides meanwhile.
import { timeSliced } from "@weir/common/turn/time-sliced";

/**
 * How long steps follow each other without a decision, in milliseconds: with the last step, which may be as long as
 * two of them, it is less than a quarter of Envoy's default time-out.
 */
const SLICE_MS = 1;

/** Takes the steps of a load in slices, between which calls are decided, and returns the result. */
export function timeSlicedLoad<Result>(steps: Iterator<unknown, Result>): Promise<Result> {
  return timeSliced(steps, SLICE_MS);
}
