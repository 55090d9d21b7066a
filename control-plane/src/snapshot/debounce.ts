// Turns a burst of changes into few runs: one soon after its first change, so that a single change does not wait, and
// then one after a quiet period, at the latest after a maximum wait.
import { timerDelayMs } from "@weir/common/timers/timer-delay";

/** How long a change waits that comes after a quiet period, in milliseconds: what comes with it is one run with it. */
const FIRST_WAIT_MS = 10;

/** How long changes must be quiet, and how long they can delay a run at most, in milliseconds. */
export interface DebounceOptions {
  readonly quietMs: number;
  readonly maxMs: number;
}

/** Runs soon after a first change, and after further ones when they are quiet. Runs never overlap: a change during one causes another. */
export class Debounce {
  readonly #run: () => Promise<void>;
  readonly #clock: () => number;
  readonly #options: DebounceOptions;
  #timer: NodeJS.Timeout | undefined;
  /** The time of the first change since the last run. */
  #firstMs: number | undefined;
  /** The time of the last change. */
  #lastMs = -Infinity;
  /** True while the timer is that of a change after a quiet period: further ones do not put it off. */
  #isSoon = false;
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
    const { quietMs, maxMs } = this.#options;
    const nowMs = this.#clock();
    const isFirst = this.#firstMs === undefined && nowMs - this.#lastMs >= quietMs;
    this.#lastMs = nowMs;
    // A clock that is set back must not delay the run by as much again.
    this.#firstMs = Math.min(this.#firstMs ?? nowMs, nowMs);
    if (this.#isSoon || this.#running !== undefined || this.#isStopped) return;
    this.#isSoon = isFirst;
    clearTimeout(this.#timer);
    const waitMs = isFirst ? Math.min(FIRST_WAIT_MS, quietMs) : quietMs;
    const dueMs = Math.min(nowMs + waitMs, this.#firstMs + maxMs);
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
    this.#isSoon = false;
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
      if (this.#firstMs !== undefined) this.changed();
    });
  }
}
