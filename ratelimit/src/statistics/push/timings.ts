// Durations between two sendings, in whole milliseconds and grouped by value: recording one is an
// addition, and a second of them takes little memory.
import type { StatisticsStore, StatisticsTimer } from "../statistics-store.ts";

/**
 * Most durations that one timer keeps for the next sending; about as much as the queue of a channel
 * takes. Later ones are dropped.
 */
const DURATIONS_MAX = 100_000;

/**
 * Durations below this many milliseconds have a count each; longer ones, which are rare, are kept
 * one by one.
 */
const COUNTED_BELOW_MS = 1024;

/** Durations that wait to be sent. */
export interface Timings {
  /** Tells each value with how often it was recorded since the last call, and forgets them. */
  drain(tell: (name: string, durationMs: number, times: number) => void): void;
  /** Ends listening to the store. */
  close(): void;
}

/** Listens to the timers of a store from now on. */
export function openTimings(store: StatisticsStore): Timings {
  const batches = new Map<StatisticsTimer, Batch>();
  const close = store.onTimer((timer, durationMs) => {
    let batch = batches.get(timer);
    if (batch === undefined) batches.set(timer, (batch = new Batch()));
    batch.record(durationMs);
  });
  return {
    drain(tell) {
      for (const [{ name }, batch] of batches) batch.drain((durationMs, times) => tell(name, durationMs, times));
    },
    close,
  };
}

class Batch {
  readonly #counts = new Uint32Array(COUNTED_BELOW_MS);
  #longer: number[] = [];
  #size = 0;

  record(durationMs: number): void {
    if (this.#size >= DURATIONS_MAX) return;
    this.#size += 1;
    const wholeMs = Math.max(0, Math.trunc(durationMs));
    if (wholeMs < COUNTED_BELOW_MS) this.#counts[wholeMs] = (this.#counts[wholeMs] ?? 0) + 1;
    else this.#longer.push(wholeMs);
  }

  drain(tell: (durationMs: number, times: number) => void): void {
    if (this.#size === 0) return;
    for (const [durationMs, times] of this.#counts.entries()) if (times > 0) tell(durationMs, times);
    for (const durationMs of this.#longer) tell(durationMs, 1);
    this.#counts.fill(0);
    this.#longer = [];
    this.#size = 0;
  }
}
