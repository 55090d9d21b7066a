// The wait at the start of a deployment: for the first success, for an end from outside, or until
// the time for it is over.
import { StoreError } from "./store-error.ts";

/** What a wait goes by. */
export interface StartWaitOptions {
  /** KVSTORE_STARTUP_MAX_ELAPSED_TIME; 0 = for ever. */
  readonly maxElapsedMs: number;
  /** The store for messages. */
  readonly text: string;
  /** Why there has been no success so far. */
  readonly reason: () => StoreError;
}

/** One wait. Success and failure are of no effect before and after it. */
export class StartWait {
  #waiting: { resolve(): void; reject(error: StoreError): void } | undefined;

  /** Begins, and waits. */
  async wait(begin: () => void, options: StartWaitOptions): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        this.#waiting = { resolve, reject };
        if (options.maxElapsedMs > 0) timer = setTimeout(() => reject(timeoutError(options)), options.maxElapsedMs);
        begin();
      });
    } finally {
      clearTimeout(timer);
      this.#waiting = undefined;
    }
  }

  /** Ends the wait well. */
  succeed(): void {
    this.#waiting?.resolve();
  }

  /** Ends the wait with an error. */
  fail(error: StoreError): void {
    this.#waiting?.reject(error);
  }
}

function timeoutError({ maxElapsedMs, text, reason }: StartWaitOptions): StoreError {
  const error = reason();
  const message = `Timed out waiting for the counter store ${text} after ${maxElapsedMs} ms: ${error.message}`;
  return new StoreError("STORE_UNAVAILABLE", message, { cause: error.cause, transient: true });
}
