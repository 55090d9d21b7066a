// Polls the control plane's rollout while the stack runs and prints what changed: the version that a
// pod accepted, and errors in manifests. It compares states, so it neither misses nor repeats any.
import { setTimeout as delay } from "node:timers/promises";
import { DevError } from "../errors.ts";
import type { RolloutState } from "./rollout-state.ts";
import { describeChanges, readRolloutState } from "./rollout-state.ts";

/** Time between two requests, in milliseconds: short, so that a saved manifest shows immediately. */
const POLL_INTERVAL_MS = 150;

/** Longest wait for one response, in milliseconds. */
const RESPONSE_TIMEOUT_MS = 2000;

/** Prints one line; the subject is the program that it is about. */
export type Print = (subject: string, text: string) => void;

/** A running watch. */
export class RolloutWatch {
  readonly #url: string;
  readonly #print: Print;
  readonly #stopped = new AbortController();
  readonly #accepted = Promise.withResolvers<void>();
  #state: RolloutState | undefined;

  /** Starts to watch; `url` is that of the method GetRollout. */
  constructor(url: string, print: Print) {
    this.#url = url;
    this.#print = print;
    void this.#follow();
  }

  /**
   * Resolves when a pod has accepted a version for the first time, or when the watch is stopped.
   * Rejects with STACK_NOT_READY after `timeoutMs`.
   */
  async firstAccepted(timeoutMs: number): Promise<void> {
    const timer = setTimeout(() => {
      const message = `No rate limit pod accepted a configuration within ${timeoutMs / 1000} s`;
      this.#accepted.reject(new DevError("STACK_NOT_READY", `${message}; .run/logs has the logs of both sides`));
    }, timeoutMs);
    await this.#accepted.promise.finally(() => clearTimeout(timer));
  }

  /** Stops the watch. */
  stop(): void {
    this.#stopped.abort();
    this.#accepted.resolve();
  }

  // A method, as the state changes while a request waits.
  #hasStopped(): boolean {
    return this.#stopped.signal.aborted;
  }

  async #follow(): Promise<void> {
    while (!this.#hasStopped()) {
      const next = await readState(this.#url);
      // The programs end after a stop, which is no change of manifests.
      if (next !== undefined && !this.#hasStopped()) {
        for (const { subject, text } of describeChanges(this.#state, next)) this.#print(subject, text);
        this.#state = next;
        if (next.pods.some((pod) => pod.accepted !== undefined)) this.#accepted.resolve();
      }
      await delay(POLL_INTERVAL_MS);
    }
  }
}

async function readState(url: string): Promise<RolloutState | undefined> {
  try {
    const signal = AbortSignal.timeout(RESPONSE_TIMEOUT_MS);
    const headers = { "content-type": "application/json" };
    const response = await fetch(url, { method: "POST", body: "{}", headers, signal });
    if (!response.ok) return undefined;
    const { rollout } = (await response.json()) as { readonly rollout: unknown };
    return readRolloutState(rollout);
  } catch {
    return undefined; // No response: the stack reports a program that has ended.
  }
}
