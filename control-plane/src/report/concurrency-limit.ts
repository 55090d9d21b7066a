// Bounds how many answers are on their way to clients: a large one stays in memory until its client
// has read it, and a client that does not read would keep it as long as its connection lasts.
import type { ServerResponse } from "node:http";

import { ReportError } from "./report-error.ts";

/** How long a client may take to read an answer, in milliseconds; then it is cut off. */
const DELIVERY_MAX_MS = 30_000;

/** The header for HTTP clients that get no answer: ask again after so many seconds. */
export const RETRY_AFTER = { name: "Retry-After", value: "1" } as const;

/** The number of answers, and what they do. */
export interface ConcurrencyLimitOptions {
  readonly max: number;
  /** For messages: "report the rollout". */
  readonly task: string;
}

/** Limits the number of concurrent answers. */
export class ConcurrencyLimit {
  readonly #options: ConcurrencyLimitOptions;
  #active = 0;

  constructor(options: ConcurrencyLimitOptions) {
    this.#options = options;
  }

  /**
   * Counts an answer until the returned function is called, because the client has all of it or is gone,
   * and cuts it after a while. Fails with ANSWERS_EXCEEDED beyond the limit.
   */
  admit(cut: () => void): () => void {
    const { max, task } = this.#options;
    if (this.#active >= max) {
      const message = `Cannot ${task}: ${max} answers are on their way to clients that have not read them yet; ask again in a moment`;
      throw new ReportError("ANSWERS_EXCEEDED", message, { transient: true });
    }
    this.#active += 1;
    const timer = setTimeout(cut, DELIVERY_MAX_MS).unref();
    let isCounted = true;
    return () => {
      if (isCounted) this.#active -= 1;
      isCounted = false;
      clearTimeout(timer);
    };
  }

  /** The same for an answer over HTTP/1.1; a transport that hides it (undefined) is not counted. */
  admitResponse(response: ServerResponse | undefined): void {
    response?.once(
      "close",
      this.admit(() => response.destroy()),
    );
  }
}
