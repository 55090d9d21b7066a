// Turns a burst of changes into one run: after a quiet period, and at the latest after a maximum
// wait.
import { timerDelayMs } from "@weir/common/timers/timer-delay";

/** How long changes must be quiet, and how long they can delay a run at most, in milliseconds. */
export interface DebounceOptions {
  readonly quietMs: number;
  readonly maxMs: number;
}

/** Delays a run until changes are quiet. Runs never overlap: a change during one causes another. */
export class Debounce {
  readonly #run: () => Promise<void>;
  readonly #clock: () => number;
  readonly #options: DebounceOptions;
  #timer: NodeJS.Timeout | undefined;
  /** The time of the first change since the last run. */
  #firstMs: number | undefined;
  #running: Promise<void> | undefined;
  #isStopped = false;

  /** `run` must not reject; `clock` gives milliseconds. */
  constructor(run: () => Promise<void>, clock: () => number, options: DebounceOptions) {
    this.#run = run;
    this.#clock = clock;
    this.#options = options;
  }

  /** Records a change. */
  changed(): void {
    const nowMs = this.#clock();
    // A clock that is set back must not delay the run by as much again.
    this.#firstMs = Math.min(this.#firstMs ?? nowMs, nowMs);
    if (this.#running !== undefined || this.#isStopped) return;
    clearTimeout(this.#timer);
    const dueMs = Math.min(nowMs + this.#options.quietMs, this.#firstMs + this.#options.maxMs);
    this.#timer = setTimeout(() => this.#start(), timerDelayMs(dueMs, nowMs));
  }

  /** Drops recorded changes and starts no further run. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  /** Resolves when the run in progress has ended. */
  async settled(): Promise<void> {
    await this.#running;
  }

  #start(): void {
    this.#firstMs = undefined;
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
      if (this.#firstMs !== undefined) this.changed();
    });
  }
}
