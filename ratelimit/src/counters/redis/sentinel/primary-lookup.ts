// Asks the sentinels for the primary, in an order that follows what they have reported.
import { firstAnswer } from "../topology/first-answer.ts";

/** The order in which sentinels are asked. */
export class PrimaryLookup<Sentinel, Answer> {
  readonly #sentinels: readonly Sentinel[];
  readonly #ask: (sentinel: Sentinel, signal: AbortSignal) => Promise<Answer>;
  /** Index of the sentinel to ask first. */
  #first = 0;
  /** Index of the sentinel that was asked first in the last lookup; -1 after {@link prefer}. */
  #lastFirst = 0;

  constructor(sentinels: readonly Sentinel[], ask: (sentinel: Sentinel, signal: AbortSignal) => Promise<Answer>) {
    this.#sentinels = sentinels;
    this.#ask = ask;
  }

  /** Makes a sentinel the first to be asked: it has reported a change. */
  prefer(sentinel: Sentinel): void {
    this.#first = Math.max(0, this.#sentinels.indexOf(sentinel));
    this.#lastFirst = -1; // Preferred also if it is the one that was asked.
  }

  /** Makes the next sentinel the first to be asked, unless another one is preferred since. */
  advance(): void {
    if (this.#first === this.#lastFirst) this.#first = (this.#first + 1) % this.#sentinels.length;
  }

  /** The first answer. Rejects with the first error when all sentinels have failed. */
  ask(): Promise<Answer> {
    const first = this.#first;
    this.#lastFirst = first;
    return firstAnswer([...this.#sentinels.slice(first), ...this.#sentinels.slice(0, first)], this.#ask);
  }
}
