// The delays of timers that end at a time.
import { TIMER_MAX_MS } from "../settings/parse-values.ts";

/**
 * The delay for `setTimeout` until `dueMs`, in milliseconds, of the clock that says `nowMs`: 0 when that time is over,
 * as after a process was frozen, and at most what a timer can wait, as for a deadline in months. Node logs a warning
 * about other delays and waits for 1 ms instead. The timer may end early, so that its callback looks again.
 */
export function timerDelayMs(dueMs: number, nowMs: number): number {
  return Math.min(Math.max(0, dueMs - nowMs), TIMER_MAX_MS);
}
