// Runs a few pieces of costly work at a time. The number of waiting ones and their wait are bounded,
// so that overload is refused.

/** Bounds of a queue. */
export interface QueueOptions {
  /** How many pieces run at a time. */
  readonly concurrency: number;
  /** How many wait at most; the next one is refused. */
  readonly waitingMax: number;
  /** Longest wait, in milliseconds. */
  readonly waitMaxMs: number;
  /** The error for a refused one. */
  readonly refusal: () => Error;
  /** Called with the number of waiting ones whenever it changes. */
  readonly onDepth?: (waiting: number) => void;
  /** Called with the duration of each piece, in seconds. */
  readonly onDone?: (seconds: number) => void;
}

/** A queue in front of costly work, which serves in the order of arrival. */
export class WorkQueue {
  readonly #options: QueueOptions;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  /**
   * Runs `work` when it is first and resolves to its result; rejects with the refusal when the queue is
   * full or the wait too long.
   */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#options.concurrency)
      await this.#waitForSlot(); // A finished one passes on its slot: the number of running ones stays.
    else this.#running += 1;
    const startedAt = performance.now();
    try {
      return await work();
    } finally {
      this.#options.onDone?.((performance.now() - startedAt) / 1000);
      this.#release();
    }
  }

  #waitForSlot(): Promise<void> {
    if (this.#waiting.length >= this.#options.waitingMax) return Promise.reject(this.#options.refusal());
    return new Promise((resolve, reject) => {
      const start = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(start), 1);
        this.#options.onDepth?.(this.#waiting.length);
        reject(this.#options.refusal());
      }, this.#options.waitMaxMs);
      this.#waiting.push(start);
      this.#options.onDepth?.(this.#waiting.length);
    });
  }

  #release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) {
      this.#running -= 1;
      return;
    }
    this.#options.onDepth?.(this.#waiting.length);
    next();
  }
}
