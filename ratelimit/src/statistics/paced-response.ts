// Sends long HTTP responses, such as a hundred thousand statistics, in pieces: one piece per turn
// of the event loop, no faster than the client reads, and only a few responses at a time.
import type { ServerResponse } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";

/** Least text of one write, in UTF-16 units. */
const CHUNK_LENGTH = 65_536;

/** Most responses at a time, because each may contain a copy of all statistics; others wait. */
const RUNNING_MAX = 2;

/** Longest time without progress of a client, in milliseconds: others wait for it. */
const CLIENT_TIMEOUT_MS = 30_000;

/** A text in pieces; after each, also an empty one, other work runs. */
export type Pieces = Generator<string, void>;

/**
 * Sends texts that come in pieces. The connection of a client that reads nothing for
 * `clientTimeoutMs` is closed.
 */
export class PacedResponses {
  readonly #clientTimeoutMs: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(clientTimeoutMs: number = CLIENT_TIMEOUT_MS) {
    this.#clientTimeoutMs = clientTimeoutMs;
  }

  /**
   * Sends the pieces of `write` and ends the response. Resolves then, or when the client has gone.
   */
  async send(response: ServerResponse, write: () => Pieces): Promise<void> {
    while (this.#running >= RUNNING_MAX) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#running += 1;
    try {
      await sendPieces(response, write(), this.#clientTimeoutMs);
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.();
    }
  }
}

async function sendPieces(response: ServerResponse, pieces: Pieces, clientTimeoutMs: number): Promise<void> {
  let chunk = "";
  for (const piece of pieces) {
    if (isGone(response)) return;
    chunk += piece;
    if (chunk.length >= CHUNK_LENGTH) {
      if (!response.write(chunk)) await drained(response, clientTimeoutMs);
      chunk = "";
    }
    await nextTurn();
  }
  if (!isGone(response)) response.end(chunk);
}

function isGone(response: ServerResponse): boolean {
  return response.destroyed || response.writableEnded;
}

/**
 * Resolves when the client has read enough or has gone; closes the connection of one that reads
 * nothing.
 */
async function drained(response: ServerResponse, timeoutMs: number): Promise<void> {
  if (isGone(response)) return;
  const timer = setTimeout(() => response.destroy(), timeoutMs);
  const { promise, resolve } = Promise.withResolvers<void>();
  response.once("drain", resolve).once("close", resolve);
  await promise;
  response.off("drain", resolve).off("close", resolve);
  clearTimeout(timer);
}
