// Expiries that a server is to be sent after their increments: those that were refused or lost, or
// whose key was. They go ahead of its next turn.
import type { CommandSink } from "../connection/command-sink.ts";
import type { KeyExpiry } from "./command-batch.ts";

/**
 * Most that wait for a connection; beyond it the next increment of the key brings the expiry along.
 */
const WAITING_MAX = 100_000;

/** What waits for one server. */
export class ExpiryRetryQueue {
  #waiting: { readonly expiry: KeyExpiry; readonly isAsking: boolean }[] = [];

  /** Whether none waits. */
  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Takes one; with `isAsking` an ASKING goes before it. */
  add(expiry: KeyExpiry, isAsking: boolean): void {
    if (this.#waiting.length < WAITING_MAX) this.#waiting.push({ expiry, isAsking });
  }

  /**
   * Writes all, and gives the number of commands. What they are answered is of no use: no memory
   * says that these keys have an expiry.
   */
  write(sink: CommandSink): number {
    const waiting = this.#waiting;
    if (waiting.length === 0) return 0; // So it is for nearly every turn.
    this.#waiting = [];
    let commands = waiting.length;
    for (const { expiry, isAsking } of waiting) {
      if (isAsking) {
        sink.asking();
        commands += 1;
      }
      sink.expire(expiry.key, expiry.seconds);
    }
    return commands;
  }
}
