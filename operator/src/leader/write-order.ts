// Lets writes that people wait for go first: all others wait while such writes follow each other.
import type { ObjectWriter } from "@weir/kubernetes/client/object-client";

/** Longest gap between two writes of a row, in milliseconds; also how often it is looked whether the row is over. */
const GAP_MS = 25;

/** How long one of the other writes waits at most, in milliseconds: a row without an end delays, but blocks nothing. */
const WAIT_MAX_MS = 1000;

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
    this.#underWay += 1;
    try {
      return await write();
    } finally {
      this.#underWay -= 1;
      this.#endedMs = this.#monotonicMs();
    }
  }

  /** Resolves when no write of a row is under way. */
  async #turn(signal: AbortSignal): Promise<void> {
    const untilMs = this.#monotonicMs() + WAIT_MAX_MS;
    while (!signal.aborted) {
      const nowMs = this.#monotonicMs();
      if (nowMs >= untilMs || (this.#underWay === 0 && nowMs - this.#endedMs >= GAP_MS)) return;
      await new Promise((resolve) => void setTimeout(resolve, GAP_MS));
    }
  }
}
