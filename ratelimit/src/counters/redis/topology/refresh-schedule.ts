// Schedules the questions for where the primary or the slots are: regularly, soon after a change, and
// with a bound on their number. One question is under way at a time.
import { RetryLoop } from "@weir/common/backoff/retry-loop";

/** Share of a regular wait that is drawn at random, so that processes do not ask in step. */
const JITTER = 0.2;

/** Waits between an answer and the next question, in milliseconds. */
export interface RefreshTiming {
  /** While the store works. */
  readonly regularMs: number;
  /** While a part of the store is away, or the last question had no answer. */
  readonly degradedMs: number;
  /** After a request for an answer; the shortest wait there is. */
  readonly soonMs: number;
}

export interface RefreshScheduleDeps {
  /** Asks and applies the answer; resolves with true if there was one. Must not reject. */
  readonly refresh: () => Promise<boolean>;
  /** Returns true while a part of the store that is needed is away. */
  readonly isDegraded: () => boolean;
  /** Waits between questions until the first answer, in milliseconds. */
  readonly startup: { readonly initialMs: number; readonly maxMs: number };
  /** From 0 up to but not including 1. */
  readonly random: () => number;
}

/** The schedule; idle until `start`. */
export class RefreshSchedule {
  readonly #deps: RefreshScheduleDeps;
  readonly #timing: RefreshTiming;
  readonly #loop: RetryLoop;
  #isRefreshing = false;
  /** True if an answer newer than the last one, or the one under way, is requested. */
  #isRequested = false;
  #hasAnswer = false;

  constructor(deps: RefreshScheduleDeps, timing: RefreshTiming) {
    const { initialMs, maxMs } = deps.startup;
    this.#deps = deps;
    this.#timing = timing;
    this.#loop = new RetryLoop(() => this.#refresh(), {
      initialMs,
      maxMs,
      factor: 1,
      jitter: true,
      random: deps.random,
    });
  }

  /** Asks for the first time, immediately. */
  start(): void {
    this.#loop.start();
  }

  /** Asks soon, because the answer may have changed. Does not hurry the first answer. */
  soon(): void {
    if (this.#isRequested || !this.#hasAnswer) return;
    this.#isRequested = true;
    if (!this.#isRefreshing) this.#loop.retry(this.#timing.soonMs);
  }

  /** Asks no more. */
  close(): void {
    this.#loop.stop();
  }

  #refresh(): void {
    this.#isRefreshing = true;
    this.#isRequested = false;
    void this.#deps.refresh().then((isAnswered) => {
      this.#isRefreshing = false;
      this.#hasAnswer ||= isAnswered;
      this.#loop.retry(this.#hasAnswer ? this.#waitMs(isAnswered) : undefined);
    });
  }

  #waitMs(isAnswered: boolean): number {
    const { regularMs, degradedMs, soonMs } = this.#timing;
    if (isAnswered && this.#isRequested) return soonMs;
    const waitMs = isAnswered && !this.#deps.isDegraded() ? regularMs : degradedMs;
    return waitMs * (1 - JITTER * this.#deps.random());
  }
}
