// Keeps one HTTP/1.1 connection from having any number of requests on their way: a client may send
// them without waiting for answers, and Node takes all that come. It knows nothing of what they
// ask.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * Most requests of one connection without their answer. Whoever pipelines at all sends a few dozen.
 */
export const UNANSWERED_MAX = 256;

/** Counts the requests of each connection of a server. */
export class PipeliningLimit {
  readonly #unanswered = new WeakMap<Socket, number>();

  /**
   * Whether a request may be handled. One too many ends its connection: an answer would stand
   * behind all the others.
   */
  admit({ socket }: IncomingMessage, response: ServerResponse): boolean {
    const unanswered = this.#unanswered.get(socket) ?? 0;
    if (unanswered >= UNANSWERED_MAX) {
      socket.destroy();
      return false;
    }
    this.#unanswered.set(socket, unanswered + 1);
    response.once("close", () => this.#unanswered.set(socket, (this.#unanswered.get(socket) ?? 1) - 1));
    return true;
  }
}
