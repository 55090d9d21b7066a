// Loads of rules in a process that decides meanwhile.
import { timeSliced } from "@weir/common/turn/time-sliced";

/** Longest time without a decision, in milliseconds: a tenth of Envoy's default time-out. */
const SLICE_MS = 2;

/** Takes the steps of a load in slices, between which calls are decided, and returns the result. */
export function timeSlicedLoad<Result>(steps: Iterator<unknown, Result>): Promise<Result> {
  return timeSliced(steps, SLICE_MS);
}
