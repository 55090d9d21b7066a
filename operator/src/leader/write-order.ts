// Lets writes that people wait for go first: all others wait while such writes follow each other.
import type { ObjectWriter } from "@weir/kubernetes/client/object-client";

/** Longest gap between two writes of a row, in milliseconds; also how often it is looked whether the row is over. */
const GAP_MS = 25;

/**
 * How long a row holds the other writes, in milliseconds; what is written later in it is not held. Not how long
 * each waits: writers that write one at a time would wait as long again for every write.
 */
const HELD_MAX_MS = 5000;

/** The writes that are put in order. */
type OrderedWriter = Pick<ObjectWriter, "apply" | "delete">;

/** Puts the writes of one process in order. */
export class WriteOrder {
  /** For writes that people wait for. */
  readonly first: OrderedWriter;
  /** For writes that may come later. A signal that is aborted ends the wait, not the write. */
  readonly later: OrderedWriter;
  readonly #monotonicMs: () => number;
  #underWay = 0;
  /** When the row began. */
  #beganMs = -Infinity;
  /** When the last write of a row ended. */
  #endedMs = -Infinity;

  /** `monotonicMs` is a clock that only goes forward, in milliseconds. */
  constructor(objects: OrderedWriter, monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
    this.first = {
      apply: (...args) => this.#first(() => objects.apply(...args)),
      delete: (...args) => this.#first(() => objects.delete(...args)),
    };
    this.later = {
      apply: async (kind, object, options, signal) => {
        await this.#turn(signal);
        return await objects.apply(kind, object, options, signal);
      },
      delete: async (kind, name, options, signal) => {
        await this.#turn(signal);
        return await objects.delete(kind, name, options, signal);
      },
    };
  }

  async #first<T>(write: () => Promise<T>): Promise<T> {
    const nowMs = this.#monotonicMs();
    // After two gaps: who waits looks once in a gap, and has seen then that the row was over.
    if (this.#underWay === 0 && nowMs - this.#endedMs >= 2 * GAP_MS) this.#beganMs = nowMs;
    this.#underWay += 1;
    try {
      return await write();
    } finally {
      this.#underWay -= 1;
      this.#endedMs = this.#monotonicMs();
    }
  }

  /** Resolves when no write of a row is under way, or the row has held others for long enough. */
  async #turn(signal: AbortSignal): Promise<void> {
    const askedMs = this.#monotonicMs();
    while (!signal.aborted) {
      const nowMs = this.#monotonicMs();
      if (this.#underWay === 0 && nowMs - this.#endedMs >= GAP_MS) return;
      if (nowMs - Math.min(this.#beganMs, askedMs) >= HELD_MAX_MS) return;
      await new Promise((resolve) => void setTimeout(resolve, GAP_MS));
    }
  }
}
