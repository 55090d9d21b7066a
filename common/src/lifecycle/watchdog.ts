// A deadline that is set again and again by signs of life.

/** Runs `expired` when the deadline was not set again in time. */
export class Watchdog {
  readonly #expired: () => void;
  #timer: NodeJS.Timeout | undefined;
  #check: NodeJS.Immediate | undefined;

  constructor(expired: () => void) {
    this.#expired = expired;
  }

  /** Sets the deadline, in milliseconds from now. */
  reset(ms: number): void {
    this.stop();
    this.#timer = setTimeout(() => {
      // After this process itself stood still, the timer comes before what was received meanwhile.
      this.#check = setImmediate(this.#expired);
    }, ms);
  }

  stop(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#check);
  }
}
