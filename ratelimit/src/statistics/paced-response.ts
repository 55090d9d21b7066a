// Sends long HTTP responses, such as a hundred thousand statistics, in pieces: one piece per turn
// of the event loop, no faster than the client reads, and only a few responses at a time.
import { once } from "node:events";
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

/** Sends texts that come in pieces. */
export interface PacedResponses {
  /**
   * Sends the pieces of `write` and ends the response. Resolves then, or when the client has gone.
   */
  send(response: ServerResponse, write: () => Pieces): Promise<void>;
}

/**
 * Creates a sender with a queue. The connection of a client that reads nothing for
 * `clientTimeoutMs` is closed.
 */
export function createPacedResponses(clientTimeoutMs: number = CLIENT_TIMEOUT_MS): PacedResponses {
  let running = 0;
  const waiting: (() => void)[] = [];
  return {
    async send(response, write) {
      while (running >= RUNNING_MAX) {
        const { promise, resolve } = Promise.withResolvers<void>();
        waiting.push(resolve);
        await promise;
      }
      running += 1;
      try {
        await sendPieces(response, write(), clientTimeoutMs);
      } finally {
        running -= 1;
        waiting.shift()?.();
      }
    },
  };
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
  const end = new AbortController();
  const timer = setTimeout(() => response.destroy(), timeoutMs);
  await Promise.race([
    once(response, "drain", { signal: end.signal }),
    once(response, "close", { signal: end.signal }),
  ]);
  clearTimeout(timer);
  end.abort();
}
