// Runs a few pieces of costly work at a time, fairly: the networks of callers take turns, the one with
// the most pieces makes place in a full queue, and a piece whose turn would come too late is refused.
import { FairShares } from "@weir/common/callers/fair-shares";
import { addAbortListener } from "node:events";

/** Weight of the newest duration in the mean. */
const MEAN_WEIGHT = 0.2;

/** Bounds of a queue. */
export interface QueueOptions {
  /** How many pieces run at a time. */
  readonly concurrency: number;
  /** How many may have a place: wait for their turn, or for what comes before it. */
  readonly placesMax: number;
  /** Longest expected wait of an accepted piece, and longest wait of any, in milliseconds. */
  readonly waitMaxMs: number;
  /** The error for a refused one. */
  readonly refusal: () => Error;
  /** Milliseconds of a clock that only goes forward. */
  readonly nowMs: () => number;
  /** Called with the number of pieces that wait for their turn whenever it changes. */
  readonly onDepth?: (waiting: number) => void;
  /** Called with the duration of each piece, in seconds. */
  readonly onDone?: (seconds: number) => void;
}

/** A place in the queue. */
export interface Place {
  /** Runs `work` when its turn comes and gives the place up; rejects with the reason of the call's signal. */
  run<T>(work: () => Promise<T>): Promise<T>;
  /** Gives the place up. */
  [Symbol.dispose](): void;
}

/** A queue in front of costly work. Groups are the networks of callers, from wide to narrow. */
export class WorkQueue {
  readonly #options: QueueOptions;
  readonly #places = new FairShares<AbortController>();
  readonly #turns = new FairShares<() => void>();
  #running = 0;
  /** Mean duration of the last pieces; undefined before the first has ended. */
  #meanMs: number | undefined;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  /**
   * A place for a piece of work to come. Throws the refusal when its turn would come too late, or no group
   * has more places than this one. `call` is aborted with the refusal when it must make place.
   */
  reserve(networks: readonly string[], call: AbortController): Place {
    const places = this.#places;
    if (this.#expectedWaitMs(networks) > this.#options.waitMaxMs) throw this.#options.refusal();
    if (places.weight >= this.#options.placesMax) {
      const displaced = places.toDisplace(networks);
      if (displaced === undefined) throw this.#options.refusal();
      displaced.abort(this.#options.refusal());
    }
    places.add(networks, call);
    const leave = addAbortListener(call.signal, () => places.remove(networks, call));
    const giveUp = (): void => {
      leave[Symbol.dispose]();
      places.remove(networks, call);
    };
    return { run: (work) => this.#run(networks, call, giveUp, work), [Symbol.dispose]: giveUp };
  }

  /** Runs `work` when its turn comes and resolves to its result; rejects with the refusal, or the reason of `call`. */
  async run<T>(networks: readonly string[], work: () => Promise<T>, call = new AbortController()): Promise<T> {
    if (this.#running >= this.#options.concurrency) return this.reserve(networks, call).run(work);
    return this.#run(networks, call, () => undefined, work);
  }

  async #run<T>(
    networks: readonly string[],
    call: AbortController,
    giveUp: () => void,
    work: () => Promise<T>,
  ): Promise<T> {
    try {
      call.signal.throwIfAborted();
      if (this.#running >= this.#options.concurrency)
        await this.#waitForTurn(networks, call); // A finished piece passes on its slot: the number of running ones stays.
      else this.#running += 1;
    } finally {
      giveUp();
    }
    const startedMs = this.#options.nowMs();
    try {
      const result = await work();
      this.#measure(this.#options.nowMs() - startedMs); // Only work that was done: a failed piece can be quick.
      return result;
    } finally {
      this.#options.onDone?.((this.#options.nowMs() - startedMs) / 1000);
      this.#passOn();
    }
  }

  #waitForTurn(networks: readonly string[], call: AbortController): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#turns.add(networks, resolve);
    this.#countWaiting();
    const timer = setTimeout(() => call.abort(this.#options.refusal()), this.#options.waitMaxMs);
    const aborted = addAbortListener(call.signal, () => {
      this.#turns.remove(networks, resolve);
      this.#countWaiting();
      reject(call.signal.reason as Error);
    });
    return promise.finally(() => {
      clearTimeout(timer);
      aborted[Symbol.dispose]();
    });
  }

  #passOn(): void {
    const start = this.#turns.next();
    if (start === undefined) {
      this.#running -= 1;
      return;
    }
    this.#countWaiting();
    start();
  }

  #expectedWaitMs(networks: readonly string[]): number {
    return (this.#turns.turnsUntil(networks) * (this.#meanMs ?? 0)) / this.#options.concurrency;
  }

  #measure(durationMs: number): void {
    const mean = this.#meanMs ?? durationMs;
    this.#meanMs = mean + MEAN_WEIGHT * (durationMs - mean);
  }

  #countWaiting(): void {
    this.#options.onDepth?.(this.#turns.weight);
  }
}
