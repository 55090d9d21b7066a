// Runs costly work a few at a time. What waits is bounded in number and in time, so that overload
// is refused and not piled up.

/** Bounds of a queue. */
export interface QueueOptions {
  /** How much runs at once. */
  readonly concurrency: number;
  /** How much waits at most; the next one is refused. */
  readonly waitingMax: number;
  /** How long one waits at most, in milliseconds. */
  readonly waitMaxMs: number;
  /** The error for a refused one. */
  readonly refusal: () => Error;
  /** Told the number of waiting ones whenever it changes. */
  readonly onDepth?: (waiting: number) => void;
  /** Told how long a piece of work ran, in seconds. */
  readonly onDone?: (seconds: number) => void;
}

/** A queue in front of costly work. */
export interface Queue {
  /**
   * Runs `work` in its turn and resolves to its result; rejects with the refusal when the queue is
   * full or the wait too long.
   */
  run<T>(work: () => Promise<T>): Promise<T>;
}

/** A queue that serves in the order of arrival. */
export function createWorkQueue(options: QueueOptions): Queue {
  return new WorkQueue(options);
}

class WorkQueue implements Queue {
  readonly #options: QueueOptions;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#options.concurrency)
      await this.#turn(); // A finished one hands over its place: running stays the same.
    else this.#running += 1;
    const startedAt = performance.now();
    try {
      return await work();
    } finally {
      this.#options.onDone?.((performance.now() - startedAt) / 1000);
      this.#release();
    }
  }

  #turn(): Promise<void> {
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
