// Turns a burst of changes into one piece of work: it runs when changes have been quiet for a
// while, and during an endless burst now and then.

/**
 * How long changes must be quiet, and how long they can put the work off at most, in milliseconds.
 */
export interface DebounceOptions {
  readonly quietMs: number;
  readonly maxMs: number;
}

/** Work that is put off. */
export interface Debounce {
  /** Notes a change. */
  changed(): void;
  /** Forgets what is noted; nothing runs any more. */
  stop(): void;
  /** Resolves when a run that is going on has ended. */
  settled(): Promise<void>;
}

/**
 * Puts off `run`, which must not reject. Runs never overlap: a change during one is noted for the
 * next.
 */
export function createDebounce(run: () => Promise<void>, clock: () => number, options: DebounceOptions): Debounce {
  return new QuietDebounce(run, clock, options);
}

class QuietDebounce implements Debounce {
  readonly #run: () => Promise<void>;
  readonly #clock: () => number;
  readonly #options: DebounceOptions;
  #timer: NodeJS.Timeout | undefined;
  /** When the first change since the last run was noted. */
  #firstMs: number | undefined;
  #running: Promise<void> | undefined;
  #isStopped = false;

  constructor(run: () => Promise<void>, clock: () => number, options: DebounceOptions) {
    this.#run = run;
    this.#clock = clock;
    this.#options = options;
  }

  changed(): void {
    const nowMs = this.#clock();
    // A clock that is put back must not put the work off by as much again.
    this.#firstMs = Math.min(this.#firstMs ?? nowMs, nowMs);
    if (this.#running !== undefined || this.#isStopped) return;
    clearTimeout(this.#timer);
    const dueMs = Math.min(nowMs + this.#options.quietMs, this.#firstMs + this.#options.maxMs);
    this.#timer = setTimeout(() => this.#start(), Math.max(0, dueMs - nowMs));
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

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
