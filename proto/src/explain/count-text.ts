// The present count of a limit in words, as the page and `weir explain` show it. Pure.
import type { LimitCount } from "../generated/weir/observe/v1/observe_pb.ts";

/** Units of durations, the longest first, with their seconds: used from twice their length on. */
const UNITS = [
  ["d", 86_400],
  ["h", 3600],
  ["min", 60],
] as const;

/** Such as `3 of 5 used, 2 left, resets in 40 s`. */
export function countText({ hits, capacity, remaining, resetSeconds, retrySeconds }: LimitCount): string {
  const used = `${hits} of ${capacity} used`;
  if (retrySeconds > 0) return `${used}, none left for ${durationText(retrySeconds)}`;
  const left = `${used}, ${remaining} left`;
  return resetSeconds > 0 ? `${left}, resets in ${durationText(resetSeconds)}` : left;
}

/** Whole seconds, rounded up to a unit in which they have at least two. */
function durationText(seconds: number): string {
  const [unit, length] = UNITS.find(([, each]) => seconds >= 2 * each) ?? ["s", 1];
  return `${Math.ceil(seconds / length)} ${unit}`;
}
