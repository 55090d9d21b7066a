// Repeats an attempt, such as connecting, until it is stopped.
import { type Backoff, type BackoffOptions, createBackoff } from "./backoff.ts";

/**
 * Runs an attempt at the start and again after each wait. The attempt reports its end: `retry` after
 * a failure, `succeeded` when it worked. One wait is pending at a time.
 */
export class RetryLoop {
  readonly #attempt: () => void;
  readonly #backoff: Backoff;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(attempt: () => void, backoff: BackoffOptions) {
    this.#attempt = attempt;
    this.#backoff = createBackoff(backoff);
  }

  /** Makes the first attempt, before it returns. */
  start(): void {
    if (!this.#isStopped) this.#attempt();
  }

  /**
   * Makes the next attempt after the wait, in milliseconds; by default that of the back-off, which
   * grows with each call. Replaces a wait that is pending. Does nothing after `stop`.
   */
  retry(waitMs: number = this.#backoff.nextMs()): void {
    clearTimeout(this.#timer);
    if (!this.#isStopped) this.#timer = setTimeout(this.#attempt, waitMs);
  }

  /** Makes the next wait as short as the first. */
  succeeded(): void {
    this.#backoff.reset();
  }

  /** Makes no further attempt. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }
}
