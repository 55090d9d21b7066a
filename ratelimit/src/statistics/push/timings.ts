// Collects durations between two flushes in whole milliseconds, grouped by value: recording one is
// an addition.
import type { StatisticsTimer } from "../statistic.ts";
import type { StatisticsStore } from "../statistics-store.ts";

/**
 * Most durations that one timer keeps for a flush, about what a channel's queue holds; later ones
 * are dropped.
 */
const DURATIONS_MAX = 100_000;

/**
 * Durations below this many milliseconds have a count each; longer, rare ones are kept one by one.
 */
const COUNTED_BELOW_MS = 1024;

/** The durations that the timers of a store record from now on. */
export class Timings {
  readonly #batches = new Map<StatisticsTimer, Batch>();
  /** Stops listening to the store. */
  readonly close: () => void;

  constructor(store: StatisticsStore) {
    this.close = store.onTimer((timer, durationMs, times) => {
      this.#batches.getOrInsertComputed(timer, newBatch).record(durationMs, times);
    });
  }

  /** Calls `visit` for each value with its number since the last call, and forgets them. */
  drain(visit: (name: string, durationMs: number, times: number) => void): void {
    for (const [{ name }, batch] of this.#batches) batch.drain((durationMs, times) => visit(name, durationMs, times));
  }
}

function newBatch(): Batch {
  return new Batch();
}

class Batch {
  readonly #counts = new Uint32Array(COUNTED_BELOW_MS);
  #longer: number[] = [];
  #size = 0;

  record(durationMs: number, times: number): void {
    const kept = Math.min(times, DURATIONS_MAX - this.#size);
    this.#size += kept;
    const wholeMs = Math.max(0, Math.trunc(durationMs));
    if (wholeMs < COUNTED_BELOW_MS) this.#counts[wholeMs] = (this.#counts[wholeMs] ?? 0) + kept;
    else for (let time = 0; time < kept; time++) this.#longer.push(wholeMs);
  }

  drain(visit: (durationMs: number, times: number) => void): void {
    if (this.#size === 0) return;
    for (const [durationMs, times] of this.#counts.entries()) if (times > 0) visit(durationMs, times);
    for (const durationMs of this.#longer) visit(durationMs, 1);
    this.#counts.fill(0);
    this.#longer = [];
    this.#size = 0;
  }
}
