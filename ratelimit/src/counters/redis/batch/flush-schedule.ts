// Decides when the open batch is flushed: at the end of the event-loop turn, or after
// KVSTORE_PIPELINE_WINDOW.
import type { TurnEnd, TurnTask } from "@weir/common/turn/turn-end";
import type { PipelineOptions } from "../options.ts";

/** Shortest delay of a timer, in milliseconds. */
const TIMER_MIN_MS = 1;

export interface FlushScheduleDeps {
  readonly turn: TurnEnd;
  /** Flushes the open batch. */
  readonly flush: () => void;
  /** A monotonic clock in milliseconds, with fractions. */
  readonly nowMs?: () => number;
}

/** The schedule of one server. */
export class FlushSchedule implements TurnTask {
  readonly #turn: TurnEnd;
  readonly #flush: () => void;
  readonly #nowMs: () => number;
  readonly #windowMs: number;
  #isScheduled = false;
  /** True if the current event-loop turn has brought anything. */
  #hasNews = false;
  #beganMs = 0;
  #timer: NodeJS.Timeout | undefined;
  readonly #turnEnds = (): void => this.runAtTurnEnd();

  constructor(
    { turn, flush, nowMs = () => performance.now() }: FlushScheduleDeps,
    { windowMs }: Pick<PipelineOptions, "windowMs">,
  ) {
    this.#turn = turn;
    this.#flush = flush;
    this.#nowMs = nowMs;
    this.#windowMs = windowMs;
  }

  /** Schedules a flush for what was added to the batch. */
  note(): void {
    this.#hasNews = true;
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    if (this.#windowMs >= TIMER_MIN_MS) {
      this.#timer = setTimeout(this.#turnEnds, this.#windowMs);
      return;
    }
    if (this.#windowMs > 0) this.#beganMs = this.#nowMs();
    this.#turn.writeToStore(this);
  }

  /** Flushes now: the batch is full. */
  now(): void {
    this.cancel();
    this.#flush();
  }

  /** Cancels the scheduled flush. */
  cancel(): void {
    clearTimeout(this.#timer);
    this.#isScheduled = false;
  }

  /** Flushes, unless a window spans this end of a turn. */
  runAtTurnEnd(): void {
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
