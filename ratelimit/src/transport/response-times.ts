// Response times of one gRPC method. The clock is read per event-loop turn, not per call: a call lasts
// from the turn in which it arrives to the end of the turn in which it is answered.
import type { TurnEnd, TurnTask } from "@weir/common/turn/turn-end";

import type { StatisticsTimer } from "../statistics/statistic.ts";

/** Dependencies of response times. `nowMs` is a clock that only goes forward. */
export interface ResponseTimesDeps {
  readonly turn: TurnEnd;
  readonly nowMs: () => number;
}

/** The response times of a method. */
export class ResponseTimes implements TurnTask {
  readonly #timer: StatisticsTimer;
  readonly #deps: ResponseTimesDeps;
  /** When the calls of this turn began; undefined before the first. */
  #turnMs: number | undefined;
  #isScheduled = false;
  /** When the calls that were answered in this turn began, and how many began then. */
  readonly #starts: number[] = [];
  readonly #counts: number[] = [];

  constructor(timer: StatisticsTimer, deps: ResponseTimesDeps) {
    this.#timer = timer;
    this.#deps = deps;
  }

  /** A call begins; returns its time for `end`, in milliseconds. */
  begin(): number {
    if (this.#turnMs !== undefined) return this.#turnMs;
    this.#schedule();
    return (this.#turnMs = this.#deps.nowMs());
  }

  /** A call is answered that began at `startMs`. */
  end(startMs: number): void {
    // Calls that began together are mostly answered together.
    const last = this.#starts.length - 1;
    if (this.#starts[last] === startMs) this.#counts[last] = (this.#counts[last] ?? 0) + 1;
    else {
      this.#starts.push(startMs);
      this.#counts.push(1);
      this.#schedule();
    }
  }

  runAtTurnEnd(): void {
    this.#isScheduled = false;
    this.#turnMs = undefined;
    if (this.#starts.length === 0) return;
    const nowMs = this.#deps.nowMs();
    this.#starts.forEach((startMs, index) => this.#timer.record(nowMs - startMs, this.#counts[index] ?? 0));
    this.#starts.length = 0;
    this.#counts.length = 0;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#deps.turn.writeAnswers(this);
  }
}
