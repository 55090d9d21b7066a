// Answers that may be long, such as a hundred thousand statistics: written piece by piece, one
// piece per turn of the event loop, no faster than they are read, and only a few at a time. It
// knows nothing of what is in them.
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";

/** Length of text that is written at once, in UTF-16 units. */
const CHUNK_LENGTH = 65_536;

/**
 * Most answers that are made at a time, for each may hold a copy of all statistics; others wait for
 * their turn.
 */
const RUNNING_MAX = 2;

/** How long a client may take nothing, in milliseconds: it has the turn of another. */
const CLIENT_TIMEOUT_MS = 30_000;

/** A text in pieces; an empty piece lets others go on, too. */
export type Pieces = Generator<string, void>;

/** Sends texts that come in pieces. */
export interface PacedResponses {
  /**
   * Sends what `write` makes and ends the response. Resolves when everything is handed over, or the
   * client has gone.
   */
  send(response: ServerResponse, write: () => Pieces): Promise<void>;
}

/**
 * Makes a sender with a queue of its own. A client that takes nothing for `clientTimeoutMs` loses
 * its connection.
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

/** Resolves when the client has read enough, or has gone; one that reads nothing is made to go. */
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
