// The wait of a backend at its start: until the store works, the backend is stopped, or the time for
// the start is over.
import { StoreError } from "./store-error.ts";

/** Bounds and messages of a wait. */
export interface StartWaitOptions {
  /** KVSTORE_STARTUP_MAX_ELAPSED_TIME, in milliseconds; 0 = no bound. */
  readonly maxElapsedMs: number;
  /** The store, for messages. */
  readonly store: string;
  /** Why the store does not work yet. */
  readonly reason: () => StoreError;
}

/** One wait. `succeed` and `fail` have no effect before and after it. */
export class StartWait {
  #waiting: PromiseWithResolvers<void> | undefined;

  /** Calls `begin`, then waits. Fails with STORE_UNAVAILABLE when the time is over. */
  async wait(begin: () => void, options: StartWaitOptions): Promise<void> {
    const waiting = Promise.withResolvers<void>();
    this.#waiting = waiting;
    const { maxElapsedMs } = options;
    const timer = maxElapsedMs > 0 ? setTimeout(() => waiting.reject(timeoutError(options)), maxElapsedMs) : undefined;
    try {
      begin();
      await waiting.promise;
    } finally {
      clearTimeout(timer);
      this.#waiting = undefined;
    }
  }

  /** Ends the wait: the store works. */
  succeed(): void {
    this.#waiting?.resolve();
  }

  /** Ends the wait with an error. */
  fail(error: StoreError): void {
    this.#waiting?.reject(error);
  }
}

function timeoutError({ maxElapsedMs, store, reason }: StartWaitOptions): StoreError {
  const error = reason();
  const message = `Timed out waiting for ${store} after ${maxElapsedMs} ms: ${error.message}`;
  return new StoreError("STORE_UNAVAILABLE", message, { cause: error.cause, transient: true });
}
