// Expiries to be sent to a server again: they were refused or lost, or their key was. They precede
// the next batch.
import type { CommandBuffer } from "../connection/command-buffer.ts";
import { IgnoredReplies } from "../connection/reply.ts";
import type { KeyExpiry } from "./expiry-cache.ts";

/** Most expiries in the queue; beyond it the next increment of the key sends the expiry. */
const WAITING_MAX = 100_000;

/** The queue of one server. */
export class ExpiryRetryQueue {
  readonly #waiting: { readonly expiry: KeyExpiry; readonly isAsking: boolean }[] = [];

  /** True if none waits. */
  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Adds one; with `isAsking` it is preceded by ASKING. */
  add(expiry: KeyExpiry, isAsking: boolean): void {
    if (this.#waiting.length < WAITING_MAX) this.#waiting.push({ expiry, isAsking });
  }

  /**
   * Writes the first of them, and returns the receiver of the replies; undefined when none waits. The
   * replies do not matter: these keys are not in the expiry cache.
   */
  write(buffer: CommandBuffer, max: number): IgnoredReplies | undefined {
    if (this.isEmpty) return undefined; // The usual case.
    const waiting = this.#waiting.splice(0, max);
    let commands = waiting.length;
    for (const { expiry, isAsking } of waiting) {
      if (isAsking) {
        buffer.asking();
        commands += 1;
      }
      buffer.expire(expiry.key, Buffer.byteLength(expiry.key), expiry.seconds);
    }
    return new IgnoredReplies(commands);
  }
}
