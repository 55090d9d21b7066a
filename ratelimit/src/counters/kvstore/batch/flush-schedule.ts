// When gathered commands are flushed: at the end of the event-loop turn, or after
// KVSTORE_PIPELINE_WINDOW. It knows no commands.
import type { PipelineOptions } from "../options.ts";

/** Shortest delay of a timer, in milliseconds. */
const TIMER_MIN_MS = 1;

/** What it works with. */
export interface FlushScheduleDeps {
  /** Flushes what was gathered. */
  readonly flush: () => void;
  /** Milliseconds that never step back, with fractions. */
  readonly nowMs?: () => number;
}

/** The schedule of one server. */
export class FlushSchedule {
  readonly #flush: () => void;
  readonly #nowMs: () => number;
  readonly #windowMs: number;
  #isScheduled = false;
  /** Whether the event-loop turn that is going on has brought anything. */
  #hasNews = false;
  #beganMs = 0;
  #timer: NodeJS.Timeout | undefined;
  readonly #turnEnds = (): void => this.#endOfTurn();

  constructor(
    { flush, nowMs = () => performance.now() }: FlushScheduleDeps,
    { windowMs }: Pick<PipelineOptions, "windowMs">,
  ) {
    this.#flush = flush;
    this.#nowMs = nowMs;
    this.#windowMs = windowMs;
  }

  /** Something was gathered, and will be flushed. */
  note(): void {
    this.#hasNews = true;
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    if (this.#windowMs >= TIMER_MIN_MS) {
      this.#timer = setTimeout(this.#turnEnds, this.#windowMs);
      return;
    }
    if (this.#windowMs > 0) this.#beganMs = this.#nowMs();
    setImmediate(this.#turnEnds);
  }

  /** Flushes now, because enough was gathered. */
  now(): void {
    this.cancel();
    this.#flush();
  }

  /** Forgets what was noted. */
  cancel(): void {
    clearTimeout(this.#timer);
    this.#isScheduled = false;
  }

  #endOfTurn(): void {
    if (!this.#isScheduled) return; // Flushed already.
    if (
      this.#windowMs > 0 &&
      this.#windowMs < TIMER_MIN_MS &&
      this.#hasNews &&
      this.#nowMs() - this.#beganMs < this.#windowMs
    ) {
      this.#hasNews = false;
      setImmediate(this.#turnEnds);
      return;
    }
    this.#isScheduled = false;
    this.#flush();
  }
}
