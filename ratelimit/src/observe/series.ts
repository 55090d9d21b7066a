// Numbers of the last ten minutes, in steps of ten seconds: what a reader sees when it begins to watch.

/** Length of a step in seconds. */
export const STEP_SECONDS = 10;

/** Steps of ten minutes, and the one that is not over. */
export const STEPS = 61;

/** Several series of equal length. A step is a time since the epoch in units of STEP_SECONDS. */
export class Series {
  readonly #width: number;
  readonly #values: Float64Array;
  #newest: number;

  /** So many series, of zeros. */
  constructor(width: number, step: number) {
    this.#width = width;
    this.#values = new Float64Array(width * STEPS);
    this.#newest = step;
  }

  /** Adds to one of them. An amount of a step before the newest counts there: a clock may go back. */
  add(index: number, step: number, amount: number): void {
    this.#advance(step);
    const at = (this.#newest % STEPS) * this.#width + index;
    this.#values[at] = (this.#values[at] ?? 0) + amount;
  }

  /** One of them, up to and including this step. */
  read(index: number, step: number): readonly number[] {
    this.#advance(step);
    return Array.from({ length: STEPS }, (_, age) => {
      const slot = (this.#newest - STEPS + 1 + age) % STEPS;
      return this.#values[slot * this.#width + index] ?? 0;
    });
  }

  #advance(step: number): void {
    for (let next = Math.max(this.#newest + 1, step - STEPS + 1); next <= step; next++) {
      const at = (next % STEPS) * this.#width;
      this.#values.fill(0, at, at + this.#width);
    }
    this.#newest = Math.max(this.#newest, step);
  }
}
