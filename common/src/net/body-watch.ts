// Watches the bodies of all requests of a listener that have not come completely, with one timer.
import type { IncomingMessage } from "node:http";

import { type BodyPace, BodyProgress } from "./body-pace.ts";

/** How often bodies are checked, in milliseconds. */
const CHECK_INTERVAL_MS = 1000;

/** The dependencies of the watch; `nowMs` is any clock that does not jump. */
export interface BodyWatchDeps {
  readonly nowMs: () => number;
  /** Receives each request whose body comes too slowly, once. */
  readonly late: (request: IncomingMessage) => void;
}

/** The watch. Its timer runs only while a body is on its way. */
export class BodyWatch {
  readonly #deps: BodyWatchDeps;
  readonly #pace: BodyPace;
  readonly #bodies = new Map<IncomingMessage, BodyProgress>();
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: BodyWatchDeps, pace: BodyPace) {
    this.#deps = deps;
    this.#pace = pace;
  }

  /** Watches the body of a request, if it has one that has not come yet. */
  add(request: IncomingMessage): void {
    if (request.complete || !hasBody(request)) return;
    this.#bodies.set(request, new BodyProgress(this.#pace, this.#deps.nowMs(), bytesOf(request)));
    this.#timer ??= setInterval(() => this.#check(), CHECK_INTERVAL_MS).unref();
  }

  #check(): void {
    const nowMs = this.#deps.nowMs();
    for (const [request, progress] of this.#bodies) {
      if (request.complete || request.destroyed) this.#bodies.delete(request);
      else if (request.readableLength > 0) progress.excuse(nowMs, bytesOf(request));
      else if (progress.isLate(nowMs, bytesOf(request))) {
        this.#bodies.delete(request);
        this.#deps.late(request);
      }
    }
    if (this.#bodies.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/**
 * Returns true if a request has a body at all (RFC 9112 section 6); Node calls one without complete only
 * after its handler ran.
 */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

/** Counted by the connection: a listener for the data would start its flow, before the reader wants it. */
function bytesOf({ socket }: IncomingMessage): number {
  return socket.bytesRead;
}
