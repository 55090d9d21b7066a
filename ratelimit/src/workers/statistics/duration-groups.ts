// Groups durations of about the same length, so that a report of a hundred thousand of them is short.
// Their number and sum are exact.

/** Groups per doubling of the duration: the durations of a group differ by about a percent. */
const GROUPS_PER_DOUBLING = 64;

/** Shortest duration that differs from 0, in milliseconds; with the longest, it bounds the groups. */
const SHORTEST_MS = 1e-3;
const LONGEST_MS = 1e7;

/** Durations of one timer. */
export class DurationGroups {
  readonly #groups = new Map<number, { times: number; sumMs: number }>();

  /** Adds a duration, or several that are equal. */
  record(durationMs: number, times: number): void {
    const limited = Math.min(LONGEST_MS, Math.max(SHORTEST_MS, durationMs));
    const index = Math.round(Math.log2(limited) * GROUPS_PER_DOUBLING);
    const group = this.#groups.get(index);
    if (group === undefined) {
      this.#groups.set(index, { times, sumMs: durationMs * times });
    } else {
      group.times += times;
      group.sumMs += durationMs * times;
    }
  }

  /** Calls `visit` with the mean and the number of each group, and forgets them. */
  drain(visit: (durationMs: number, times: number) => void): void {
    for (const { times, sumMs } of this.#groups.values()) visit(sumMs / times, times);
    this.#groups.clear();
  }
}
