// Says in the log that calls are answered without their counters, and why: callers often drop the
// reason, and where failures are allowed they never see one. At most one line in ten seconds,
// however many calls fail.
import type { Log } from "@weir/common/log/log";
import type { StoreError } from "../counters/store-error.ts";
import type { FailureMode } from "./decider.ts";

/** Shortest time between two lines, in milliseconds. */
const INTERVAL_MS = 10_000;

/** Notes calls whose counters failed. */
export class FailureLog {
  readonly #log: Log;
  readonly #answer: FailureMode;
  #toldMs = -Infinity;
  #untold = 0;

  constructor(log: Log, answer: FailureMode) {
    this.#log = log;
    this.#answer = answer;
  }

  /**
   * The counters of a call failed; `calls` in the next line says how many did since the line
   * before.
   */
  note(error: StoreError, nowMs: number): void {
    this.#untold += 1;
    const sinceMs = nowMs - this.#toldMs;
    if (sinceMs >= 0 && sinceMs < INTERVAL_MS) return; // A clock that was set back does not silence it.
    this.#log.warn("Calls cannot be counted", { error, calls: this.#untold, answer: this.#answer });
    this.#toldMs = nowMs;
    this.#untold = 0;
  }
}
