// The store's thread as the service sees it: requests go to it in batches, one at a time; those that
// come meanwhile are the next batch.
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { StartError } from "../../errors.ts";
import { StoreError } from "../store-error.ts";
import type {
  FromThread,
  StoreRequest,
  StoreResult,
  StoreValue,
  StoreValues,
  ThreadData,
  ToThread,
} from "./messages.ts";

/** Most requests of one batch: more would let the first of them wait for the last. */
const BATCH_MAX = 512;

/** Most requests that wait for a batch; further ones fail immediately. */
const WAITING_MAX = 10_000;

/** Longest time of a batch, in milliseconds; a disk that takes longer is as good as none. */
const BATCH_TIMEOUT_MS = 2500;

/** The program of the thread, next to this file: as it was built, or its source. */
const EXTENSION = extname(import.meta.url);
const PROGRAM = fileURLToPath(new URL(`store-thread-main${EXTENSION}`, import.meta.url));

/** A call that waits for its result. */
interface PendingCall {
  readonly request: StoreRequest;
  readonly resolve: (value: StoreValue) => void;
  readonly reject: (error: StoreError) => void;
}

/** Receives what a thread reports by itself. */
export interface ThreadListener {
  /** The log could not be emptied; it grows, and the next attempt follows. */
  checkpointFailed(reason: string): void;
  /** The thread has ended without `close`. Called at most once. */
  ended(reason: string): void;
}

/** Starts the program of the thread. */
export function startWorker(data: ThreadData): Worker {
  return new Worker(PROGRAM, {
    name: "user store",
    workerData: data,
    // From source, workspaces resolve to each other's sources.
    ...(EXTENSION === ".ts" && { execArgv: ["--conditions=source"] }),
  });
}

/** An open thread. */
export class StoreThread {
  readonly #worker: Worker;
  readonly #listener: ThreadListener;
  readonly #exited = Promise.withResolvers<void>();
  readonly #waiting: PendingCall[] = [];
  #inFlight: readonly PendingCall[] = [];
  #timer: NodeJS.Timeout | undefined;
  #state: "open" | "stalled" | "closing" | "ended" = "open";

  private constructor(worker: Worker, listener: ThreadListener) {
    this.#worker = worker;
    this.#listener = listener;
  }

  /** Resolves when the thread of `worker` has opened its files; rejects with a StartError. */
  static async open(worker: Worker, listener: ThreadListener): Promise<StoreThread> {
    const thread = new StoreThread(worker, listener);
    const opened = Promise.withResolvers<void>();
    let reason = "it ended by itself";
    worker.on("error", (error) => (reason = error instanceof Error ? error.message : String(error)));
    worker.on("exit", () => {
      // After the thread has opened, the rejection has no effect.
      opened.reject(new StartError("STORE_UNUSABLE", `Cannot run the thread of the embedded store: ${reason}`));
      thread.#end(reason);
    });
    worker.on("message", (message: FromThread) => {
      switch (message.kind) {
        case "opened":
          opened.resolve();
          return;
        case "unusable":
          thread.#state = "closing";
          opened.reject(
            new StartError(message.code, message.message, {
              ...(message.reason !== undefined && { cause: new Error(message.reason) }),
            }),
          );
          return;
        case "batch":
          thread.#finish(message.results);
          return;
        case "checkpointFailed":
          listener.checkpointFailed(message.reason);
      }
    });
    try {
      await opened.promise;
    } catch (error) {
      await thread.#exited.promise;
      throw error;
    }
    return thread;
  }

  /** Resolves to the result of the request; rejects with a StoreError. */
  call<Kind extends StoreRequest["kind"]>(
    request: Extract<StoreRequest, { readonly kind: Kind }>,
  ): Promise<StoreValues[Kind]> {
    if (this.#state !== "open") return Promise.reject(notSent(`the thread of the store is ${this.#state}`));
    if (this.#waiting.length >= WAITING_MAX) return Promise.reject(notSent(`${WAITING_MAX} calls are waiting`));
    const { promise, resolve, reject } = Promise.withResolvers<StoreValues[Kind]>();
    this.#waiting.push({ request, resolve: resolve as PendingCall["resolve"], reject });
    if (this.#inFlight.length === 0) this.#sendNext();
    return promise;
  }

  /** Closes the files after the batch in flight. Calls that wait fail. */
  async close(): Promise<void> {
    if (this.#state === "open" || this.#state === "stalled") {
      this.#state = "closing";
      this.#rejectWaiting("the store is closing");
      this.#post({ kind: "close" });
    }
    await this.#exited.promise;
  }

  #sendNext(): void {
    this.#inFlight = this.#waiting.splice(0, BATCH_MAX);
    if (this.#inFlight.length === 0) return;
    this.#timer = setTimeout(() => this.#stall(), BATCH_TIMEOUT_MS);
    this.#post({ kind: "batch", requests: this.#inFlight.map(({ request }) => request) });
  }

  #finish(results: readonly StoreResult[]): void {
    clearTimeout(this.#timer);
    const calls = this.#inFlight;
    this.#inFlight = [];
    if (this.#state === "stalled")
      this.#state = "open"; // Its calls have failed long ago.
    else settle(calls, results);
    if (this.#state === "open") this.#sendNext();
  }

  /** The batch takes too long: no call waits for it after that, and until it ends none begins to. */
  #stall(): void {
    if (this.#state === "open") this.#state = "stalled";
    const reason = `a batch took more than ${BATCH_TIMEOUT_MS} ms`;
    for (const { reject } of this.#inFlight) reject(new StoreError("unknown", new Error(reason)));
    this.#rejectWaiting(reason);
  }

  #end(reason: string): void {
    clearTimeout(this.#timer);
    const isExpected = this.#state === "closing";
    this.#state = "ended";
    for (const { reject } of this.#inFlight) reject(new StoreError("unknown", new Error(reason)));
    this.#rejectWaiting(reason);
    this.#exited.resolve();
    if (!isExpected) this.#listener.ended(reason);
  }

  #rejectWaiting(reason: string): void {
    for (const { reject } of this.#waiting.splice(0)) reject(notSent(reason));
  }

  #post(message: ToThread): void {
    this.#worker.postMessage(message);
  }
}

function settle(calls: readonly PendingCall[], results: readonly StoreResult[]): void {
  for (const [index, { resolve, reject }] of calls.entries()) {
    const result = results[index];
    if (result?.ok === true) resolve(result.value);
    else reject(new StoreError("not_applied", new Error(result?.reason ?? "the result is missing"), "rejected"));
  }
}

function notSent(reason: string): StoreError {
  return new StoreError("not_applied", new Error(reason));
}
